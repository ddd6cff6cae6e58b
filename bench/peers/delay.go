package peers

import (
	"math/rand/v2"
	"time"

	"github.com/unwatch/unwatch/rmw"
)

// delay says how long to wait before a try; the first one after a failure has
// try 1.
type delay func(try int) time.Duration

// fullJitter is the backoff that WATCH loops are usually given: anything from
// nothing to a bound that doubles from 0.5 to 32 ms.
func fullJitter(try int) time.Duration {
	return rmw.Backoff{Base: 500 * time.Microsecond, Max: 32 * time.Millisecond}.Delay(try, rand.Float64())
}

// shortJitter is the tuning of the "-t" rows.
func shortJitter(int) time.Duration { return time.Millisecond + rand.N(4*time.Millisecond) }

// hundred is the delay in the examples of bsm/redislock, whose default is not to
// wait for a lock at all.
func hundred(int) time.Duration { return 100 * time.Millisecond }
