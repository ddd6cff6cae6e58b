//go:build !linux

package relay

import "time"

// sleep may be late by the resolution of the runtime's timers.
func sleep(d time.Duration) { time.Sleep(d) }
