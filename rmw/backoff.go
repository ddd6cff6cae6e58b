package rmw

import "time"

// Backoff says how long to wait before a further attempt: exponential, capped,
// with full jitter (a uniform share of the whole), which spreads writers that
// collided better than any fixed delay. The zero Backoff does not wait.
type Backoff struct {
	Base time.Duration // ceiling of the first wait
	Max  time.Duration // ceiling of any wait; 0: no ceiling but 2^62 ns
}

// Delay returns the wait before attempt+1, where attempt counts from 1 the
// attempts already made. jitter, in [0, 1), chooses within the ceiling; pass a
// random number, or a fixed one in tests. Delay is a pure function.
func (b Backoff) Delay(attempt int, jitter float64) time.Duration {
	if b.Base <= 0 {
		return 0
	}
	limit := b.Max
	if limit <= 0 {
		limit = time.Duration(1) << 62
	}
	ceiling := min(b.Base, limit)
	for i := 1; i < attempt && ceiling < limit; i++ {
		if ceiling > limit/2 {
			ceiling = limit
			break
		}
		ceiling *= 2
	}
	return time.Duration(float64(ceiling) * jitter)
}
