package main

import (
	"os"
	"runtime/debug"
)

// tidy makes the garbage collector run more often than by default, unless GOGC is set: a job in CI
// has more processors to spare than memory. With the call graph it costs a tenth more time, and saves a fifth
// of the memory. The returned function restores the setting.
func tidy(reach bool) (end func()) {
	if os.Getenv("GOGC") != "" {
		return func() {}
	}
	percent := 40 // a check without the call graph takes half the time
	if reach {
		percent = 60
	}
	before := debug.SetGCPercent(percent)
	return func() { debug.SetGCPercent(before) }
}
