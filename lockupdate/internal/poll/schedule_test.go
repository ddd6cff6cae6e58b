package poll

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

func newSchedule(hold time.Duration) Schedule {
	return Schedule{Backoff: rmw.Backoff{Base: ms, Max: 64 * ms}, Lease: 10 * time.Second, Hold: hold, Began: time.Now()}
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
		assert.Equal(t, tc.want, p.Pause(p.Began, p.Began, tc.pttl, 0, tc.random), fmt.Sprint(tc))
	}
}

// Pauses grow while the same holder has the lock, up to how long a lock is usually held.
// With another holder they start again at the shortest.
func TestPausesGrow(t *testing.T) {
	for hold, want := range map[time.Duration][]time.Duration{
		0:         {1, 2, 4, 8, 16, 32, 64, 64},
		2 * ms:    {1, 2, 4, 4, 4, 4, 4, 4},
		20 * ms:   {1, 2, 4, 8, 16, 20, 20, 20},
		time.Hour: {1, 2, 4, 8, 16, 32, 64, 64},
	} {
		p := newSchedule(hold)
		now := time.Now()
		ends := now.Add(9 * time.Second)
		p.Lease = 0 // so that the schedule expects no end
		for round := range 2 {
			for i, w := range want {
				p.Began = now // a wait that has lasted for longer is the subject of TestPausesAmongMany
				assert.Equal(t, w*ms, p.Pause(now, now, ends.Sub(now), 0, 1), fmt.Sprint(hold, round, i))
				now = now.Add(w * ms)
			}
			ends = ends.Add(time.Second) // another holder, or a renewal
		}
	}
}

// The first pauses are shorter than Backoff.Base if a lock is usually held for less.
func TestShortHoldsArePolledSooner(t *testing.T) {
	for hold, want := range map[time.Duration]time.Duration{1: 100, 300 * time.Microsecond: 300, ms: 1000, time.Second: 1000} {
		p := newSchedule(hold)
		p.Lease = 0 // so that the schedule expects no end
		for _, times := range []time.Duration{1, 2, 4} {
			assert.Equal(t, times*want*time.Microsecond, p.Pause(p.Began, p.Began, time.Second, 0, 1), fmt.Sprint(hold))
		}
	}
}

// No pause ends later than the holder's lease. None is longer than the ceiling that was told
// before, nor than Backoff.Max or the wait so far, whatever other waiters told.
func TestPauseProperties(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	upTo := func(d time.Duration) time.Duration { return time.Duration(rng.Int64N(int64(d))) }
	for range 300 {
		now := time.Now()
		p := Schedule{
			Backoff: rmw.Backoff{Base: 1 + upTo(5*ms), Max: 5*ms + upTo(200*ms)},
			Lease:   10*ms + upTo(20*time.Second),
			Wait:    max(0, upTo(20*time.Second)-10*time.Second),
			Began:   now,
		}
		for range 30 {
			p.Hold = upTo(300 * ms)
			asked := now
			ceiling := p.Ceiling(asked)
			now = now.Add(upTo(10 * ms))
			pttl := upTo(p.Lease + time.Second)
			if rng.IntN(4) == 0 {
				pttl = -1
			}
			hint := time.Duration(0)
			if rng.IntN(4) == 0 {
				hint = upTo(time.Hour)
			}
			d := p.Pause(asked, now, pttl, hint, rng.Float64())
			assert.GreaterOrEqual(t, d, time.Duration(0))
			assert.LessOrEqual(t, d, ceiling)
			assert.LessOrEqual(t, d, max(p.Backoff.Max, asked.Sub(p.Began)))
			if pttl >= 0 {
				assert.LessOrEqual(t, d, pttl+ms)
			}
			if t.Failed() {
				return
			}
			now = now.Add(d)
		}
	}
}

// Among many waiters, a pause is what is left of a usual wait, and then the shorter the
// longer the wait has lasted.
func TestPausesAmongMany(t *testing.T) {
	const s, hold = time.Second, 10 * ms
	for _, tc := range []struct{ usual, waited, most time.Duration }{
		{few * hold, 0, 0}, // few wait
		{40*ms + few*hold, 0, 40 * ms},
		{40*ms + few*hold, 20 * ms, 20 * ms},
		{600*ms + few*hold, 0, 64 * ms}, // no longer than Backoff.Max or the wait so far
		{600*ms + few*hold, 100 * ms, 100 * ms},
		{6*s + few*hold, 3 * s, 3 * s},
		{6*s + few*hold, 5500 * ms, s},
		{6*s + few*hold, 6 * s, s},
		{6*s + few*hold, 12 * s, 250 * ms},
		{0, 10 * s, 0}, // unknown
	} {
		for _, random := range []float64{0, 0.5, 1} {
			p := newSchedule(hold)
			p.Wait = tc.usual
			asked := p.Began.Add(tc.waited)
			want := time.Duration(max((1+2*random)/3*float64(tc.most), random*float64(ms)))
			assert.InDelta(t, want, p.Pause(asked, asked, -1, 0, random), 1, fmt.Sprint(tc, random))
		}
	}
}

// A waiter takes over the longest pause of the others, and learns from its own waits.
func TestUsualWait(t *testing.T) {
	p := newSchedule(0)
	p.Pause(p.Began, p.Began, -1, ms, 0)
	assert.Zero(t, p.Wait, "one other process")
	assert.Equal(t, 8*ms, p.Learned(p.Began.Add(8*ms)))
	p.Pause(p.Began, p.Began, -1, time.Hour, 0)
	assert.Equal(t, 64*ms, p.Wait)
	p.Pause(p.Began, p.Began, -1, 80*ms, 0)
	p.Pause(p.Began, p.Began, -1, 40*ms, 0)
	assert.Equal(t, 80*ms, p.Wait)
	assert.Equal(t, 70*ms, p.Learned(p.Began.Add(40*ms)))
}

// After a release, a process leaves the lock to the others for longer than their pause and
// the flight of their next poll, and for about as long as a wait usually lasts.
func TestAway(t *testing.T) {
	for _, tc := range []struct{ usual, hint, took, least, most time.Duration }{
		{0, 8 * ms, ms, 12 * ms, 12 * ms},
		{0, 64 * ms, time.Hour, 128 * ms, 128 * ms},
		{0, time.Hour, ms, 75 * ms, 75 * ms},          // no longer than for Backoff.Max
		{300 * ms, time.Hour, ms, 200 * ms, 600 * ms}, // or twice as long as usual
		{300 * ms, 8 * ms, ms, 100 * ms, 300 * ms},
	} {
		away := func(random float64) time.Duration {
			p := newSchedule(0)
			p.Wait = tc.usual
			return p.Away(tc.hint, tc.took, random)
		}
		assert.InDelta(t, tc.least, away(0), 1)
		assert.InDelta(t, tc.most, away(1), 1)
	}
}

// An estimate follows the observations smoothly. The number of labels is bounded.
func TestHoldEstimator(t *testing.T) {
	e := &HoldEstimator{}
	assert.Zero(t, e.Expected("room"))
	e.Observe("room", 80*ms)
	assert.Equal(t, 80*ms, e.Expected("room"))
	e.Observe("room", 0)
	assert.Equal(t, 70*ms, e.Expected("room"))
	assert.Zero(t, e.Expected("session"))
	for range 100 {
		e.Observe("room", 10*ms)
	}
	assert.InDelta(t, 10*ms, e.Expected("room"), float64(ms))
	e.Observe("room", time.Hour)
	assert.Less(t, e.Expected("room"), 13*ms, "a process that did not run for a while")
	var wg sync.WaitGroup
	for i := range 2 * maxLabels {
		wg.Go(func() { e.Observe(fmt.Sprint(i), ms); e.Expected(fmt.Sprint(i)) })
	}
	wg.Wait()
	assert.Len(t, e.byLabel, maxLabels)
}
