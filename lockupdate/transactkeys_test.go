package lockupdate_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/rmw"
)

// A key that cannot be taken fails the call that names it, and not those that wait with it.
func TestKeyThatCannotBeTaken(t *testing.T) {
	withFixture(t, lockupdate.Config{}, func(t *testing.T, f *fixture) {
		a, b, hash := rmw.Key{Name: "a"}, rmw.Key{Name: "b"}, rmw.Key{Name: "hash"}
		require.NoError(t, f.rdb.HSet(t.Context(), hash.Name, "f", "v").Err())
		inside, release := make(chan struct{}), make(chan struct{})
		first, good, bad := make(chan error, 1), make(chan error, 1), make(chan error, 1)
		transact := func(done chan<- error, fn rmw.TxFunc, keys ...rmw.Key) {
			go func() {
				_, err := f.store.Transact(t.Context(), keys, fn)
				done <- err
			}()
			synctest.Wait()
		}
		put := func(key rmw.Key) rmw.TxFunc {
			return func(_ context.Context, tx *rmw.Tx) error {
				tx.Put(key, rmw.String("1"))
				return nil
			}
		}
		transact(first, func(_ context.Context, tx *rmw.Tx) error {
			close(inside)
			<-release
			tx.Put(a, rmw.String("0"))
			return nil
		}, a, b)
		<-inside
		transact(bad, put(a), a, hash)
		transact(good, put(b), a, b)
		close(release)
		require.NoError(t, <-first)
		require.NoError(t, <-good)
		assert.True(t, errors.Is(<-bad, rmw.ErrWrongKind))
		assert.Equal(t, "0", f.text(a))
	})
}
