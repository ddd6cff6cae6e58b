package lockupdate

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// sky notes the flights, which take a while.
type sky struct {
	*flights
	mu    sync.Mutex
	flown []int             // how many calls each had
	ctxs  []context.Context // under which they went
	takes func(flight int) time.Duration
}

func newSky(takes func(flight int) time.Duration) *sky {
	s := &sky{takes: takes}
	s.flights = &flights{fly: func(ctx context.Context, calls []*call) {
		s.mu.Lock()
		n := len(s.flown)
		s.flown, s.ctxs = append(s.flown, len(calls)), append(s.ctxs, ctx)
		s.mu.Unlock()
		time.Sleep(s.takes(n))
		for _, c := range calls {
			c.arm(ctx, false).SetVal(int64(n))
		}
	}}
	return s
}

func always(d time.Duration) func(int) time.Duration { return func(int) time.Duration { return d } }

// book has passengers, with a few calls each, board one after the other; wait returns
// how long each took.
func (s *sky) book(passengers, each int) (wait func() []time.Duration) {
	took := make([]time.Duration, passengers)
	var wg sync.WaitGroup
	for i := range passengers {
		var calls []*call
		for range each {
			calls = append(calls, readScript.on("k"))
		}
		began := time.Now()
		wg.Go(func() {
			s.send(context.Background(), calls...)
			took[i] = time.Since(began)
		})
		synctest.Wait()
	}
	return func() []time.Duration { wg.Wait(); return took }
}

// One alone is sent at once, and so are the first four.
func TestAloneIsSentAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSky(always(time.Second))
		for range 3 {
			assert.Equal(t, []time.Duration{time.Second}, s.book(1, 1)())
		}
		for _, took := range s.book(maxAloft, 1)() {
			assert.Equal(t, time.Second, took)
		}
		assert.Equal(t, []int{1, 1, 1, 1, 1, 1, 1}, s.flown)
	})
}

// While four are aloft others gather, go together when the first lands, and everyone
// gets its own answers.
func TestOthersGather(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSky(always(time.Millisecond))
		wait := s.book(maxAloft+50, 1)
		for i, took := range wait() {
			if i < maxAloft {
				assert.Equal(t, time.Millisecond, took)
			} else {
				assert.Equal(t, 2*time.Millisecond, took)
			}
		}
		assert.Equal(t, []int{1, 1, 1, 1, 50}, s.flown)
		assert.Zero(t, s.aloft)
		assert.Empty(t, s.boarding)
	})
}

// A flight has at most 256 calls; whoever finds no seat takes the next.
func TestFlightsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSky(always(time.Millisecond))
		s.book(maxAloft+2*maxBoarding+10, 2)()
		total := 0
		for _, n := range s.flown {
			assert.LessOrEqual(t, n, maxBoarding)
			total += n
		}
		assert.Equal(t, 2*(maxAloft+2*maxBoarding+10), total)
		assert.Equal(t, []int{2, 2, 2, 2, 256, 256, 256, 256, 20}, s.flown)
	})
}

// Flights that never land hold up the others for 5 ms and no longer.
func TestHungFlights(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSky(func(n int) time.Duration {
			if n < maxAloft {
				return time.Hour
			}
			return time.Millisecond
		})
		hung := s.book(maxAloft, 1)
		for range 20 {
			for _, took := range s.book(10, 1)() {
				assert.LessOrEqual(t, took, boardingTime+time.Millisecond)
			}
		}
		hung()
		assert.Zero(t, s.aloft)
		assert.Equal(t, []time.Duration{time.Millisecond}, s.book(1, 1)(), "and then all is as it was")
	})
}

// Whatever lands when: every call is flown once, and the count of those aloft is right.
func TestEveryCallFliesOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSky(func(n int) time.Duration { return time.Duration(n*n%23) * time.Millisecond / 2 })
		var wg sync.WaitGroup
		for i := range 500 {
			wg.Go(func() {
				time.Sleep(time.Duration(i%50) * 100 * time.Microsecond)
				c := readScript.on(fmt.Sprint(i))
				s.send(context.Background(), c)
				_, err := c.cmd.Int64()
				assert.NoError(t, err)
			})
		}
		wg.Wait()
		sum := 0
		for _, n := range s.flown {
			sum += n
		}
		assert.Equal(t, 500, sum)
		assert.Zero(t, s.aloft)
		assert.Empty(t, s.boarding)
	})
}

// A caller that leaves ends its own commands at most: the flight that it was the
// first to board goes without its ctx.
func TestAFlightIsNobodys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSky(always(time.Millisecond))
		wait := s.book(maxAloft, 1)
		ctx, cancel := context.WithTimeout(context.WithValue(context.Background(), held{}, "span"), time.Hour)
		first := make(chan struct{})
		go func() {
			defer close(first)
			s.send(ctx, readScript.on("k"))
		}()
		synctest.Wait()
		others := s.book(3, 1)
		cancel()
		wait()
		others()
		<-first
		require.Equal(t, []int{1, 1, 1, 1, 4}, s.flown)
		assert.NoError(t, s.ctxs[4].Err())
		_, limited := s.ctxs[4].Deadline()
		assert.False(t, limited)
	})
}
