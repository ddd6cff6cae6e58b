package lockupdate_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
)

// An Update of the same key within fn is refused at once, with a reason, also within WithLock.
func TestNestedUpdate(t *testing.T) {
	for name, do := range ways {
		bubble(t, name, func(t *testing.T) {
			f := newFixture(t, lockupdate.Config{})
			key := rmw.Key{Name: "s"}
			_, err := do(t.Context(), f.store, key, func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
				_, err := f.store.Update(ctx, key, appendText("inner"))
				require.ErrorIs(t, err, rmw.ErrInvalid)
				require.ErrorContains(t, err, "wait for itself")
				_, err = f.store.Update(ctx, rmw.Key{Name: "another"}, appendText("fine"))
				require.NoError(t, err)
				return rmw.String("outer"), nil
			})
			require.NoError(t, err)
			assert.Equal(t, "outer", f.text(key))
		})
	}
}

// With a foreign ctx, the nested Update is not detected: it waits until the outer one loses its
// lock.
func TestNestedUpdateWithAnotherCtx(t *testing.T) {
	withFixture(t, lockupdate.Config{MaxHold: time.Minute}, func(t *testing.T, f *fixture) {
		key := rmw.Key{Name: "s"}
		began := time.Now()
		_, err := f.store.Update(t.Context(), key, func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
			f.update(key, appendText("inner"))
			return appendText("outer")(ctx, cur)
		})
		require.ErrorIs(t, err, rmw.ErrLockLost)
		assert.Less(t, time.Since(began), 2*time.Minute)
		assert.Equal(t, "inner", f.text(key))
	})
}

// A key must not be its own lock, nor look like a lock.
func TestCollidingLockNamesAreRefused(t *testing.T) {
	same := func(key string) string { return key }
	for name, lockName := range map[string]func(string) string{"s": same, "/lock/k": nil, "/fence/lock/k": nil, "/wait/lock/k": nil} {
		s := lockupdate.New(redis.NewClient(&redis.Options{}), lockupdate.Config{LockName: lockName})
		_, err := s.Update(t.Context(), rmw.Key{Name: name}, keep)
		require.ErrorIs(t, err, rmw.ErrInvalid, name)
		require.ErrorContains(t, err, "LockName", name)
		require.NoError(t, s.Close())
	}
}

// An Update that is queued behind a WithLock reports its own operation.
func TestErrorsOfQueuedCallsNameTheirOp(t *testing.T) {
	withKey(t, lockupdate.Config{}, func(t *testing.T, f *fixture, key rmw.Key) {
		f.takeAsOther(key, 0)
		errs := make(chan error, 2)
		go func() { errs <- f.store.WithLock(t.Context(), "s", nothing) }()
		synctest.Wait()
		go func() {
			_, err := f.store.Update(t.Context(), key, appendText("x"))
			errs <- err
		}()
		synctest.Wait()
		f.proxy.Inject(proxytest.Fault{Match: isScript("acquire"), Action: proxytest.RefuseWith, Text: "LOADING"})
		ops := map[string]bool{}
		for range 2 {
			var e *rmw.Error
			require.ErrorAs(t, <-errs, &e)
			ops[e.Op] = true
		}
		assert.Equal(t, map[string]bool{"lock": true, "acquire": true}, ops)
	})
}
