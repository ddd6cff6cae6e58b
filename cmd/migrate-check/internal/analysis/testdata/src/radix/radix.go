// Package radix is legacy code over radix.
package radix

import "github.com/mediocregopher/radix/v3"

func all() {
	radix.Cmd(nil, "WATCH", "k")        // want `WATCH.*MC103`
	radix.FlatCmd(nil, "MULTI", "k", 1) // want `MULTI.*MC103`
	radix.Cmd(nil, "GET", "WATCH")
}
