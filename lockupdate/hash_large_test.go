package lockupdate_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/rmw"
)

// ballast makes a hash a large one: more than is sent along for the sake of telling.
var ballast = strings.Repeat("x", 64<<10)

func heavy(fields map[string]string) map[string]string {
	fields["ballast"] = ballast
	return fields
}

// Of a large hash, only what fn goes by crosses the wire, and it is guarded as well as
// in a small one: what fn has read, or missed, or would have left empty.
func TestLargeHashGuardsWhatIsRead(t *testing.T) {
	for name, c := range map[string]struct {
		fn     rmw.UpdateFunc
		beside map[string]any // set meanwhile
		gone   []string       // removed meanwhile
		calls  int
		stored map[string]string // besides the ballast, if that is left
		bare   bool              // it is not
	}{
		"nobody else": {fn: setField("a", "2"), calls: 1, stored: map[string]string{"a": "2", "b": "1"}},
		"another field": {
			fn: setField("a", "2"), beside: map[string]any{"b": "9"},
			calls: 1, stored: map[string]string{"a": "2", "b": "9"},
		},
		"a field less": {fn: setField("a", "2"), gone: []string{"b"}, calls: 1, stored: map[string]string{"a": "2"}},
		"the field": {
			fn: setField("a", "2"), beside: map[string]any{"a": "9"},
			calls: 2, stored: map[string]string{"a": "2", "b": "1"},
		},
		"the field removed": {
			fn: setField("a", "2"), gone: []string{"a"},
			calls: 2, stored: map[string]string{"a": "2", "b": "1"},
		},
		"what is missed": {
			fn: setField("x", "2"), beside: map[string]any{"x": "9"},
			calls: 2, stored: map[string]string{"a": "1", "b": "1", "x": "2"},
		},
		"all the others": {
			fn: func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
				if next := cur.Without("a"); next.Exists() {
					return next, nil
				}
				return rmw.Hash(map[string]string{"closed": "1"}), nil
			},
			gone: []string{"b", "ballast"}, calls: 2, stored: map[string]string{"closed": "1"}, bare: true,
		},
		"the whole key": {
			fn: setField("x", "2"), gone: []string{"a", "b", "ballast"},
			calls: 2, stored: map[string]string{"x": "2"}, bare: true,
		},
		"all but one, nothing read": {
			fn: func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
				return cur.Without("none"), nil
			},
			gone: []string{"a"}, calls: 1, stored: map[string]string{"b": "1"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t, lockupdate.Config{})
				key := rmw.Key{Name: "h", Kind: rmw.KindHash}
				_, err := f.store.Update(t.Context(), key, to(rmw.Hash(heavy(map[string]string{"a": "1", "b": "1"}))))
				require.NoError(t, err)
				f.settle()
				sent, calls := f.meter.Read().BytesSent, 0
				_, err = f.store.Update(t.Context(), key, func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
					if calls++; calls == 1 {
						if c.beside != nil {
							require.NoError(t, f.direct().HSet(ctx, "h", c.beside).Err())
						}
						if c.gone != nil {
							require.NoError(t, f.direct().HDel(ctx, "h", c.gone...).Err())
						}
					}
					return c.fn(ctx, cur)
				})
				require.NoError(t, err)
				assert.Equal(t, c.calls, calls)
				assert.Less(t, f.meter.Read().BytesSent-sent, int64(8<<10), "bytes")
				stored, err := f.store.Read(t.Context(), key)
				require.NoError(t, err)
				if !c.bare {
					c.stored = heavy(c.stored)
				}
				assert.Equal(t, c.stored, stored.Fields())
			})
		})
	}
}

// What fn has not read of a large hash may be older for the next in line. If that one
// goes by it, it sees what there is before it is answered, whether it writes or not.
func TestLargeHashNextInLine(t *testing.T) {
	for name, c := range map[string]struct {
		fn     func(cur rmw.Value, b string) rmw.Value
		stored string
	}{
		"writes":         {func(cur rmw.Value, b string) rmw.Value { return cur.With("b", b+"+") }, "9+"},
		"writes nothing": {func(cur rmw.Value, _ string) rmw.Value { return cur }, "9"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t, lockupdate.Config{})
				key := rmw.Key{Name: "h", Kind: rmw.KindHash}
				_, err := f.store.Update(t.Context(), key, to(rmw.Hash(heavy(map[string]string{"a": "1", "b": "1"}))))
				require.NoError(t, err)
				var seen []string
				err = f.store.WithLock(t.Context(), "h", func(ctx context.Context) error {
					_, err := f.store.Update(ctx, key, func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
						require.NoError(t, f.direct().HSet(ctx, "h", "b", "9").Err())
						return cur.With("a", "2"), nil
					})
					require.NoError(t, err)
					res, err := f.store.Update(ctx, key, func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
						b, _ := cur.Field("b")
						seen = append(seen, b)
						return c.fn(cur, b), nil
					})
					if err == nil {
						b, _ := res.After.Field("b")
						assert.Equal(t, c.stored, b)
					}
					return err
				})
				require.NoError(t, err)
				assert.Equal(t, "9", seen[len(seen)-1])
				v, err := f.store.Read(t.Context(), key)
				require.NoError(t, err)
				assert.Equal(t, heavy(map[string]string{"a": "2", "b": c.stored}), v.Fields())
			})
		})
	}
}

// The same for who comes into the line after somebody has changed what is not read, and
// before that is committed beside which it was not read.
func TestLargeHashInLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, lockupdate.Config{})
		key := rmw.Key{Name: "h", Kind: rmw.KindHash}
		_, err := f.store.Update(t.Context(), key, to(rmw.Hash(heavy(map[string]string{"a": "1", "b": "1"}))))
		require.NoError(t, err)
		f.settle()
		var next sync.WaitGroup
		seen, once := "", sync.Once{}
		_, err = f.store.Update(t.Context(), key, func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
			once.Do(func() {
				assert.NoError(t, f.direct().HSet(ctx, "h", "b", "9").Err())
				next.Go(func() {
					_, err := f.store.Update(t.Context(), key, func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
						seen, _ = cur.Field("b")
						time.Sleep(10 * time.Millisecond) // it is not waited for: the first is committed without it
						return cur, nil
					})
					assert.NoError(t, err)
				})
				synctest.Wait() // until it is in line
			})
			return cur.With("a", "2"), nil
		})
		require.NoError(t, err)
		next.Wait()
		assert.Equal(t, "9", seen)
	})
}

// Who outlasts the tenure may have been given what another made of the hash, whose commit
// was refused since. That was never stored, and no answer may show it.
func TestLargeHashAdrift(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, lockupdate.Config{})
		key := rmw.Key{Name: "h", Kind: rmw.KindHash}
		_, err := f.store.Update(t.Context(), key, to(rmw.Hash(heavy(map[string]string{"a": "1", "b": "1"}))))
		require.NoError(t, err)
		f.settle()
		var next sync.WaitGroup
		once, calls := sync.Once{}, 0
		_, err = f.store.Update(t.Context(), key, func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
			a, _ := cur.Field("a")
			once.Do(func() {
				assert.NoError(t, f.direct().HSet(ctx, "h", "a", "9").Err())
				next.Go(func() {
					_, err := f.store.Update(t.Context(), key, func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
						b, _ := cur.Field("b")
						if calls++; calls == 1 {
							time.Sleep(3 * time.Minute) // longer than anybody may hold the lock
						}
						return cur.With("b", b+"+"), nil
					})
					assert.ErrorIs(t, err, rmw.ErrLockLost, "a was 1, 9 and 9+, and never 1+, as it was given")
				})
				synctest.Wait() // until it is in line
			})
			return cur.With("a", a+"+"), nil
		})
		require.NoError(t, err)
		next.Wait()
		v, err := f.store.Read(t.Context(), key)
		require.NoError(t, err)
		assert.Equal(t, heavy(map[string]string{"a": "9+", "b": "1"}), v.Fields())
	})
}
