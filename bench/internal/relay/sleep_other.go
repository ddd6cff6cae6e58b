//go:build !linux

package relay

import "time"

// sleep may be late by the timer resolution of the runtime.
func sleep(d time.Duration) { time.Sleep(d) }
