package lockupdate_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/testing/long"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/driver"
)

func returning(v rmw.Value) rmw.UpdateFunc {
	return func(context.Context, rmw.Value) (rmw.Value, error) { return v, nil }
}

func update(ctx context.Context, s *lockupdate.Store, key rmw.Key, fn rmw.UpdateFunc) (rmw.Result, error) {
	return s.Update(ctx, key, fn)
}

func updateUnderLock(ctx context.Context, s *lockupdate.Store, key rmw.Key, fn rmw.UpdateFunc) (res rmw.Result, err error) {
	err = s.WithLock(ctx, key.Name, func(ctx context.Context) (err error) {
		res, err = s.Update(ctx, key, fn)
		return err
	})
	return res, err
}

// ways are the ways to update a key.
var ways = map[string]func(context.Context, *lockupdate.Store, rmw.Key, rmw.UpdateFunc) (rmw.Result, error){
	"Update": update, "under WithLock": updateUnderLock,
}

// The guard of a hash covers the fields that fn read, and whether the hash exists. Foreign writes of other fields do not
// make fn run again, and Result contains them. A commit of a large hash sends only the fields that fn uses.
func TestHashGuardsReadFields(t *testing.T) {
	countAll := func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
		return cur.With("a", strconv.Itoa(cur.Len())), nil
	}
	closed := func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
		if next := cur.Without("a"); next.Exists() {
			return next, nil
		}
		return rmw.Hash(fields("closed=1")), nil
	}
	const control = "control: an untraced read"
	// One of a and b must stay: fn removes a only if it reads b.
	skew := func(read func(rmw.Value) rmw.Value) rmw.UpdateFunc {
		return func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
			if _, stays := read(cur).Field("b"); !stays {
				return cur, nil
			}
			return cur.Without("a"), nil
		}
	}
	for name, c := range map[string]struct {
		fn     rmw.UpdateFunc
		beside string // set during fn
		gone   string // removed during fn
		calls  int
		after  string // it was a=1 b=1 c=1
		bare   bool   // no field is left: the ballast of a large hash is removed, too
		only   string // a size: with a small hash, reading all fields sends all, and a call that changes nothing sees no foreign write
	}{
		"no other writer":           {fn: setField("a", "2"), calls: 1, after: "a=2 b=1 c=1"},
		"another field":             {fn: setField("a", "2"), beside: "b=9", calls: 1, after: "a=2 b=9 c=1"},
		"a new field":               {fn: setField("a", "2"), beside: "x=9", calls: 1, after: "a=2 b=1 c=1 x=9"},
		"a field less":              {fn: setField("a", "2"), gone: "b", calls: 1, after: "a=2 c=1"},
		"the field":                 {fn: setField("a", "2"), beside: "a=9", calls: 2, after: "a=2 b=1 c=1"},
		"the field removed":         {fn: setField("a", "2"), gone: "a", calls: 2, after: "a=2 b=1 c=1"},
		"an absent field":           {fn: setField("x", "2"), beside: "x=9", calls: 2, after: "a=1 b=1 c=1 x=2"},
		"the whole key":             {fn: setField("x", "2"), gone: "a b c", bare: true, calls: 2, after: "x=2"},
		"all are read":              {fn: countAll, beside: "x=9", only: "small", calls: 2, after: "a=4 b=1 c=1 x=9"},
		"all the others":            {fn: closed, gone: "b c", bare: true, calls: 2, after: "closed=1"},
		"all but one, nothing read": {fn: without("none"), gone: "a c", only: "large", calls: 1, after: "b=1"},
		"removed, not read":         {fn: without("b"), beside: "a=9", calls: 1, after: "a=9 c=1"},
		"read, not written":         {fn: skew(func(v rmw.Value) rmw.Value { return v }), gone: "b", calls: 2, after: "a=1 c=1"},
		control:                     {fn: skew(driver.Untraced), gone: "b", calls: 1, after: "c=1"},
	} {
		for how, do := range ways {
			for size, large := range map[string]bool{"small": false, "large": true} {
				if c.only != "" && c.only != size {
					continue
				}
				bubbleWith(t, name+"/"+how+"/"+size, lockupdate.Config{}, func(t *testing.T, f *fixture) {
					before, after, gone := fields("a=1 b=1 c=1"), fields(c.after), strings.Fields(c.gone)
					switch {
					case large && c.bare:
						before, gone = withBallast(before), append(gone, "ballast")
					case large:
						before, after = withBallast(before), withBallast(after)
					}
					f.update(hashKey, returning(rmw.Hash(before)))
					f.settle()
					sent, calls := f.meter.Read().BytesSent, 0
					res, err := do(t.Context(), f.store, hashKey, within(func(ctx context.Context) {
						if calls++; calls > 1 {
							return
						}
						if c.beside != "" {
							require.NoError(t, f.direct().HSet(ctx, "h", fields(c.beside)).Err())
						}
						if len(gone) > 0 {
							require.NoError(t, f.direct().HDel(ctx, "h", gone...).Err())
						}
					}, c.fn))
					require.NoError(t, err)
					assert.Equal(t, c.calls, calls)
					assert.Less(t, f.meter.Read().BytesSent-sent, int64(8<<10), "bytes")
					if !large {
						assert.Equal(t, after, res.After.Fields())
						again, err := c.fn(t.Context(), res.Before)
						require.NoError(t, err)
						assert.Equal(t, name != control, again.Equal(res.After), "fn(Before) is After")
					}
					assert.Equal(t, after, f.value(hashKey).Fields())
				})
			}
		}
	}
}

// Value.Exists reads whether any field is left, also in a batch. A key that is created again does not get the old expiry.
func TestHashGuardsItsExistenceInABatch(t *testing.T) {
	withFixture(t, lockupdate.Config{}, func(t *testing.T, f *fixture) {
		f.update(hashKey, returning(rmw.Hash(fields("a=1 b=1")).WithTTL(10*time.Second)))
		f.settle()
		f.slow(10 * time.Millisecond)
		first := start(t.Context(), f.store, hashKey, setField("z", "1")) // its commit is in flight while the others form a batch
		second := start(t.Context(), f.store, hashKey, func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
			return cur.Without("a", "z"), nil
		})
		third := start(t.Context(), f.store, hashKey, func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
			if err := f.direct().HDel(ctx, "h", "b").Err(); err != nil {
				return cur, err
			}
			if cur.Exists() {
				return cur.With("c", "one more"), nil
			}
			return cur.With("c", "the first"), nil
		})
		succeed(t, first, second, third)
		assert.Equal(t, map[string]string{"c": "the first"}, third.res.After.Fields())
		assert.False(t, third.res.Before.Exists())
		assert.EqualValues(t, -1, f.direct().PTTL(t.Context(), "h").Val(), "a new key has no expiry")
	})
}

// A call that runs on the result of the last commit sees the foreign fields that this commit found.
func TestHashNextCallSeesForeignFields(t *testing.T) {
	withFixture(t, lockupdate.Config{Linger: 50 * time.Millisecond}, func(t *testing.T, f *fixture) {
		f.update(hashKey, setField("a", "0"))
		f.update(hashKey, func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
			return cur.With("a", "1"), f.direct().HSet(ctx, "h", "theirs", "1").Err()
		})
		res := f.update(hashKey, keep)
		assert.Equal(t, fields("a=1 theirs=1"), res.After.Fields())

		// An fn that runs while the commit is in flight is validated too.
		gate := make(chan struct{})
		f.slow(10 * time.Millisecond)
		first := start(t.Context(), f.store, hashKey, func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
			return cur.With("a", "2"), f.direct().HSet(ctx, "h", "theirs", "2").Err()
		})
		second := start(t.Context(), f.store, hashKey, until(gate, keep))
		<-first.done
		close(gate)
		succeed(t, second)
		assert.Equal(t, fields("a=2 theirs=2"), second.res.After.Fields())
	})
}

// Some processes increment fields under the lock, and direct clients meanwhile without it.
func TestNoIncrementIsLost(t *testing.T) {
	for name, cfg := range map[string]lockupdate.Config{
		"combining": {}, "no combining": {NoCombining: true}, "linger": {Linger: 5 * time.Millisecond},
	} {
		bubbleWith(t, name, cfg, func(t *testing.T, f *fixture) {
			var incremented [3]atomic.Int64
			stores := []*lockupdate.Store{f.store, f.another(cfg)}
			concurrently(4, func(w int) {
				s, direct, rng := stores[w%2], f.direct(), rand.New(rand.NewPCG(uint64(w), 1))
				for range 40 {
					n, m, beside := rng.IntN(3), rng.IntN(3), rng.IntN(3) == 0
					field := fmt.Sprint("f", n)
					fn := func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
						was, _ := cur.Field(field)
						i, _ := strconv.Atoi(was)
						return cur.With(field, strconv.Itoa(i+1)), nil
					}
					res, err := s.Update(t.Context(), hashKey, duringFirstCall(func() {
						if beside {
							assert.NoError(t, direct.HIncrBy(t.Context(), "h", fmt.Sprint("f", m), 1).Err())
							incremented[m].Add(1)
						}
					}, fn))
					if !assert.NoError(t, err) {
						return
					}
					incremented[n].Add(1)
					again, err := fn(t.Context(), res.Before)
					assert.True(t, err == nil && again.Equal(res.After), "fn(Before) differs from After")
				}
			})
			stored := f.value(hashKey)
			for n := range incremented {
				s, _ := stored.Field(fmt.Sprint("f", n))
				assert.Equal(t, fmt.Sprint(incremented[n].Load()), s)
			}
		})
	}
}

// fields returns the fields of a text like "a=1 b=2".
func fields(text string) map[string]string {
	all := map[string]string{}
	for field := range strings.FieldsSeq(text) {
		name, value, _ := strings.Cut(field, "=")
		all[name] = value
	}
	return all
}

func without(name string) rmw.UpdateFunc {
	return func(_ context.Context, cur rmw.Value) (rmw.Value, error) { return cur.Without(name), nil }
}

// ballast makes a hash so large that commits send only the fields that fn uses.
var ballast = strings.Repeat("x", 64<<10)

func withBallast(fields map[string]string) map[string]string {
	fields["ballast"] = ballast
	return fields
}

// addTo appends a plus to a field.
func addTo(field string) rmw.UpdateFunc {
	return func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
		value, _ := cur.Field(field)
		return cur.With(field, value+"+"), nil
	}
}

// The next call may run on old values of fields that the fn before it did not read. If it reads one of them, it is validated
// before it returns. Here it is queued after the foreign write of such a field, and before the commit that ignores it.
func TestLargeHashQueuedCallSeesForeignWrite(t *testing.T) {
	for stored, fn := range map[string]rmw.UpdateFunc{"9": keep, "9+": addTo("b")} {
		withLargeHash(t, func(t *testing.T, f *fixture) {
			var next *pendingCall
			var seen string
			f.update(hashKey, duringFirstCall(func() {
				assert.NoError(t, f.direct().HSet(t.Context(), "h", "b", "9").Err())
				next = start(t.Context(), f.store, hashKey, func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
					seen, _ = cur.Field("b")
					time.Sleep(10 * time.Millisecond) // the first call is committed meanwhile
					return fn(ctx, cur)
				})
			}, setField("a", "2")))
			succeed(t, next)
			assert.Equal(t, "9", seen)
			assert.Equal(t, withBallast(map[string]string{"a": "2", "b": stored}), f.value(hashKey).Fields())
		})
	}
}

// An fn that outlives its holder may have run on the result of a call whose commit was refused.
// That value was never stored, so no result may be based on it.
func TestLargeHashOrphanedCall(t *testing.T) {
	withLargeHash(t, func(t *testing.T, f *fixture) {
		var next *pendingCall
		f.update(hashKey, func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
			sum, err := addTo("a")(ctx, cur)
			if next == nil {
				assert.NoError(t, f.direct().HSet(ctx, "h", "a", "9").Err())
				outlive := func() { time.Sleep(3 * time.Minute) } // longer than MaxHold
				next = start(t.Context(), f.store, hashKey, duringFirstCall(outlive, addTo("b")))
			}
			return sum, err
		})
		<-next.done
		require.ErrorIs(t, next.err, rmw.ErrLockLost, "a was 1, 9 and 9+. fn ran on 1+, which was never stored.")
		assert.Equal(t, withBallast(fields("a=9+ b=1")), f.value(hashKey).Fields())
	})
}

// A commit with more fields than a server accepts in one command fails before it is sent. Sent, its
// outcome would be unknown.
func TestTooManyFields(t *testing.T) {
	long.Repeats(t)
	withFixture(t, lockupdate.Config{}, func(t *testing.T, f *fixture) {
		fields := make(map[string]string, 500_000)
		for i := range 500_000 {
			fields[strconv.Itoa(i)] = ""
		}
		_, err := f.store.Update(t.Context(), hashKey, func(context.Context, rmw.Value) (rmw.Value, error) {
			return rmw.Hash(fields), nil
		})
		require.ErrorIs(t, err, rmw.ErrInvalid)
		require.ErrorContains(t, err, "split the key")
		f.waitReleases()
		assert.NotContains(t, f.calls(), "commit_hash")
	})
}

// withLargeHash is withFixture, with a large hash under hashKey.
func withLargeHash(t *testing.T, test func(t *testing.T, f *fixture)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, lockupdate.Config{})
		f.update(hashKey, returning(rmw.Hash(withBallast(fields("a=1 b=1")))))
		f.settle()
		test(t, f)
	})
}
