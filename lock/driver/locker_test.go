package driver_test

import (
	"context"
	"errors"
	"math"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/lock/driver"
	"github.com/unwatch/unwatch/rmw"
)

// scripted is a Service that grants everything, unless a test says otherwise.
type scripted struct {
	acquire func(ctx context.Context, r driver.Request) (driver.Grant, error)
	renew   func(ctx context.Context, holds []*driver.Hold) error
	release func(ctx context.Context, name, owner string) error
	fail    func(ctx context.Context) error // of the methods without a function of their own
}

func (s scripted) failed(ctx context.Context) error {
	if s.fail == nil {
		return nil
	}
	return s.fail(ctx)
}

func (s scripted) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	if s.acquire == nil {
		return driver.Grant{Token: 1}, s.failed(ctx)
	}
	return s.acquire(ctx, r)
}

func (s scripted) Renew(ctx context.Context, holds []*driver.Hold) error {
	if s.renew == nil {
		return s.failed(ctx)
	}
	return s.renew(ctx, holds)
}

func (s scripted) Release(ctx context.Context, name, owner string) error {
	if s.release == nil {
		return s.failed(ctx)
	}
	return s.release(ctx, name, owner)
}

func (s scripted) Inspect(ctx context.Context, _ string) (lock.Info, error) {
	return lock.Info{}, s.failed(ctx)
}

// inBubbles runs a test for each case in a bubble of its own.
func inBubbles[C any](t *testing.T, cases map[string]C, test func(t *testing.T, c C)) {
	t.Helper()
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { test(t, c) })
		})
	}
}

func open(s scripted, cfg driver.Config) *driver.Locker {
	return driver.New(s, driver.Options{Package: "test", Service: "test", Tokens: true}, cfg)
}

func nothing(context.Context) error { return nil }

// calls are all ways to ask the Locker for something.
func calls(l *driver.Locker) map[string]func(ctx context.Context) error {
	return map[string]func(ctx context.Context) error{
		"WithLock": func(ctx context.Context) error { return l.WithLock(ctx, "a", nothing) },
		"TryLock":  func(ctx context.Context) error { return l.TryLock(ctx, "a", nothing) },
		"Lock":     func(ctx context.Context) error { _, err := l.Lock(ctx, "a"); return err },
		"Inspect":  func(ctx context.Context) error { _, err := l.Inspect(ctx, "a"); return err },
		"Check":    func(ctx context.Context) error { return l.Check(ctx, lock.Sequencer{Name: "a"}) },
	}
}

func TestInvalidConfigFailsEveryCall(t *testing.T) {
	for field, cfg := range map[string]driver.Config{
		"Lease":      {Lease: time.Millisecond},
		"Lease is":   {Lease: -1},
		"LockDelay":  {LockDelay: -1},
		"MaxWait":    {MaxWait: -1},
		"MaxHold":    {MaxHold: -1},
		"Poll.Base":  {Poll: rmw.Backoff{Base: -1}},
		"Poll.Max":   {Poll: rmw.Backoff{Max: -1}},
		"Lease plus": {Lease: math.MaxInt64 / 2, LockDelay: math.MaxInt64/2 + 2},
	} {
		for call, do := range calls(open(scripted{}, cfg)) {
			err := do(t.Context())
			require.ErrorIs(t, err, rmw.ErrInvalid, "%s: %s", field, call)
			assert.ErrorContains(t, err, "Config."+field)
		}
	}
}

func TestExtremeConfigsWork(t *testing.T) {
	for name, cfg := range map[string]driver.Config{
		"longest":  {Lease: math.MaxInt64, MaxWait: math.MaxInt64, MaxHold: math.MaxInt64},
		"shortest": {Lease: 10 * time.Millisecond, MaxWait: 1, MaxHold: time.Millisecond, Poll: rmw.Backoff{Base: 1, Max: 1}},
		"no lease": {LockDelay: math.MaxInt64 - 10*time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			l := open(scripted{}, cfg)
			for call, do := range calls(l) {
				if call != "Lock" && call != "Check" {
					require.NoError(t, do(t.Context()), "%s: %s", name, call)
				}
			}
			require.NoError(t, l.Close())
		})
	}
}

// A thousand locks cost one call of Renew a third of a lease, and one goroutine.
func TestOneRenewalForAllHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const locks = 1000
		var mu sync.Mutex
		var sizes []int
		l := open(scripted{renew: func(_ context.Context, holds []*driver.Hold) error {
			mu.Lock()
			defer mu.Unlock()
			sizes = append(sizes, len(holds))
			return nil
		}}, driver.Config{Lease: 30 * time.Second})
		before := runtime.NumGoroutine()
		var holds []lock.Hold
		for i := range locks {
			h, err := l.Lock(t.Context(), strconv.Itoa(i))
			require.NoError(t, err)
			holds = append(holds, h)
		}
		<-time.After(301 * time.Second)
		assert.Less(t, runtime.NumGoroutine(), before+10)
		mu.Lock()
		assert.Len(t, sizes, 30)
		for _, n := range sizes {
			assert.Equal(t, locks, n)
		}
		mu.Unlock()
		for _, h := range holds {
			require.NoError(t, h.Unlock())
		}
		<-time.After(time.Minute)
		mu.Lock()
		defer mu.Unlock()
		assert.Len(t, sizes, 30, "nothing is renewed when nothing is held")
	})
}

// hung does not answer before its ctx ends.
func hung(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

func granted(context.Context, driver.Request) (driver.Grant, error) {
	return driver.Grant{Token: 1}, nil
}

func TestSilentService(t *testing.T) {
	silent := scripted{fail: hung}
	inBubbles(t, map[string]func(t *testing.T){
		"calls end with their ctx": func(t *testing.T) {
			for call := range calls(nil) {
				l := open(silent, driver.Config{})
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				began := time.Now()
				err := calls(l)[call](ctx)
				require.ErrorIs(t, err, context.DeadlineExceeded, call)
				require.NotErrorIs(t, err, rmw.ErrContended, "%s: nobody has said that the lock is held", call)
				assert.Equal(t, time.Minute, time.Since(began), call)
				began = time.Now()
				require.NoError(t, l.Close())
				assert.LessOrEqual(t, time.Since(began), 10*time.Second/4, "Close waits for one attempt to release")
			}
		},
		"a wait ends after MaxWait": func(t *testing.T) {
			l := open(silent, driver.Config{MaxWait: time.Second})
			began := time.Now()
			err := l.WithLock(t.Context(), "a", nothing)
			require.ErrorIs(t, err, rmw.ErrContended)
			require.ErrorContains(t, err, "Config.MaxWait")
			assert.True(t, rmw.Retryable(err))
			assert.Equal(t, time.Second, time.Since(began))
			require.NoError(t, l.Close())
		},
		"Close ends waits": func(t *testing.T) {
			l := open(silent, driver.Config{})
			var waits sync.WaitGroup
			for range 3 {
				waits.Go(func() { assert.ErrorIs(t, l.WithLock(t.Context(), "a", nothing), rmw.ErrClosed) })
			}
			synctest.Wait()
			began := time.Now()
			require.NoError(t, l.Close())
			waits.Wait()
			assert.LessOrEqual(t, time.Since(began), 10*time.Second/4)
		},
		"a held lock is lost in time, and Unlock returns soon": func(t *testing.T) {
			l := open(scripted{fail: hung, acquire: granted}, driver.Config{})
			began := time.Now()
			h, err := l.Lock(t.Context(), "a")
			require.NoError(t, err)
			<-h.Context().Done()
			assert.Equal(t, 9*time.Second, time.Since(began))
			began = time.Now()
			require.ErrorIs(t, h.Unlock(), rmw.ErrLockLost)
			assert.LessOrEqual(t, time.Since(began), 10*time.Second/8)
			require.NoError(t, l.Close())
			assert.LessOrEqual(t, time.Since(began), 10*time.Second/2)
		},
	}, func(t *testing.T, test func(t *testing.T)) { test(t) })
}

// Close waits for functions that run and for one release of each lock, and refuses calls
// meanwhile.
func TestCloseDuringReleases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const locks = 20
		var mu sync.Mutex
		released := map[string]int{}
		l := open(scripted{release: func(_ context.Context, name, _ string) error {
			<-time.After(time.Second)
			mu.Lock()
			defer mu.Unlock()
			released[name]++
			return errors.New("not yet")
		}}, driver.Config{})
		letGo := make(chan struct{})
		var running sync.WaitGroup
		for i := range locks {
			running.Go(func() {
				assert.NoError(t, l.WithLock(t.Context(), strconv.Itoa(i), func(context.Context) error { <-letGo; return nil }))
			})
		}
		synctest.Wait()
		closed := make(chan struct{})
		go func() {
			defer close(closed)
			assert.NoError(t, l.Close())
		}()
		synctest.Wait()
		for call, do := range calls(l) {
			require.ErrorIs(t, do(t.Context()), rmw.ErrClosed, call)
		}
		select {
		case <-closed:
			t.Error("Close has returned, and functions run under locks")
		default:
		}
		close(letGo)
		<-closed
		running.Wait()
		mu.Lock()
		defer mu.Unlock()
		assert.Len(t, released, locks)
		for name, n := range released {
			assert.Equal(t, 1, n, "releases of %s", name)
		}
		require.NoError(t, l.Close())
	})
}
