package relay

import (
	"syscall"
	"time"
)

// sleep is more exact than time.Sleep, whose timers wake an idle process up to a
// millisecond late: as much as the whole delay.
func sleep(d time.Duration) {
	ts := syscall.NsecToTimespec(int64(d))
	_ = syscall.Nanosleep(&ts, nil) // early, if a signal came
}
