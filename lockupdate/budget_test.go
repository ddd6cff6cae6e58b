package lockupdate_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/testing/long"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/rmw"
)

func written(commit string) []string { return []string{"acquire", "read", commit, "release"} }

// An update has a fixed cost in round trips, commands and calls on the server. On demand, it starts no
// goroutine that outlives it.
func TestBudget(t *testing.T) {
	hash := hashKey
	text := testKey
	for name, tc := range map[string]struct {
		cfg           lockupdate.Config
		key           rmw.Key
		fn            rmw.UpdateFunc
		before, after int64 // round trips before and after Update returns
		commands      []string
		calls         int // calls on the servers: the commands, and the calls of the scripts
	}{
		"string": {key: text, fn: appendText("x"), before: 2, after: 1, commands: written("commit_string"), calls: 12},
		"hash":   {key: hash, fn: setField("f", "2"), before: 2, after: 1, commands: written("commit_hash"), calls: 12},
		"master reads": {
			cfg: lockupdate.Config{MasterReads: true}, key: text, fn: appendText("x"), before: 2, after: 1,
			commands: []string{"acquire", "GET", "commit_string", "release"}, calls: 11,
		},
		"unchanged": {key: text, fn: keep, before: 1, after: 1, commands: []string{"acquire", "read", "release"}, calls: 9},
		"aborted":   {key: text, fn: abort, before: 1, after: 1, commands: []string{"acquire", "read", "release"}, calls: 9},
		"on demand, string": {
			cfg: onDemand, key: text, fn: appendText("x"), before: 2, commands: []string{"read", "EXISTS", "commit_string"}, calls: 6,
		},
		"on demand, hash": {
			cfg: onDemand, key: hash, fn: setField("f", "2"), before: 2, commands: []string{"read", "EXISTS", "commit_hash"}, calls: 6,
		},
		"on demand, unchanged": {cfg: onDemand, key: text, fn: keep, before: 1, commands: []string{"read", "EXISTS"}, calls: 3},
		"on demand, aborted":   {cfg: onDemand, key: text, fn: abort, before: 1, commands: []string{"read", "EXISTS"}, calls: 3},
	} {
		bubbleWith(t, name, tc.cfg, func(t *testing.T, f *fixture) {
			f.update(hash, setField("f", "1"))
			f.warm(text)
			_, _ = f.store.Update(t.Context(), tc.key, tc.fn)
			_, _ = f.store.Update(t.Context(), tc.key, setField("f", "0"))
			f.settle()

			// Blocked, so that it is not counted before Update returns.
			unblock := f.block("release")
			goroutines, start, executed := runtime.NumGoroutine(), f.meter.Read(), f.executed()
			_, _ = f.store.Update(t.Context(), tc.key, tc.fn)
			answered := f.meter.Read()
			if tc.cfg.LockOnDemand {
				synctest.Wait() // the flush ends behind its reply
				assert.LessOrEqual(t, runtime.NumGoroutine(), goroutines)
			}
			unblock()
			f.waitReleases()
			assert.Equal(t, tc.calls, f.executed()-executed, "calls on the servers")
			assert.EqualValues(t, tc.before, answered.Sub(start).RoundTrips, "round trips before Update returns")
			assert.EqualValues(t, tc.after, f.meter.Read().Sub(answered).RoundTrips, "round trips after Update returned")
			assert.Equal(t, tc.commands, f.calls())
		})
	}
}

// A section costs a round trip before it begins, and one behind its caller. A Read costs one.
func TestSectionBudget(t *testing.T) {
	withKey(t, lockupdate.Config{}, func(t *testing.T, f *fixture, key rmw.Key) {
		start := f.meter.Read()
		require.NoError(t, f.store.WithLock(t.Context(), "s", func(context.Context) error {
			assert.EqualValues(t, 1, f.meter.Read().Sub(start).RoundTrips)
			return nil
		}))
		f.waitReleases()
		assert.EqualValues(t, 2, f.meter.Read().Sub(start).RoundTrips)
		assert.Equal(t, "www", f.text(key))
		assert.EqualValues(t, 3, f.meter.Read().Sub(start).RoundTrips)
		assert.Equal(t, []string{"acquire", "release", "read"}, f.calls())
	})
}

// The reply to a refused commit contains the stored value, so a retry costs one round trip, not
// two.
func TestConflictBudget(t *testing.T) {
	withKey(t, lockupdate.Config{}, func(t *testing.T, f *fixture, key rmw.Key) {
		assert.EqualValues(t, 4, f.trips(func() {
			res := f.update(key, duringFirstCall(f.writeBeside, appendText("+mine")))
			assert.Equal(t, 2, res.Attempts)
			f.waitReleases()
		}), "acquire with read, two commits, the release")
		assert.Equal(t, []string{"acquire", "read", "SET", "commit_string", "commit_string", "release"}, f.calls())
		assert.Equal(t, "theirs+mine", f.text(key))
	})
}

// An update receives a small value once and sends it twice: as the base and as the new value. From 1 KiB
// on, a commit sends the digest of the base value instead of the value. The rest is overhead.
func TestBytesPerUpdate(t *testing.T) {
	withFixture(t, lockupdate.Config{}, func(t *testing.T, f *fixture) {
		key := rmw.Key{Name: "room:0000001"}
		f.warm(key)
		for _, size := range []int{128, 1023, 1024, 100_000} {
			f.update(key, put(strings.Repeat("x", size)))
			f.settle()
			start := f.meter.Read()
			f.update(key, put(strings.Repeat("y", size)))
			f.settle()
			used := f.meter.Read().Sub(start)
			switch {
			case size == 128:
				assert.EqualValues(t, 2*128+544, used.BytesSent)
				assert.EqualValues(t, 128+20, used.BytesReceived)
			case size < 1024:
				assert.Greater(t, used.BytesSent, int64(2*size))
			default:
				assert.Less(t, used.BytesSent, int64(size+128+48+519))
			}
		}
		assert.Equal(t, strings.Repeat("y", 100_000), f.text(key))
	})
}

// If no command gets a reply, each kind is sent as often as the last table in docs/errors.md says.
func TestTries(t *testing.T) {
	for name, want := range map[string]int{
		"acquire": 3, "read": 3, "peek": 3, "token": 3, "commit_string": 1, "release": 3,
		"renew": 7, // at half the lease, then each sixteenth up to nine tenths
	} {
		bubbleWithKey(t, name, lockupdate.Config{Lease: 10 * time.Second}, func(t *testing.T, f *fixture, _ rmw.Key) {
			remove := f.refuse(name, -1, connReset)
			call := operations[name] // a read in the flush of an acquire is sent once more
			switch name {
			case "acquire", "commit_string", "release":
				call = operations["update"]
			case "renew":
				call = func(ctx context.Context, s *lockupdate.Store) error {
					return s.WithLock(ctx, "s", func(ctx context.Context) error { <-ctx.Done(); return nil })
				}
			}
			err := call(t.Context(), f.store)
			f.waitReleases()
			remove()
			assert.Equal(t, want, f.sent()[name])
			reasons := map[string]error{"commit_string": rmw.ErrOutcomeUnknown, "renew": rmw.ErrLockLost, "release": nil}
			if reason, special := reasons[name]; special {
				require.ErrorIs(t, err, reason)
			} else {
				require.ErrorIs(t, err, rmw.ErrUnavailable)
			}
		})
	}
}

// A closed Store sends nothing.
func TestClosedStoreSendsNothing(t *testing.T) {
	withKey(t, lockupdate.Config{}, func(t *testing.T, f *fixture, _ rmw.Key) {
		require.NoError(t, f.store.Close())
		for name, call := range operations {
			require.ErrorIs(t, call(t.Context(), f.store), rmw.ErrClosed, name)
		}
		assert.Empty(t, f.calls())
	})
}

// Concurrent updates of different keys share round trips: each alone takes 3.
func TestKeysShareFlushes(t *testing.T) {
	long.Repeats(t)
	withFixture(t, lockupdate.Config{}, func(t *testing.T, f *fixture) {
		const goroutines, each = 50, 5
		for i := range goroutines {
			f.warm(rmw.Key{Name: fmt.Sprint(i)})
		}
		f.rdb.AddHook(hook(func(_ context.Context, _ []redis.Cmder, next func() error) error {
			time.Sleep(time.Millisecond)
			return next()
		}))
		trips := f.trips(func() {
			concurrently(goroutines, func(i int) {
				for range each {
					_, err := f.store.Update(t.Context(), rmw.Key{Name: fmt.Sprint(i)}, appendText("x"))
					assert.NoError(t, err)
				}
			})
			f.waitReleases()
		})
		assert.Less(t, float64(trips)/(goroutines*each), 0.6)
	})
}

// fillInFlight keeps four commits in flight until unblock, so that other commands form a batch.
func (f *fixture) fillInFlight() (unblock func()) {
	resume := f.block("commit_string")
	var calls []*pendingCall
	for i := range 4 {
		calls = append(calls, start(f.t.Context(), f.store, rmw.Key{Name: fmt.Sprint("inflight", i)}, appendText("x")))
	}
	return func() { resume(); succeed(f.t, calls...) }
}

// The panic of a hook fails every command of the flush, and ends no goroutine.
func TestPanicInASharedFlush(t *testing.T) {
	withFixture(t, lockupdate.Config{}, func(t *testing.T, f *fixture) {
		keys := []rmw.Key{{Name: "a"}, {Name: "b"}, {Name: "c"}}
		f.warm(keys...)
		var calls []*pendingCall
		gate := make(chan struct{})
		for _, key := range keys {
			calls = append(calls, start(t.Context(), f.store, key, until(gate, appendText("x"))))
		}
		unblock := f.fillInFlight()
		f.rdb.AddHook(hook(func(_ context.Context, cmds []redis.Cmder, next func() error) error {
			if len(cmds) > 1 {
				panic("a bug in a hook")
			}
			return next()
		}))
		close(gate)
		synctest.Wait()
		unblock()
		wait(calls...)
		for _, call := range calls {
			assert.Nil(t, call.panicked)
			require.ErrorIs(t, call.err, rmw.ErrOutcomeUnknown)
			require.ErrorContains(t, call.err, "panicked: a bug in a hook")
		}
	})
}

// A command has the ctx values of its own caller or none, whether callers share flushes (own keys)
// or commits (one key). A renewal has those of no caller, also if it shares the flush of a commit.
func TestCommandsCarryNoForeignCtxValues(t *testing.T) {
	for i := range 4 {
		own, onDemand := i%2 == 0, i >= 2
		want := map[bool]int64{false: 3, true: 2}[onDemand] // acquire, read and commit; no acquire on demand
		name, cfg := fmt.Sprintf("own keys=%t, on demand=%t", own, onDemand), lockupdate.Config{LockOnDemand: onDemand}
		bubbleWith(t, name, cfg, func(t *testing.T, f *fixture) {
			f.slow(time.Millisecond)
			var alone, shared, renewed atomic.Int64
			check := func(caller any, cmd redis.Cmder) {
				args := argsOf(cmd)
				script := lockupdate.ScriptName(args)
				switch {
				case len(args) < 4: // handshake
					return
				case caller == nil:
					shared.Add(1)
					if script == "renew" {
						renewed.Add(1)
					}
					return
				}
				alone.Add(1)
				switch {
				case script == "release" || script == "renew":
					assert.Fail(t, "a command of the holder has the ctx of a caller", script)
				case own:
					assert.Equal(t, caller, strings.TrimPrefix(args[3], lock), script)
				case script == "commit_string":
					added := strings.TrimPrefix(args[len(args)-1], args[len(args)-2])
					assert.Equal(t, fmt.Sprint(caller, ","), added)
				}
			}
			f.rdb.AddHook(hook(func(ctx context.Context, cmds []redis.Cmder, next func() error) error {
				for _, cmd := range cmds {
					check(ctx.Value(callKey{}), cmd)
				}
				return next()
			}))
			update := func(id string, during func(key string)) {
				key := rmw.Key{Name: "s"}
				if own {
					key.Name = id
				}
				_, err := f.store.Update(called(t, id), key,
					duringFirstCall(func() { during(key.Name) }, appendText(id+",")))
				assert.NoError(t, err)
			}
			concurrently(64, func(i int) {
				for range 3 { // a longer value would be sent as its digest
					update(fmt.Sprint("c", i), func(string) {})
				}
			})
			f.waitReleases()
			assert.Positive(t, shared.Load())
			time.Sleep(2 * time.Second) // a contended key takes the lock for a second, also on demand
			alone.Store(0)
			update("alone", func(string) {})
			f.waitReleases()
			assert.Equal(t, want, alone.Load(), "a single caller's commands have its values")
			if onDemand {
				return // no holder, and so no renewal
			}

			renewed.Store(0)
			update("alone", func(key string) { // the second commit of the holder asks for waiters
				time.Sleep(time.Second)
				f.set(key, "theirs", 0)
			})
			assert.Positive(t, renewed.Load(), "a renewal in the flush of a commit")
		})
	}
}
