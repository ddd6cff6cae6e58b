package relay

import (
	"syscall"
	"time"
)

// sleep is more exact than time.Sleep, which wakes an idle process up to a millisecond late. That
// is the whole delay.
func sleep(d time.Duration) {
	ts := syscall.NsecToTimespec(int64(d))
	_ = syscall.Nanosleep(&ts, nil) // ends early after a signal
}
