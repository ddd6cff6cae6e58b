package lockupdate_test

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/testing/long"
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
	for stored, fn := range map[string]func(cur rmw.Value, b string) rmw.Value{
		"9+": func(cur rmw.Value, b string) rmw.Value { return cur.With("b", b+"+") },
		"9":  func(cur rmw.Value, _ string) rmw.Value { return cur },
	} {
		withLargeHash(t, func(t *testing.T, f *fixture) {
			var seen string
			require.NoError(t, f.store.WithLock(t.Context(), "h", func(ctx context.Context) error {
				_, err := f.store.Update(ctx, hashKey, func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
					return cur.With("a", "2"), f.direct().HSet(ctx, "h", "b", "9").Err()
				})
				require.NoError(t, err)
				res, err := f.store.Update(ctx, hashKey, func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
					seen, _ = cur.Field("b")
					return fn(cur, seen), nil
				})
				b, _ := res.After.Field("b")
				assert.Equal(t, stored, b)
				return err
			}))
			assert.Equal(t, "9", seen)
			assert.Equal(t, withBallast(map[string]string{"a": "2", "b": stored}), f.value(hashKey).Fields())
		})
	}
}

// The same for a call that is queued after a foreign write of an unread field, and before the
// commit that ignores it.
func TestLargeHashQueuedCallSeesForeignWrite(t *testing.T) {
	withLargeHash(t, func(t *testing.T, f *fixture) {
		var next *pendingCall
		var seen string
		f.update(hashKey, duringFirstCall(func() {
			assert.NoError(t, f.direct().HSet(t.Context(), "h", "b", "9").Err())
			next = start(t.Context(), f.store, hashKey, func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
				seen, _ = cur.Field("b")
				time.Sleep(10 * time.Millisecond) // the first call is committed meanwhile
				return cur, nil
			})
		}, setField("a", "2")))
		succeed(t, next)
		assert.Equal(t, "9", seen)
	})
}

// An fn that outlives its holder may have run on the result of a call whose commit was refused.
// That value was never stored, so no result may be based on it.
func TestLargeHashOrphanedCall(t *testing.T) {
	withLargeHash(t, func(t *testing.T, f *fixture) {
		add := func(field string) rmw.UpdateFunc {
			return func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
				value, _ := cur.Field(field)
				return cur.With(field, value+"+"), nil
			}
		}
		var next *pendingCall
		f.update(hashKey, func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
			sum, err := add("a")(ctx, cur)
			if next == nil {
				assert.NoError(t, f.direct().HSet(ctx, "h", "a", "9").Err())
				outlive := func() { time.Sleep(3 * time.Minute) } // longer than MaxHold
				next = start(t.Context(), f.store, hashKey, duringFirstCall(outlive, add("b")))
			}
			return sum, err
		})
		<-next.done
		require.ErrorIs(t, next.err, rmw.ErrLockLost, "a was 1, 9 and 9+. fn ran on 1+, which was never stored.")
		assert.Equal(t, withBallast(map[string]string{"a": "9+", "b": "1"}), f.value(hashKey).Fields())
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
	withFixture(t, lockupdate.Config{}, func(t *testing.T, f *fixture) {
		f.update(hashKey, returning(rmw.Hash(withBallast(map[string]string{"a": "1", "b": "1"}))))
		f.settle()
		test(t, f)
	})
}
