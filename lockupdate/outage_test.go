package lockupdate_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/testing/contract"
	"github.com/unwatch/unwatch/internal/testing/long"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
)

// overNetwork returns a Store whose proxy can be cut off.
func (f *fixture) overNetwork(cfg lockupdate.Config, hooks ...redis.Hook) (*contract.Network, *lockupdate.Store) {
	opts := f.proxy.Options()
	r := &contract.Network{}
	opts.Dialer, opts.DialerRetries = r.Dialer(opts.Dialer), 1
	opts.MaxIdleConns, opts.PipelinePoolSize = 1, -1 // over a pipe, go-redis does not detect a closed idle connection
	s := f.open(opts, cfg, hooks...)
	require.NoError(f.t, operations["update"](f.t.Context(), s))
	lockupdate.Settle(s)
	return r, s
}

// cutOff returns a Store without a connection to its proxy, whose breaker is open.
func (f *fixture) cutOff(cfg lockupdate.Config, hooks ...redis.Hook) (s *lockupdate.Store, restore func()) {
	r, s := f.overNetwork(cfg, hooks...)
	restore = r.Cut()
	openBreaker(f.t, s)
	return s, restore
}

// openBreaker reads until the breaker of s opens.
func openBreaker(t *testing.T, s *lockupdate.Store) {
	t.Helper()
	time.Sleep(250 * time.Millisecond) // so soon after an answer only a part of the store may not answer
	for !s.Stats().CircuitOpen {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
		_, err := s.Read(ctx, testKey)
		cancel()
		require.Error(t, err)
	}
}

// Calls wait out an outage of 700 ms, both before the breaker opens and while it is open. The
// control fails fast.
func TestCallsWaitOutAnOutage(t *testing.T) {
	for _, call := range []string{"update", "read", "peek", "token"} {
		for _, open := range []bool{false, true} {
			for failFast, limit := range map[bool]time.Duration{false: 0, true: -1} {
				name := fmt.Sprintf("%s,open=%t,failFast=%t", call, open, failFast)
				bubbleWith(t, name, lockupdate.Config{}, func(t *testing.T, f *fixture) {
					r, s := f.overNetwork(lockupdate.Config{MaxOutage: limit})
					restore := r.Cut()
					if open {
						openBreaker(t, s)
					}
					time.AfterFunc(700*time.Millisecond, restore)
					ctx := timeout(t.Context(), t, 5*time.Second)
					began := time.Now()
					err := operations[call](ctx, s)
					took := time.Since(began)
					if failFast {
						require.ErrorIs(t, err, rmw.ErrUnavailable)
						assert.Less(t, took, 50*time.Millisecond)
						if open {
							require.ErrorContains(t, err, "tried again every 1s")
						}
					} else {
						require.NoError(t, err)
						assert.Less(t, took, 2500*time.Millisecond)
					}
					time.Sleep(2 * time.Second)
				})
			}
		}
	}
}

// A call gives up after MaxOutage or with its ctx, and a queued call after MaxWait.
func TestOutagesEnd(t *testing.T) {
	for name, c := range map[string]struct {
		cfg     lockupdate.Config
		timeout time.Duration // of ctx
		took    time.Duration
	}{
		"MaxOutage":           {took: 3 * time.Second},
		"a longer MaxOutage":  {cfg: lockupdate.Config{MaxOutage: 20 * time.Second}, took: 20 * time.Second},
		"a shorter MaxOutage": {cfg: lockupdate.Config{MaxOutage: 10 * time.Millisecond}, took: 10 * time.Millisecond},
		"MaxWait":             {cfg: lockupdate.Config{MaxWait: 200 * time.Millisecond}, took: 200 * time.Millisecond},
		"ctx":                 {timeout: 1500 * time.Millisecond, took: 1500 * time.Millisecond},
	} {
		bubbleWith(t, name, lockupdate.Config{}, func(t *testing.T, f *fixture) {
			s, restore := f.cutOff(c.cfg)
			time.Sleep(500 * time.Millisecond) // no limit below ends at a try of the breaker
			ctx := timeout(t.Context(), t, cmp.Or(c.timeout, time.Hour))
			var all sync.WaitGroup
			for _, name := range []string{"update", "update", "read"} {
				if name == "read" && c.cfg.MaxWait > 0 {
					continue
				}
				all.Go(func() {
					began := time.Now()
					err := operations[name](ctx, s)
					assert.ErrorIs(t, err, rmw.ErrUnavailable)
					assert.Equal(t, c.timeout == 0, strings.Contains(err.Error(), "tried again every 1s"), err)
					assert.Equal(t, c.timeout > 0, errors.Is(err, context.DeadlineExceeded), err)
					assert.Equal(t, c.took, time.Since(began).Truncate(10*time.Millisecond))
				})
			}
			all.Wait()
			restore()
			time.Sleep(10 * time.Second)
			assert.Equal(t, "x", f.text(testKey), "no failed update is stored, not even later")
		})
	}
}

// Close ends calls that wait for the store.
func TestCloseEndsOutages(t *testing.T) {
	withFixture(t, lockupdate.Config{}, func(t *testing.T, f *fixture) {
		s, restore := f.cutOff(lockupdate.Config{})
		var all sync.WaitGroup
		for name, call := range operations {
			all.Go(func() { assert.ErrorIs(t, call(t.Context(), s), rmw.ErrClosed, name) })
		}
		synctest.Wait()
		began := time.Now()
		require.NoError(t, s.Close())
		all.Wait()
		assert.Less(t, time.Since(began), 100*time.Millisecond)
		restore()
	})
}

// While the breaker is open, one try is sent per second, for any number of waiting calls. All calls
// go on after the outage.
func TestOneTryASecondDuringAnOutage(t *testing.T) {
	withFixture(t, lockupdate.Config{}, func(t *testing.T, f *fixture) {
		var flushes, commands atomic.Int64
		count := hook(func(_ context.Context, cmds []redis.Cmder, next func() error) error {
			flushes.Add(1)
			commands.Add(int64(len(cmds)))
			return next()
		})
		s, restore := f.cutOff(lockupdate.Config{MaxOutage: time.Minute}, count)
		flushes.Store(0)
		commands.Store(0)
		var all sync.WaitGroup
		for i := range 100 {
			all.Go(func() {
				_, err := s.Update(t.Context(), rmw.Key{Name: fmt.Sprint("k", i)}, appendText("x"))
				assert.NoError(t, err)
			})
			all.Go(func() {
				_, err := s.Read(t.Context(), rmw.Key{Name: fmt.Sprint("k", i)})
				assert.NoError(t, err)
			})
		}
		time.Sleep(10500 * time.Millisecond)
		t.Log(flushes.Load(), commands.Load())
		assert.LessOrEqual(t, flushes.Load(), int64(10))
		assert.LessOrEqual(t, commands.Load(), int64(20), "an acquire and a read each")
		restore()
		all.Wait()
		for i := range 100 {
			assert.Equal(t, "x", f.text(rmw.Key{Name: fmt.Sprint("k", i)}))
		}
	})
}

// A commit that could not be sent during an outage is sent after it.
func TestCommitsWaitOutAnOutage(t *testing.T) {
	for name, do := range ways {
		bubbleWith(t, name, lockupdate.Config{}, func(t *testing.T, f *fixture) {
			r, s := f.overNetwork(lockupdate.Config{})
			_, err := do(t.Context(), s, testKey, duringFirstCall(func() {
				restore := r.Cut()
				openBreaker(t, s)
				time.AfterFunc(700*time.Millisecond, restore)
			}, appendText("x")))
			require.NoError(t, err)
			assert.Equal(t, "xx", f.text(testKey))
		})
	}
}

// The breaker fails calls at once while the store is down, and detects the recovery within a
// second. The control runs without the breaker.
func TestDeadStoreFailsFast(t *testing.T) {
	for times, without := range map[int]bool{1: false, 0: true} {
		var opened []error
		cfg := lockupdate.Config{NoBreaker: without, MaxOutage: -1, OnEvent: func(e lockupdate.Event) {
			if e.Kind == lockupdate.EventCircuitOpened {
				opened = append(opened, e.Err)
			}
		}}
		withKey(t, cfg, func(t *testing.T, f *fixture, key rmw.Key) {
			restore := f.proxy.Inject(proxytest.Fault{Times: -1, Action: proxytest.HangRequest})
			var took time.Duration
			for range 20 {
				began := time.Now()
				_, err := f.store.Update(t.Context(), key, appendText("y"))
				require.ErrorIs(t, err, rmw.ErrUnavailable)
				assert.True(t, rmw.Retryable(err))
				took = time.Since(began)
			}
			assert.Equal(t, !without, f.store.Stats().CircuitOpen)
			if without {
				assert.Greater(t, took, time.Second, "control")
			} else {
				assert.Zero(t, took)
				require.ErrorContains(t, operations["read"](t.Context(), f.store), "tried again every 1s")
			}
			restore()
			time.Sleep(time.Minute)
			assert.Equal(t, "www", f.text(key))
			assert.False(t, f.store.Stats().CircuitOpen)
			assert.EqualValues(t, times, f.store.Stats().CircuitOpened)
			require.Len(t, opened, times, "an outage opens it once, also if tries fail")
			require.NotContains(t, opened, nil)
		})
	}
}

// Contention, error replies and canceled calls do not open the breaker.
func TestBreakerIgnoresContentionAndRefusals(t *testing.T) {
	withFixture(t, lockupdate.Config{MaxWait: time.Millisecond}, func(t *testing.T, f *fixture) {
		f.takeAsOther(testKey, 0)
		for range 50 {
			require.ErrorIs(t, operations["update"](t.Context(), f.store), rmw.ErrContended)
		}
		f.refuse("read", 50, connReset)
		for range 50 {
			_ = operations["read"](t.Context(), f.store) // after three attempts, some reads fail
		}
		remove := f.proxy.Inject(proxytest.Fault{Match: isScript("read"), Times: -1, Action: proxytest.Delay, Delay: time.Second})
		for range 50 {
			err := operations["read"](timeout(t.Context(), t, time.Millisecond/2), f.store) // before MaxWait
			require.ErrorIs(t, err, context.DeadlineExceeded)
		}
		remove()
		assert.False(t, f.store.Stats().CircuitOpen)
		time.Sleep(time.Minute)
	})
}

// An open breaker does not stop renewals and releases.
func TestBreakerLetsRenewalsAndReleasesPass(t *testing.T) {
	withFixture(t, lockupdate.Config{Lease: 10 * time.Second}, func(t *testing.T, f *fixture) {
		l := f.hold(t.Context(), f.store, "held")
		time.Sleep(250 * time.Millisecond) // as in openBreaker
		remove := f.proxy.Inject(proxytest.Fault{Match: isScript("read"), Times: -1, Action: proxytest.DropRequest})
		for range 20 {
			require.ErrorIs(t, operations["read"](t.Context(), f.store), rmw.ErrUnavailable)
		}
		require.True(t, f.store.Stats().CircuitOpen)
		require.NoError(t, l.Unlock())
		f.waitReleases()
		assert.False(t, f.hasLock("held"))
		remove()
	})
}

// A dial that times out returns context.DeadlineExceeded, although no ctx has ended. The call fails
// with rmw.ErrUnavailable, and is retryable.
func TestLongDialTimeout(t *testing.T) {
	long.Only(t)
	rdb := redis.NewClient(&redis.Options{
		Addr: "127.0.0.1:1", DialerRetries: 1, MaxRetries: -1, Dialer: (&net.Dialer{Timeout: time.Nanosecond}).DialContext,
	})
	defer func() { require.NoError(t, rdb.Close()) }()
	store := lockupdate.New(rdb, lockupdate.Config{})
	for _, name := range []string{"read", "update"} {
		err := operations[name](t.Context(), store)
		require.ErrorIs(t, err, rmw.ErrUnavailable)
		require.True(t, rmw.Retryable(err))
	}
	require.NoError(t, store.Close())
}
