package holder

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/unwatch/unwatch/rmw"
)

const ms = time.Millisecond

func newSchedule(hold time.Duration) pollSchedule {
	return pollSchedule{backoff: rmw.Backoff{Base: ms, Max: 64 * ms}, lease: 10 * time.Second, hold: hold}
}

// The first pause lasts until the holder is likely to be done.
func TestFirstPause(t *testing.T) {
	for _, tc := range []struct {
		hold, pttl time.Duration
		random     float64
		want       time.Duration
	}{
		{0, 10 * time.Second, 0.5, ms / 2},                  // hold unknown: the shortest
		{20 * ms, 10 * time.Second, 0, 20 * ms},             // just taken
		{20 * ms, 10*time.Second - 15*ms, 0, 5 * ms},        // taken 15 ms ago
		{20 * ms, 10*time.Second - 15*ms, 0.5, 11 * ms / 2}, // random, so that not all processes poll at once
		{20 * ms, 10*time.Second - 25*ms, 0.5, ms / 2},      // overdue: the shortest
		{time.Hour, 10 * time.Second, 0, 64 * ms},           // never longer than Max
		{20 * ms, 11 * time.Second, 0.5, ms / 2},            // a longer lease than ours: its age is unknown
		{20 * ms, -1, 0.5, ms / 2},                          // no lease: its age is unknown
		{time.Hour, 3 * ms, 0, 4 * ms},                      // the lease is about to end
		{0, 0, 0.999, 999 * time.Microsecond},
	} {
		p := newSchedule(tc.hold)
		assert.Equal(t, tc.want, p.pause(time.Now(), tc.pttl, tc.random), fmt.Sprint(tc))
	}
}

// Pauses grow while the same holder has the lock, up to how long a lock is usually held.
// With another holder they start again at the shortest.
func TestPausesGrow(t *testing.T) {
	for hold, want := range map[time.Duration][]time.Duration{
		0:                {1, 2, 4, 8, 16, 32, 64, 64},
		2 * ms:           {1, 2, 4, 4, 4, 4, 4, 4},
		20 * ms:          {1, 2, 4, 8, 16, 20, 20, 20},
		time.Hour:        {1, 2, 4, 8, 16, 32, 64, 64},
		time.Duration(1): {1, 2, 4, 4, 4, 4, 4, 4},
	} {
		p := newSchedule(hold)
		now := time.Now()
		ends := now.Add(9 * time.Second)
		p.lease = 0 // so that the schedule expects no end
		for round := range 2 {
			for i, w := range want {
				assert.Equal(t, w*ms, p.pause(now, ends.Sub(now), 1), fmt.Sprint(hold, round, i))
				now = now.Add(w * ms)
			}
			ends = ends.Add(time.Second) // another holder, or a renewal
		}
	}
}

// No pause ends later than the holder's lease, and none is longer than the ceiling that was
// told to the holder before.
func TestPauseProperties(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	upTo := func(d time.Duration) time.Duration { return time.Duration(rng.Int64N(int64(d))) }
	for range 300 {
		p := pollSchedule{
			backoff: rmw.Backoff{Base: 1 + upTo(5*ms), Max: 5*ms + upTo(200*ms)},
			lease:   10*ms + upTo(20*time.Second),
		}
		now := time.Now()
		for range 30 {
			p.hold = upTo(300 * ms)
			ceiling := p.ceiling()
			pttl := upTo(p.lease + time.Second)
			if rng.IntN(4) == 0 {
				pttl = -1
			}
			d := p.pause(now, pttl, rng.Float64())
			assert.GreaterOrEqual(t, d, time.Duration(0))
			assert.LessOrEqual(t, d, ceiling)
			assert.LessOrEqual(t, d, p.backoff.Max)
			if pttl >= 0 {
				assert.LessOrEqual(t, d, pttl+ms)
			}
			if t.Failed() {
				return
			}
			now = now.Add(d + upTo(10*ms))
		}
	}
}

// An estimate follows the observations smoothly. The number of labels is bounded.
func TestHoldEstimator(t *testing.T) {
	e := &holdEstimator{byLabel: map[string]time.Duration{}}
	assert.Zero(t, e.expected("room"))
	e.observe("room", 80*ms)
	assert.Equal(t, 80*ms, e.expected("room"))
	e.observe("room", 0)
	assert.Equal(t, 70*ms, e.expected("room"))
	assert.Zero(t, e.expected("session"))
	for range 100 {
		e.observe("room", 10*ms)
	}
	assert.InDelta(t, 10*ms, e.expected("room"), float64(ms))
	var wg sync.WaitGroup
	for i := range 2 * maxLabels {
		wg.Go(func() { e.observe(fmt.Sprint(i), ms); e.expected(fmt.Sprint(i)) })
	}
	wg.Wait()
	assert.Len(t, e.byLabel, maxLabels)
}
