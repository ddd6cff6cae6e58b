package lockupdate_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/testing/contract"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/rmw"
)

// overNetwork returns a Store whose proxy can be cut off.
func (f *fixture) overNetwork(cfg lockupdate.Config, hooks ...redis.Hook) (*contract.Network, *lockupdate.Store) {
	opts := f.proxy.Options()
	r := &contract.Network{}
	opts.Dialer, opts.DialerRetries = r.Dialer(opts.Dialer), 1
	opts.MaxIdleConns, opts.PipelinePoolSize = 1, -1 // over a pipe, go-redis does not detect a closed idle connection
	rdb := redis.NewClient(opts)
	for _, h := range hooks {
		rdb.AddHook(h)
	}
	s := lockupdate.New(rdb, cfg)
	f.t.Cleanup(func() {
		require.NoError(f.t, s.Close())
		require.NoError(f.t, rdb.Close())
	})
	_, err := s.Update(f.t.Context(), rmw.Key{Name: "s"}, appendText("w"))
	require.NoError(f.t, err)
	lockupdate.Settle(s)
	return r, s
}

// openBreaker reads until the breaker of s opens.
func openBreaker(t *testing.T, s *lockupdate.Store) {
	t.Helper()
	for !s.Stats().CircuitOpen {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
		_, err := s.Read(ctx, rmw.Key{Name: "s"})
		cancel()
		require.Error(t, err)
	}
}

// Calls wait out an outage of 700 ms, both before the breaker opens and while it is open. The
// control fails fast.
func TestCallsWaitOutAnOutage(t *testing.T) {
	for _, name := range []string{"update", "read", "peek", "token"} {
		for _, open := range []bool{false, true} {
			for _, failFast := range []bool{false, true} {
				bubble(t, fmt.Sprintf("%s,open=%t,failFast=%t", name, open, failFast), func(t *testing.T) {
					cfg := lockupdate.Config{}
					if failFast {
						cfg.MaxOutage = -1
					}
					f := newFixture(t, lockupdate.Config{})
					r, s := f.overNetwork(cfg)
					restore := r.Cut()
					if open {
						openBreaker(t, s)
					}
					time.AfterFunc(700*time.Millisecond, restore)
					ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
					defer cancel()
					began := time.Now()
					err := operations[name](ctx, s)
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
		text    string
	}{
		"MaxOutage":           {took: 3 * time.Second, text: "tried again every 1s"},
		"a longer MaxOutage":  {cfg: lockupdate.Config{MaxOutage: 20 * time.Second}, took: 20 * time.Second, text: "tried again every 1s"},
		"a shorter MaxOutage": {cfg: lockupdate.Config{MaxOutage: 10 * time.Millisecond}, took: 10 * time.Millisecond, text: "tried again every 1s"},
		"ctx":                 {timeout: 1500 * time.Millisecond, took: 1500 * time.Millisecond, text: "deadline exceeded"},
		"MaxWait":             {cfg: lockupdate.Config{MaxWait: 200 * time.Millisecond}, took: 200 * time.Millisecond, text: "tried again every 1s"},
	} {
		bubble(t, name, func(t *testing.T) {
			f := newFixture(t, lockupdate.Config{})
			r, s := f.overNetwork(c.cfg)
			restore := r.Cut()
			openBreaker(t, s)
			time.Sleep(500 * time.Millisecond) // no limit below ends at a try of the breaker
			ctx := t.Context()
			if c.timeout > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, c.timeout)
				defer cancel()
			}
			var all sync.WaitGroup
			for _, call := range []func() error{
				func() error { _, err := s.Update(ctx, rmw.Key{Name: "s"}, appendText("x")); return err },
				func() error { _, err := s.Update(ctx, rmw.Key{Name: "s"}, appendText("y")); return err },
				func() error {
					if c.cfg.MaxWait > 0 {
						return nil
					}
					_, err := s.Read(ctx, rmw.Key{Name: "s"})
					return err
				},
			} {
				all.Go(func() {
					began := time.Now()
					err := call()
					if err == nil {
						return
					}
					assert.ErrorIs(t, err, rmw.ErrUnavailable)
					assert.ErrorContains(t, err, c.text)
					assert.Equal(t, c.timeout > 0, errors.Is(err, context.DeadlineExceeded), err)
					assert.Equal(t, c.took, time.Since(began).Truncate(10*time.Millisecond))
				})
			}
			all.Wait()
			restore()
			time.Sleep(10 * time.Second)
			assert.Equal(t, "w", f.text(rmw.Key{Name: "s"}), "no failed update is stored, not even later")
		})
	}
}

// Close ends calls that wait for the store.
func TestCloseEndsOutages(t *testing.T) {
	withFixture(t, lockupdate.Config{}, func(t *testing.T, f *fixture) {
		r, s := f.overNetwork(lockupdate.Config{})
		restore := r.Cut()
		openBreaker(t, s)
		var all sync.WaitGroup
		all.Go(func() {
			_, err := s.Update(t.Context(), rmw.Key{Name: "s"}, appendText("x"))
			assert.ErrorIs(t, err, rmw.ErrClosed)
		})
		all.Go(func() {
			_, err := s.Read(t.Context(), rmw.Key{Name: "s"})
			assert.ErrorIs(t, err, rmw.ErrClosed)
		})
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
	synctest.Test(t, func(t *testing.T) {
		var flushes, commands atomic.Int64
		f := newFixture(t, lockupdate.Config{})
		count := hook(func(_ context.Context, cmds []redis.Cmder, next func() error) error {
			flushes.Add(1)
			commands.Add(int64(len(cmds)))
			return next()
		})
		r, s := f.overNetwork(lockupdate.Config{MaxOutage: time.Minute}, count)
		restore := r.Cut()
		openBreaker(t, s)
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
	for _, under := range []bool{false, true} {
		bubble(t, fmt.Sprintf("under a lock=%t", under), func(t *testing.T) {
			f := newFixture(t, lockupdate.Config{})
			r, s := f.overNetwork(lockupdate.Config{})
			key := rmw.Key{Name: "s"}
			update := func(ctx context.Context) error {
				_, err := s.Update(ctx, key, duringFirstCall(func() {
					restore := r.Cut()
					openBreaker(t, s)
					time.AfterFunc(700*time.Millisecond, restore)
				}, appendText("x")))
				return err
			}
			if under {
				require.NoError(t, s.WithLock(t.Context(), "s", update))
			} else {
				require.NoError(t, update(t.Context()))
			}
			assert.Equal(t, "wx", f.text(key))
		})
	}
}
