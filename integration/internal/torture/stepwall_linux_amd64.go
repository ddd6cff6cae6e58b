package torture

import (
	"sync"
	"sync/atomic"
)

var (
	wallStep int64 // seconds, added to CLOCK_REALTIME
	hook     = sync.OnceFunc(stepsWall)
)

func init() {
	stepWall = func(seconds int64) {
		hook()
		atomic.AddInt64(&wallStep, seconds)
	}
}

// stepsWall puts a function between the runtime and clock_gettime of the kernel's vDSO. The function adds wallStep to the wall clock.
// Without a vDSO, the runtime makes a system call, and no clock steps.
func stepsWall()
