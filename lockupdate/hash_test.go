package lockupdate_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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
	before := map[string]string{"a": "1", "b": "1", "c": "1"}
	for name, c := range map[string]struct {
		fn     rmw.UpdateFunc
		beside map[string]any // set during fn
		gone   []string       // removed during fn
		calls  int
		after  map[string]string
		bare   bool   // no field is left: the ballast of a large hash is removed, too
		only   string // a size: with a small hash, reading all fields sends all, and a call that changes nothing sees no foreign write
	}{
		"another field": {
			fn: setField("a", "2"), beside: map[string]any{"b": "9"},
			calls: 1, after: map[string]string{"a": "2", "b": "9", "c": "1"},
		},
		"a new field": {
			fn: setField("a", "2"), beside: map[string]any{"x": "9"},
			calls: 1, after: map[string]string{"a": "2", "b": "1", "c": "1", "x": "9"},
		},
		"a field less": {
			fn: setField("a", "2"), gone: []string{"b"},
			calls: 1, after: map[string]string{"a": "2", "c": "1"},
		},
		"the field": {
			fn: setField("a", "2"), beside: map[string]any{"a": "9"},
			calls: 2, after: map[string]string{"a": "2", "b": "1", "c": "1"},
		},
		"the field removed": {
			fn: setField("a", "2"), gone: []string{"a"},
			calls: 2, after: map[string]string{"a": "2", "b": "1", "c": "1"},
		},
		"an absent field": {
			fn: setField("x", "2"), beside: map[string]any{"x": "9"},
			calls: 2, after: map[string]string{"a": "1", "b": "1", "c": "1", "x": "2"},
		},
		"the whole key": {
			fn: setField("x", "2"), gone: []string{"a", "b", "c"}, bare: true,
			calls: 2, after: map[string]string{"x": "2"},
		},
		"all are read": {
			fn: func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
				return cur.With("a", strconv.Itoa(cur.Len())), nil
			},
			beside: map[string]any{"x": "9"}, only: "small",
			calls: 2, after: map[string]string{"a": "4", "b": "1", "c": "1", "x": "9"},
		},
		"no other writer": {fn: setField("a", "2"), calls: 1, after: map[string]string{"a": "2", "b": "1", "c": "1"}},
		"all the others": {
			fn: func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
				if next := cur.Without("a"); next.Exists() {
					return next, nil
				}
				return rmw.Hash(map[string]string{"closed": "1"}), nil
			},
			gone: []string{"b", "c"}, bare: true, calls: 2, after: map[string]string{"closed": "1"},
		},
		"all but one, nothing read": {
			fn:   func(_ context.Context, cur rmw.Value) (rmw.Value, error) { return cur.Without("none"), nil },
			gone: []string{"a", "c"}, calls: 1, after: map[string]string{"b": "1"}, only: "large",
		},
		"removed, not read": {
			fn:     func(_ context.Context, cur rmw.Value) (rmw.Value, error) { return cur.Without("b"), nil },
			beside: map[string]any{"a": "9"},
			calls:  1, after: map[string]string{"a": "9", "c": "1"},
		},
	} {
		for how, do := range ways {
			for size, large := range map[string]bool{"small": false, "large": true} {
				if c.only != "" && c.only != size {
					continue
				}
				bubbleWith(t, name+"/"+how+"/"+size, lockupdate.Config{}, func(t *testing.T, f *fixture) {
					before, after, gone := maps.Clone(before), maps.Clone(c.after), slices.Clone(c.gone)
					switch {
					case large && c.bare:
						before, gone = withBallast(before), append(gone, "ballast")
					case large:
						before, after = withBallast(before), withBallast(after)
					}
					f.update(hashKey, returning(rmw.Hash(before)))
					f.settle()
					sent, calls := f.meter.Read().BytesSent, 0
					res, err := do(t.Context(), f.store, hashKey, func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
						if calls++; calls == 1 {
							if c.beside != nil {
								require.NoError(t, f.direct().HSet(ctx, "h", c.beside).Err())
							}
							if gone != nil {
								require.NoError(t, f.direct().HDel(ctx, "h", gone...).Err())
							}
						}
						return c.fn(ctx, cur)
					})
					require.NoError(t, err)
					assert.Equal(t, c.calls, calls)
					assert.Less(t, f.meter.Read().BytesSent-sent, int64(8<<10), "bytes")
					if !large {
						assert.Equal(t, after, res.After.Fields())
						again, err := c.fn(t.Context(), res.Before)
						require.NoError(t, err)
						assert.True(t, again.Equal(res.After), "fn(Before) differs from After")
					}
					stored := f.value(hashKey)
					assert.Equal(t, after, stored.Fields())
				})
			}
		}
	}
}

// Value.Exists reads whether any field is left, also in a batch. A key that is created again does not get the old expiry.
func TestHashGuardsItsExistenceInABatch(t *testing.T) {
	withFixture(t, lockupdate.Config{}, func(t *testing.T, f *fixture) {
		f.update(hashKey, returning(rmw.Hash(map[string]string{"a": "1", "b": "1"}).WithTTL(10*time.Second)))
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
		assert.Equal(t, map[string]string{"a": "1", "theirs": "1"}, res.After.Fields())

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
		assert.Equal(t, map[string]string{"a": "2", "theirs": "2"}, second.res.After.Fields())
	})
}

// The guard covers all reads. The control reads through driver.Untraced.
func TestHashWriteSkew(t *testing.T) {
	onDuty := func(read func(rmw.Value) rmw.Value) string {
		var stored rmw.Value
		withFixture(t, lockupdate.Config{}, func(t *testing.T, f *fixture) {
			f.update(hashKey, returning(rmw.Hash(map[string]string{"ann": "on", "bob": "on"})))
			f.update(hashKey, func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
				if bob, _ := read(cur).Field("bob"); bob == "off" {
					return cur, nil // one must stay on duty
				}
				return cur.With("ann", "off"), f.direct().HSet(ctx, "h", "bob", "off").Err()
			})
			stored = f.value(hashKey)
		})
		ann, _ := stored.Field("ann")
		return ann
	}
	assert.Equal(t, "on", onDuty(func(v rmw.Value) rmw.Value { return v }))
	assert.Equal(t, "off", onDuty(driver.Untraced), "control: fn relied on an old value")
}

// runIncrements has processes increment fields with the lock, and direct clients without it. It
// counts the acknowledged and the lost increments.
func runIncrements(t *testing.T, cfg lockupdate.Config) (acked, lost int) {
	t.Helper()
	const writers, each, fields = 4, 40, 3
	f := newFixture(t, cfg)
	var incremented [fields]atomic.Int64
	var wg sync.WaitGroup
	for w := range writers {
		s := f.store
		if w%2 == 1 {
			s = f.another(cfg)
		}
		direct := f.direct()
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(w), 1))
			for range each {
				n, others := rng.IntN(fields), rng.IntN(3)
				field := fmt.Sprint("f", n)
				fn := func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
					was, _ := cur.Field(field)
					i, _ := strconv.Atoi(was)
					return cur.With(field, strconv.Itoa(i+1)), nil
				}
				res, err := s.Update(t.Context(), hashKey, func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
					for ; others > 1; others-- {
						m := rng.IntN(fields)
						if err := direct.HIncrBy(ctx, "h", fmt.Sprint("f", m), 1).Err(); err != nil {
							return cur, err
						}
						incremented[m].Add(1)
					}
					return fn(ctx, cur)
				})
				if !assert.NoError(t, err) {
					return
				}
				incremented[n].Add(1)
				again, err := fn(t.Context(), res.Before)
				assert.True(t, err == nil && again.Equal(res.After), "fn(Before) differs from After")
			}
		})
	}
	wg.Wait()
	v := f.value(hashKey)
	for n := range fields {
		s, _ := v.Field(fmt.Sprint("f", n))
		i, _ := strconv.Atoi(s)
		acked += int(incremented[n].Load())
		lost += int(incremented[n].Load()) - i
	}
	return acked, lost
}

func TestNoIncrementIsLost(t *testing.T) {
	for name, cfg := range map[string]lockupdate.Config{
		"combining": {}, "no combining": {NoCombining: true}, "linger": {Linger: 5 * time.Millisecond},
	} {
		bubble(t, name, func(t *testing.T) {
			acked, lost := runIncrements(t, cfg)
			assert.Positive(t, acked)
			assert.Zero(t, lost)
		})
	}
}
