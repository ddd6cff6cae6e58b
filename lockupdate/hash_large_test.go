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

// ballast makes a hash so large that commits send only the fields that fn uses.
var ballast = strings.Repeat("x", 64<<10)

func withBallast(fields map[string]string) map[string]string {
	fields["ballast"] = ballast
	return fields
}

// The next call may run on old values of fields that the fn before it did not read. If it reads one
// of them, it is validated before it returns.
func TestLargeHashNextCallSeesForeignWrite(t *testing.T) {
	for name, c := range map[string]struct {
		fn     func(cur rmw.Value, b string) rmw.Value
		stored string
	}{
		"writes":         {func(cur rmw.Value, b string) rmw.Value { return cur.With("b", b+"+") }, "9+"},
		"writes nothing": {func(cur rmw.Value, _ string) rmw.Value { return cur }, "9"},
	} {
		bubble(t, name, func(t *testing.T) {
			f := newFixture(t, lockupdate.Config{})
			key := rmw.Key{Name: "h", Kind: rmw.KindHash}
			f.update(key, returning(rmw.Hash(withBallast(map[string]string{"a": "1", "b": "1"}))))
			var seen []string
			err := f.store.WithLock(t.Context(), "h", func(ctx context.Context) error {
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
			assert.Equal(t, withBallast(map[string]string{"a": "2", "b": c.stored}), v.Fields())
		})
	}
}

// The same for a call that is queued after a foreign write of an unread field, and before the
// commit that ignores it.
func TestLargeHashQueuedCallSeesForeignWrite(t *testing.T) {
	withFixture(t, lockupdate.Config{}, func(t *testing.T, f *fixture) {
		key := rmw.Key{Name: "h", Kind: rmw.KindHash}
		f.update(key, returning(rmw.Hash(withBallast(map[string]string{"a": "1", "b": "1"}))))
		f.settle()
		var next sync.WaitGroup
		seen, once := "", sync.Once{}
		_, err := f.store.Update(t.Context(), key, func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
			once.Do(func() {
				assert.NoError(t, f.direct().HSet(ctx, "h", "b", "9").Err())
				next.Go(func() {
					_, err := f.store.Update(t.Context(), key, func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
						seen, _ = cur.Field("b")
						time.Sleep(10 * time.Millisecond) // the first call is committed meanwhile
						return cur, nil
					})
					assert.NoError(t, err)
				})
				synctest.Wait() // until it is queued
			})
			return cur.With("a", "2"), nil
		})
		require.NoError(t, err)
		next.Wait()
		assert.Equal(t, "9", seen)
	})
}

// An fn that outlives its holder may have run on the result of a call whose commit was refused.
// That value was never stored, so no result may be based on it.
func TestLargeHashOrphanedCall(t *testing.T) {
	withFixture(t, lockupdate.Config{}, func(t *testing.T, f *fixture) {
		key := rmw.Key{Name: "h", Kind: rmw.KindHash}
		f.update(key, returning(rmw.Hash(withBallast(map[string]string{"a": "1", "b": "1"}))))
		f.settle()
		var next sync.WaitGroup
		once, calls := sync.Once{}, 0
		_, err := f.store.Update(t.Context(), key, func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
			a, _ := cur.Field("a")
			once.Do(func() {
				assert.NoError(t, f.direct().HSet(ctx, "h", "a", "9").Err())
				next.Go(func() {
					_, err := f.store.Update(t.Context(), key, func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
						b, _ := cur.Field("b")
						if calls++; calls == 1 {
							time.Sleep(3 * time.Minute) // longer than MaxHold
						}
						return cur.With("b", b+"+"), nil
					})
					assert.ErrorIs(t, err, rmw.ErrLockLost, "a was 1, 9 and 9+. fn ran on 1+, which was never stored.")
				})
				synctest.Wait() // until it is queued
			})
			return cur.With("a", a+"+"), nil
		})
		require.NoError(t, err)
		next.Wait()
		v, err := f.store.Read(t.Context(), key)
		require.NoError(t, err)
		assert.Equal(t, withBallast(map[string]string{"a": "9+", "b": "1"}), v.Fields())
	})
}
