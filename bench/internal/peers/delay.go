package peers

import (
	"math/rand/v2"
	"time"

	"github.com/unwatch/unwatch/rmw"
)

// delay returns the pause before a retry. The first retry has try 1.
type delay func(try int) time.Duration

// fullJitter is the usual backoff of WATCH loops: a random part of a bound that doubles from 0.5 to
// 32 ms.
func fullJitter(try int) time.Duration {
	return rmw.Backoff{Base: 500 * time.Microsecond, Max: 32 * time.Millisecond}.Delay(try, rand.Float64())
}

// shortJitter is the tuning of the "-t" rows.
func shortJitter(int) time.Duration { return time.Millisecond + rand.N(4*time.Millisecond) }

// hundred is the delay in the examples of bsm/redislock, which does not wait for a lock by default.
func hundred(int) time.Duration { return 100 * time.Millisecond }
