package contract

import (
	"sync/atomic"
	"time"
)

// Clock is the clock of one process; Stall advances it. The zero Clock is ready for use.
type Clock struct{ ahead atomic.Int64 }

// Now is time.Now plus all the stalls.
func (c *Clock) Now() time.Time { return time.Now().Add(time.Duration(c.ahead.Load())) }

// Stall lets d pass at once.
func (c *Clock) Stall(d time.Duration) { c.ahead.Add(int64(d)) }
