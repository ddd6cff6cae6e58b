package lockupdate_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/docs/doccheck"
	"github.com/unwatch/unwatch/internal/testing/contract"
	"github.com/unwatch/unwatch/internal/testing/long"
	locking "github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/lock/locktest"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
)

// lockers returns a Store as the target of the suite for Lockers.
func lockers(t *testing.T, cfg lockupdate.Config) locktest.Target {
	return lockersOf(newFixture(t, cfg), cfg)
}

func lockersOf(f *fixture, cfg lockupdate.Config) locktest.Target {
	maxHold := cfg.MaxHold
	if maxHold == 0 {
		cfg.MaxHold = 2 * time.Hour // more than the patience
	}
	clients := map[locking.Locker]*contract.Network{}
	start := func(tb testing.TB, cfg lockupdate.Config, rdb *redis.Client, c *contract.Network) locking.Locker {
		s := lockupdate.New(rdb, cfg)
		clients[s] = c
		tb.Cleanup(func() { _ = s.Close() })
		return s
	}
	connect := func(tb testing.TB) (*redis.Client, *contract.Network) {
		opts, c := f.proxy.Options(), &contract.Network{}
		opts.Dialer = c.Dialer(opts.Dialer)
		rdb := redis.NewClient(opts)
		tb.Cleanup(func() { _ = rdb.Close() })
		return rdb, c
	}
	open := func(tb testing.TB, cfg lockupdate.Config) locking.Locker {
		rdb, c := connect(tb)
		return start(tb, cfg, rdb, c)
	}
	return locktest.Target{
		Open: func(tb testing.TB) locking.Locker { return open(tb, cfg) },
		Observe: func(tb testing.TB, o locking.Observer) locking.Locker {
			observed := cfg
			observed.Observer = o
			return open(tb, observed)
		},
		Share: func(tb testing.TB) (a, b locking.Locker) {
			rdb, c := connect(tb)
			return start(tb, cfg, rdb, c), start(tb, cfg, rdb, c)
		},
		Reentrant:      true,
		Tokens:         true,
		Lease:          cfg.Lease,
		LockDelay:      cfg.LockDelay,
		MaxHold:        maxHold,
		Patience:       time.Hour,
		Fair:           cfg.Commit == lockupdate.CommitGuarded,
		Jeopardy:       true,
		ReleasedWithin: time.Second,
		Faults: locktest.Faults{
			TakeAway: func(ctx context.Context, name string) error { return f.direct().Del(ctx, lock+name).Err() },
			Cut:      func(l locking.Locker) (restore func()) { return clients[l].Cut() },
			Stall:    func(l locking.Locker, d time.Duration) { l.(*lockupdate.Store).Stall(d) },

			LoseReply: func(l locking.Locker) (restore func()) { return clients[l].LoseReplies() },
			Late:      func(l locking.Locker) (deliver func()) { return clients[l].Delay() },
			Reconnect: func(l locking.Locker) { clients[l].Break() },
			Restart:   f.restart,
			Forget: func() {
				for i := range f.proxy.Backends() {
					f.proxy.Engine(i).FlushAll()
				}
				f.restart()
			},
			Clock: func(d time.Duration) {
				for i := range f.proxy.Backends() {
					f.proxy.Engine(i).FastForward(d) // the rest of each expiry is shorter, or longer
				}
			},
		},
	}
}

// restart restarts the servers with their data. Their caches of scripts are empty then.
func (f *fixture) restart() {
	for i := range f.proxy.Backends() {
		require.NoError(f.t, f.proxy.FlushScripts(i))
		f.proxy.Down(i)
		f.proxy.Up(i)
	}
}

func TestLocker(t *testing.T) {
	cfgs := map[string]lockupdate.Config{
		"default":    {},
		"lock delay": {LockDelay: 5 * time.Second},
		"linger":     {Linger: 50 * time.Millisecond},
		"on demand":  {LockOnDemand: true},
	}
	for _, s := range nativeStores {
		cfgs[s.commit.String()] = lockupdate.Config{Commit: s.commit, LockDelay: s.delay}
	}
	for name, cfg := range cfgs {
		t.Run(name, func(t *testing.T) {
			if cfg.Commit > lockupdate.CommitIFEQ || name == "lock delay" {
				long.Repeats(t)
			}
			runLocker(t, cfg)
		})
	}
}

// A Store keeps the contract of a Locker in all programs.
func TestLockerPrograms(t *testing.T) {
	cfg := lockupdate.Config{Lease: 10 * time.Second}
	locktest.RunPrograms(t, func(t *testing.T) locktest.Target { return lockers(t, cfg) }, 50)
}

// MaxHold is told as the reason of a loss. The clause "max-hold" asks for more than a Store promises: the Store counts in ticks of its
// timing wheel, which began up to one before the call.
func TestLockerWithMaxHold(t *testing.T) {
	runLocker(t, lockupdate.Config{MaxHold: 40 * time.Second}, "told-max-hold")
}

// runLocker runs the clauses of these names, or all.
func runLocker(t *testing.T, cfg lockupdate.Config, names ...string) {
	cfg.Lease = 10 * time.Second
	locktest.RunFake(t, func(t *testing.T) locktest.Target { return lockers(t, cfg) }, names...)
}

// The declarations and the skipped clauses are rows of the documentation.
func TestDocumentedRows(t *testing.T) {
	declared := lockersOf(nil, lockupdate.Config{Lease: 10 * time.Second, LockDelay: time.Second})
	require.NoError(t, doccheck.HasLines("../docs/locks.md", declared.Row("Redis")))
	require.NoError(t, doccheck.HasLines("../docs/results/locks.md", declared.Skipped("Redis")))
}

// watcher is an Observer that writes down "call: kind lock duration", without the events of waits
// unless waits is set.
type watcher struct {
	waits bool
	mu    sync.Mutex
	told  []string
}

func (w *watcher) observe(ctx context.Context, e locking.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.waits && (e.Kind == locking.EventWaiting || e.Kind == locking.EventWaitEnded) {
		return
	}
	w.told = append(w.told, fmt.Sprintf("%v: %v %s %v", ctx.Value(callKey{}), e.Kind, e.Lock, e.Took.Round(100*time.Millisecond)))
	if e.Service != "redis" {
		panic(e.Service)
	}
}

// take returns the events since the last call.
func (w *watcher) take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	told := w.told
	w.told = nil
	return told
}

// The wait of a call that queued behind others of its process counts, too.
func TestObserverOfAQueuedCall(t *testing.T) {
	withWatcher(t, func(t *testing.T, f *fixture, w *watcher) {
		w.waits = true
		l := f.hold(called(t, "first"), f.store, "s")
		second := startLocked(called(t, "second"), f.store, "s", nothing)
		time.Sleep(3 * time.Second)
		require.NoError(t, f.direct().Del(t.Context(), lock+"s").Err())
		<-l.Context().Done()
		require.ErrorIs(t, l.Unlock(), rmw.ErrLockLost)
		succeed(t, second)
		f.waitReleases()
		assert.ElementsMatch(t, []string{
			"first: acquired s 0s", "second: waiting s 0s", "first: lost s 5s",
			"second: acquired s 5s", "second: wait ended s 5s", "second: released s 0s",
		}, w.take())
	})
}

// A lock that passes from call to call of a process is told for each section, and once for updates in a
// row. It is taken from the server once. A call that ends without the lock is told, however it ends.
func TestObserverOfHandovers(t *testing.T) {
	withWatcher(t, func(t *testing.T, f *fixture, w *watcher) {
		var sections []*pendingCall
		section := func(name string, hold time.Duration) {
			sections = append(sections, startLocked(called(t, name), f.store, "s", func(context.Context) error {
				time.Sleep(hold)
				return nil
			}))
		}
		section("slow", 5*time.Second)
		require.ErrorIs(t, f.store.TryLock(called(t, "try"), "s", nothing), rmw.ErrContended)
		ctx := timeout(called(t, "left"), t, time.Second)
		left := start(ctx, f.store, testKey, keep)
		section("fast", 2*time.Second)
		first := start(called(t, "first"), f.store, testKey, after(time.Second, put("1")))
		second := start(called(t, "second"), f.store, testKey, after(time.Second, put("2")))
		section("last", 3*time.Second)
		succeed(t, append(sections, first, second)...)
		wait(left)
		require.ErrorIs(t, left.err, rmw.ErrContended)
		f.waitReleases()
		assert.Equal(t, []string{
			"slow: acquired s 0s", "try: refused s 0s", "left: refused s 1s", "slow: released s 5s",
			"fast: acquired s 5s", "fast: released s 2s",
			"first: acquired s 7s", "first: released s 2s",
			"last: acquired s 9s", "last: released s 3s",
		}, w.take())
		assert.EqualValues(t, 1, f.store.Stats().Acquired)
	})
}

// A lock whose renewal is not answered is in jeopardy until the next one succeeds.
func TestUnansweredRenewalIsJeopardy(t *testing.T) {
	withFixture(t, lockupdate.Config{Lease: 10 * time.Second}, func(t *testing.T, f *fixture) {
		remove := f.proxy.Inject(proxytest.Fault{Match: isScript("renew"), Times: -1, Action: proxytest.HangRequest})
		l := f.hold(t.Context(), f.store, "s")
		time.Sleep(4900 * time.Millisecond)
		assert.Equal(t, locking.Safe, locking.StateOf(l.Context()))
		time.Sleep(1500 * time.Millisecond) // the renewal at half, and an eighth for its reply
		assert.Equal(t, locking.Jeopardy, locking.StateOf(l.Context()))
		remove()
		time.Sleep(2 * time.Second)
		assert.Equal(t, locking.Safe, locking.StateOf(l.Context()))
		require.NoError(t, l.Unlock())
	})
}

// A lock that another process waits for is told once per holding.
func TestObserverOfWaiters(t *testing.T) {
	withWatcher(t, func(t *testing.T, f *fixture, w *watcher) {
		l := f.hold(called(t, "section"), f.store, "s")
		time.Sleep(12 * time.Second)
		ctx := timeout(t.Context(), t, 12*time.Second)
		require.ErrorIs(t, f.another(lockupdate.Config{}).WithLock(ctx, "s", nothing), rmw.ErrContended)
		require.NoError(t, l.Unlock())
		f.waitReleases()
		assert.Equal(t, []string{"section: acquired s 0s", "section: wanted s 0s", "section: released s 24s"}, w.take())
	})
}

// A stalled process learns of the loss when it unlocks, and no release is told as well.
func TestObserverOfAStall(t *testing.T) {
	withWatcher(t, func(t *testing.T, f *fixture, w *watcher) {
		l := f.hold(called(t, "section"), f.store, "s")
		f.store.Stall(10 * time.Second)
		assert.Equal(t, locking.Lost, locking.StateOf(l.Context()))
		require.ErrorIs(t, l.Unlock(), rmw.ErrLockLost)
		f.waitReleases()
		assert.Equal(t, []string{"section: acquired s 0s", "section: lost s 10s"}, w.take())
		assert.EqualValues(t, 1, f.store.Stats().Lost)
	})
}

// A Sequencer names the holding, and Check tells whether it has ended.
func TestSequencer(t *testing.T) {
	withFixture(t, lockupdate.Config{Lease: 10 * time.Second}, func(t *testing.T, f *fixture) {
		other := f.another(lockupdate.Config{})
		var seq locking.Sequencer
		f.update(testKey, func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
			var err1, err2 error
			seq, err1 = locking.SequencerOf(ctx)
			token, err2 := locking.Token(ctx)
			assert.Equal(t, token, seq.Token)
			info, err3 := other.Inspect(ctx, "s")
			assert.Equal(t, locking.Sequencer{Name: "s", Owner: seq.Owner}, info.Sequencer)
			assert.NoError(t, other.Check(ctx, seq))
			forged := seq
			forged.Owner += "0"
			assert.ErrorIs(t, other.Check(ctx, forged), rmw.ErrLockLost)
			forged.Owner = ""
			assert.ErrorIs(t, other.Check(ctx, forged), rmw.ErrLockLost)
			return cur, errors.Join(err1, err2, err3)
		})
		f.waitReleases()
		require.ErrorIs(t, other.Check(t.Context(), seq), rmw.ErrLockLost, "free")
		require.ErrorIs(t, other.Check(t.Context(), locking.Sequencer{Name: "s"}), rmw.ErrLockLost, "free, and no owner")
		require.ErrorIs(t, other.Check(t.Context(), locking.Sequencer{}), rmw.ErrInvalid)
		require.NoError(t, other.WithLock(t.Context(), "s", func(ctx context.Context) error {
			require.ErrorIs(t, f.store.Check(ctx, seq), rmw.ErrLockLost, "of the next holder")
			next, err := locking.SequencerOf(ctx)
			assert.Greater(t, next.Token, seq.Token)
			return err
		}))
	})
}

// An Update within a section has the section's Sequencer and State.
func TestSequencerOfANestedUpdate(t *testing.T) {
	withFixture(t, lockupdate.Config{}, func(t *testing.T, f *fixture) {
		var outlived context.Context
		require.NoError(t, f.store.WithLock(t.Context(), "s", func(outer context.Context) error {
			_, err := f.store.Update(outer, testKey, func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
				inner, err := locking.SequencerOf(ctx)
				require.NoError(t, err)
				seq, err := locking.SequencerOf(outer)
				assert.Equal(t, seq, inner)
				assert.Equal(t, locking.Safe, locking.StateOf(ctx))
				outlived = ctx
				return cur, err
			})
			assert.Equal(t, locking.Lost, locking.StateOf(outlived))
			outlived = outer
			return err
		}))
		assert.Equal(t, locking.Lost, locking.StateOf(outlived))
		_, err := locking.SequencerOf(outlived)
		require.ErrorIs(t, err, rmw.ErrInvalid)
	})
}

// withWatcher is withFixture, with an Observer.
func withWatcher(t *testing.T, test func(t *testing.T, f *fixture, w *watcher)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := new(watcher)
		test(t, newFixture(t, lockupdate.Config{Lease: 10 * time.Second, Observer: w.observe}), w)
	})
}
