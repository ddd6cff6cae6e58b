package lockupdate_test

import (
	"context"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
)

const trip = time.Millisecond

// far has each flush take a trip to the server.
func (f *fixture) far() {
	f.transact(transfer, from, to)
	f.settle()
	first := func(args []string) bool { return len(args) < 4 || args[3] != to.Name } // of a flush
	f.proxy.Inject(proxytest.Fault{Match: first, Times: -1, Action: proxytest.Delay, Delay: trip})
}

// An update of the same keys begins without waiting for the opening by the one before.
func TestTransactFollowsAtOnce(t *testing.T) {
	withFixture(t, lockupdate.Config{}, func(t *testing.T, f *fixture) {
		f.far()
		const updates = 200
		began := time.Now()
		for range updates {
			f.transact(transfer, from, to)
			time.Sleep(time.Microsecond) // else the take may overtake the opening
		}
		trips := float64(time.Since(began)) / float64(trip) / updates
		assert.InDelta(t, 2.04, trips, 0.03, "round trips before the answer")
		synctest.Wait()
		assert.Equal(t, "201", f.text(to))
	})
}

// Updates that follow each other leave a pause of a round trip on their keys from time to time, for plain readers and for other
// processes.
func TestTransactLeavesPauses(t *testing.T) {
	withFixture(t, lockupdate.Config{}, func(t *testing.T, f *fixture) {
		f.far()
		sealed, longest, open := time.Now(), time.Duration(0), 0
		stop, stopped := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(stopped)
			for tick := time.NewTicker(trip / 2); ; {
				select {
				case <-tick.C:
				case <-stop:
					return
				}
				if f.direct().Type(t.Context(), from.Name).Val() == "list" {
					longest = max(longest, time.Since(sealed))
				} else {
					sealed, open = time.Now(), open+1
				}
			}
		}()
		for range 150 {
			f.transact(transfer, from, to)
			time.Sleep(time.Microsecond)
		}
		close(stop)
		<-stopped
		assert.Less(t, longest, 60*trip)
		assert.Less(t, open, 150, "the updates do not follow each other")
	})
}

// Only so many updates of a process follow each other without a pause, so that no other process starves.
func TestTransactsOfTwoProcessesShare(t *testing.T) {
	withFixture(t, lockupdate.Config{}, func(t *testing.T, f *fixture) {
		f.far()
		over := time.Now().Add(10 * time.Second)
		count := func(s *lockupdate.Store) <-chan int {
			done := make(chan int, 1)
			go func() {
				n := 0
				for ; time.Now().Before(over); n++ {
					if _, err := rmw.Transact(t.Context(), s, transfer, from, to); err != nil {
						break
					}
					time.Sleep(time.Microsecond)
				}
				done <- n
			}()
			return done
		}
		first, second := count(f.store), count(f.another(lockupdate.Config{}))
		a, b := <-first, <-second
		assert.Greater(t, min(a, b), max(a, b)/2, "%d and %d", a, b)
	})
}

// Updates of one key get their turn beside another process that updates it together with others all the time: with the lock, within
// one, and without.
func TestUpdateBesideConstantTransacts(t *testing.T) {
	for name, cfg := range map[string]lockupdate.Config{"": {}, "section": {}, "on demand": {LockOnDemand: true}} {
		t.Run(name, func(t *testing.T) {
			withFixture(t, lockupdate.Config{}, func(t *testing.T, f *fixture) {
				f.far()
				const million = 1_000_000
				stop, begun, stopped := make(chan struct{}), make(chan struct{}), make(chan struct{})
				transfers := 1 // by far
				go func() {
					defer close(stopped)
					for {
						f.transact(transfer, from, to)
						if transfers++; transfers == 3 {
							close(begun)
						}
						select {
						case <-stop:
							return
						case <-time.After(time.Microsecond):
						}
					}
				}()
				<-begun
				other := f.another(cfg)
				began, attempts, updates := time.Now(), 0, 0
				for ; updates < 20 || other.Stats().Sealed == 0 && updates < 500; updates++ {
					update := func(ctx context.Context) error {
						added := func(v rmw.Value) string {
							n, err := strconv.Atoi(v.Text())
							assert.NoError(t, err)
							return strconv.Itoa(n + million)
						}
						res, err := other.Update(ctx, to, func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
							return rmw.String(added(cur)), nil
						})
						attempts += res.Attempts
						assert.True(t, err != nil || res.Written && res.After.Text() == added(res.Before))
						return err
					}
					var err error
					if name == "section" {
						err = other.WithLock(t.Context(), to.Name, update)
					} else {
						err = update(t.Context())
					}
					assert.NoError(t, err)
				}
				took := time.Since(began)
				close(stop)
				<-stopped
				synctest.Wait()
				assert.Less(t, took, time.Duration(updates)*40*trip)
				assert.LessOrEqual(t, attempts, 5*updates)
				assert.Equal(t, strconv.Itoa(transfers+updates*million), f.text(to))
				assert.Positive(t, other.Stats().Sealed)
			})
		})
	}
}
