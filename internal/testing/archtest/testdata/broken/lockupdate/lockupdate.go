// Package lockupdate breaks its rule, although a package may import what lies below it.
package lockupdate

import (
	_ "github.com/unwatch/unwatch/lockupdate/redlock"
	_ "golang.org/x/tools/go/packages"
)
