package lockupdate_test

import (
	"context"
	"fmt"
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

type fullError struct{ room string }

func (e fullError) Error() string { return e.room + " is full" }

// If fn fails because its lease ended, its error is wrapped in rmw.ErrLockLost, without
// context.Canceled: the caller's ctx has not ended.
func TestFnErrorAfterLostLock(t *testing.T) {
	withFixture(t, lockupdate.Config{MaxHold: time.Second}, func(t *testing.T, f *fixture) {
		_, err := f.store.Update(t.Context(), rmw.Key{Name: "s"}, func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
			<-ctx.Done()
			return cur, fmt.Errorf("%w: %w", fullError{"7"}, ctx.Err())
		})
		require.ErrorIs(t, err, rmw.ErrLockLost)
		require.NotErrorIs(t, err, context.Canceled)
		var full fullError
		require.ErrorAs(t, err, &full)
		assert.True(t, rmw.Retryable(err))
	})
}

// The next update does not wait for a release in flight, which may hang. It takes the lock over.
func TestOwnReleaseHangs(t *testing.T) {
	withKey(t, lockupdate.Config{}, func(t *testing.T, f *fixture, key rmw.Key) {
		f.proxy.Inject(proxytest.Fault{Match: isScript("release"), Action: proxytest.HangRequest})
		f.update(key, appendText("x"))
		began := time.Now()
		res := f.update(key, appendText("y"))
		assert.Zero(t, time.Since(began))
		assert.Zero(t, res.Waited)
		assert.Equal(t, "wwwxy", f.text(key))
	})
}

// panics is a hook that panics when it sees one script.
func panics(script string) hook {
	return before(func(cmd redis.Cmder) {
		if lockupdate.ScriptName(argsOf(cmd)) == script {
			panic("a bug in a hook")
		}
	})
}

// The panic of a hook fails its command, and nothing else.
func TestPanicInAHook(t *testing.T) {
	withFixture(t, lockupdate.Config{}, func(t *testing.T, f *fixture) {
		f.warm(rmw.Key{Name: "s"})
		f.rdb.AddHook(panics("commit_string"))
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		_, err := f.store.Update(ctx, rmw.Key{Name: "s"}, appendText("x"))
		require.ErrorIs(t, err, rmw.ErrOutcomeUnknown)
		require.ErrorContains(t, err, "panicked: a bug in a hook")
	})
	withFixture(t, lockupdate.Config{}, func(t *testing.T, f *fixture) {
		rdb := redis.NewClient(f.opts)
		defer func() { require.NoError(t, rdb.Close()) }()
		rdb.AddHook(panics("release"))
		s := lockupdate.New(rdb, lockupdate.Config{})
		_, err := s.Update(t.Context(), rmw.Key{Name: "s"}, appendText("x"))
		require.NoError(t, err)
		lockupdate.Settle(s)
		require.NoError(t, s.Close())
	})
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
