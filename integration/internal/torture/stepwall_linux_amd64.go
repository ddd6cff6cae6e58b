package torture

import (
	"sync"
	"sync/atomic"
)

var (
	wallStep int64 // seconds, added to CLOCK_REALTIME
	once     = sync.OnceFunc(intercept)
)

// stepWall steps the wall clock that this process sees, and not the monotonic one. Stepping the machine's own clock would
// harm other programs.
var stepWall = func(seconds int64) {
	once()
	atomic.AddInt64(&wallStep, seconds)
}

// intercept puts a function between the runtime and clock_gettime of the kernel's vDSO. The function adds wallStep to the
// wall clock. Without a vDSO, the runtime makes a system call, and no clock steps.
func intercept()
