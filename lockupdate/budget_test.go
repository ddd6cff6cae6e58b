package lockupdate_test

import (
	"context"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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

// A section costs a round trip before it begins, and one behind its caller.
func TestSectionBudget(t *testing.T) {
	withFixture(t, lockupdate.Config{}, func(t *testing.T, f *fixture) {
		require.NoError(t, f.store.WithLock(t.Context(), "s", nothing))
		f.settle()
		start := f.meter.Read()
		require.NoError(t, f.store.WithLock(t.Context(), "s", func(context.Context) error {
			assert.EqualValues(t, 1, f.meter.Read().Sub(start).RoundTrips)
			return nil
		}))
		f.waitReleases()
		assert.EqualValues(t, 2, f.meter.Read().Sub(start).RoundTrips)
		assert.Equal(t, []string{"acquire", "release"}, f.calls())
	})
}

func TestReadBudget(t *testing.T) {
	withKey(t, lockupdate.Config{}, func(t *testing.T, f *fixture, key rmw.Key) {
		start := f.meter.Read()
		assert.Equal(t, "www", f.text(key))
		assert.EqualValues(t, 1, f.meter.Read().Sub(start).RoundTrips)
		assert.Equal(t, []string{"read"}, f.calls())
	})
}

// The reply to a refused commit contains the stored value, so a retry costs one round trip, not
// two.
func TestConflictBudget(t *testing.T) {
	withKey(t, lockupdate.Config{}, func(t *testing.T, f *fixture, key rmw.Key) {
		start := f.meter.Read()
		res := f.update(key, duringFirstCall(f.writeBeside, appendText("+mine")))
		assert.Equal(t, 2, res.Attempts)
		f.waitReleases()
		assert.EqualValues(t, 4, f.meter.Read().Sub(start).RoundTrips, "acquire with read, two commits, the release")
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
