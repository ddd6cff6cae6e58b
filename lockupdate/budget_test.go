package lockupdate_test

import (
	"context"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/rmw"
)

func written(commit string) []string { return []string{"acquire", "read", commit, "release"} }

// An update has a fixed cost in round trips, commands and calls on the server. On demand, it starts no
// goroutine that outlives it.
func TestBudget(t *testing.T) {
	hash := rmw.Key{Name: "h", Kind: rmw.KindHash}
	text := rmw.Key{Name: "s"}
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
		bubble(t, name, func(t *testing.T) {
			f := newFixture(t, tc.cfg)
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
		other := f.direct()
		start := f.meter.Read()
		res, err := f.store.Update(t.Context(), key, duringFirstCall(func() {
			require.NoError(t, other.Set(t.Context(), key.Name, "theirs", 0).Err())
		}, appendText("+mine")))
		require.NoError(t, err)
		assert.Equal(t, 2, res.Attempts)
		f.waitReleases()
		assert.EqualValues(t, 4, f.meter.Read().Sub(start).RoundTrips, "acquire with read, two commits, the release")
		assert.Equal(t, []string{"acquire", "read", "SET", "commit_string", "commit_string", "release"}, f.calls())
		assert.Equal(t, "theirs+mine", f.text(key))
	})
}

// From 1 KiB on, a commit sends the digest of the base value instead of the value.
func TestBytesPerLargeUpdate(t *testing.T) {
	const overhead = 128 + 48 + 519 // as in TestBytesPerUpdate, plus 128 bytes
	withFixture(t, lockupdate.Config{}, func(t *testing.T, f *fixture) {
		key := rmw.Key{Name: "room:0000001"}
		f.warm(key)
		for _, size := range []int{1023, 1024, 100_000} {
			for _, fill := range []string{"x", "y"} {
				f.settle()
				start := f.meter.Read()
				_, err := f.store.Update(t.Context(), key, func(context.Context, rmw.Value) (rmw.Value, error) {
					return rmw.String(strings.Repeat(fill, size)), nil
				})
				require.NoError(t, err)
				f.settle()
				if fill == "x" {
					continue
				}
				sent := f.meter.Read().Sub(start).BytesSent
				if size < 1024 {
					assert.Greater(t, sent, int64(2*size))
				} else {
					assert.Less(t, sent, int64(size+overhead))
				}
			}
		}
		assert.Equal(t, strings.Repeat("y", 100_000), f.text(key))
	})
}

// An update of 128 bytes receives the value once and sends it twice: as the base and as the new
// value. The rest is overhead.
func TestBytesPerUpdate(t *testing.T) {
	withFixture(t, lockupdate.Config{}, func(t *testing.T, f *fixture) {
		key := rmw.Key{Name: "room:0000001"}
		f.warm(key)
		text := strings.Repeat("x", 128)
		put := func(context.Context, rmw.Value) (rmw.Value, error) { return rmw.String(text), nil }
		f.update(key, put)
		f.settle()
		start := f.meter.Read()
		_, err := f.store.Update(t.Context(), key, func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
			text = strings.Repeat("y", 128)
			return put(ctx, cur)
		})
		require.NoError(t, err)
		f.settle()
		used := f.meter.Read().Sub(start)
		assert.EqualValues(t, 2*128+544, used.BytesSent)
		assert.EqualValues(t, 128+20, used.BytesReceived)
	})
}
