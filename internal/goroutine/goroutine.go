// Package goroutine tells goroutines apart.
package goroutine

import (
	"runtime"
	"strings"
)

// ID returns the id of the calling goroutine, as its stack shows it.
func ID() string {
	var buf [64]byte
	return strings.Fields(string(buf[:runtime.Stack(buf[:], false)]))[1]
}
