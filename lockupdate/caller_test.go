package lockupdate_test

import (
	"context"
	"errors"
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

// An Update of the same key from within fn is refused at once, with a reason.
func TestNestedUpdate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, lockupdate.Config{})
		key := rmw.Key{Name: "s"}
		_, err := f.store.Update(t.Context(), key, func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
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

// With a ctx that does not tell, it costs the outer call its lock, once.
func TestNestedUpdateWithAnotherCtx(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, lockupdate.Config{MaxHold: time.Minute})
		key := rmw.Key{Name: "s"}
		began := time.Now()
		_, err := f.store.Update(t.Context(), key, func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
			_, err := f.store.Update(t.Context(), key, appendText("inner"))
			require.NoError(t, err)
			return appendText("outer")(ctx, cur)
		})
		require.ErrorIs(t, err, rmw.ErrLockLost)
		assert.Less(t, time.Since(began), 2*time.Minute)
		assert.Equal(t, "inner", f.text(key))
	})
}

func TestNilFn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, lockupdate.Config{})
		_, err := f.store.Update(t.Context(), rmw.Key{Name: "s"}, nil)
		require.ErrorIs(t, err, rmw.ErrInvalid)
		assert.Empty(t, f.calls())
	})
}

// A key without a lock of its own would lose its value, or wait for itself.
func TestLockNamesThatCollide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		same := newFixture(t, lockupdate.Config{LockName: func(key string) string { return key }})
		_, err := same.store.Update(t.Context(), rmw.Key{Name: "s", Kind: rmw.KindHash}, setField("f", "v"))
		require.ErrorIs(t, err, rmw.ErrInvalid)
		f := newFixture(t, lockupdate.Config{})
		_, err = f.store.Update(t.Context(), rmw.Key{Name: "/lock/room"}, appendText("x"))
		require.ErrorIs(t, err, rmw.ErrInvalid)
		require.ErrorContains(t, err, "LockName")
	})
}

type fullError struct{ room string }

func (e fullError) Error() string { return e.room + " is full" }

// When fn gives up because its lease ended, its error stays recognisable, but does
// not say that the caller's ctx has ended.
func TestFnErrorAfterLostLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, lockupdate.Config{MaxHold: time.Second})
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

// The next update does not wait for the release of the last to land, which may hang:
// it takes over the lock that is still under the old name.
func TestOwnReleaseHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, lockupdate.Config{})
		key := rmw.Key{Name: "s"}
		f.warm(key)
		f.proxy.Inject(proxytest.Fault{Match: isScript("release"), Action: proxytest.HangRequest})
		_, err := f.store.Update(t.Context(), key, appendText("x"))
		require.NoError(t, err)
		began := time.Now()
		res, err := f.store.Update(t.Context(), key, appendText("y"))
		require.NoError(t, err)
		assert.Zero(t, time.Since(began))
		assert.Zero(t, res.Waited)
		assert.Equal(t, "wwwxy", f.text(key))
	})
}

// panicky is a client's hook with a bug.
type panicky struct{ script string }

func (h panicky) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h panicky) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if lockupdate.ScriptName(argsOf(cmd)) == h.script {
			panic("a bug in a hook")
		}
		return next(ctx, cmd)
	}
}

func (h panicky) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// A hook's panic ends neither the process nor the tenure: it is one more way in which
// a command can fail.
func TestPanicInAHook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, lockupdate.Config{})
		f.warm(rmw.Key{Name: "s"})
		f.rdb.AddHook(panicky{"commit_string"})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		_, err := f.store.Update(ctx, rmw.Key{Name: "s"}, appendText("x"))
		require.ErrorIs(t, err, rmw.ErrOutcomeUnknown)
		require.ErrorContains(t, err, "panicked: a bug in a hook")
	})
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, lockupdate.Config{})
		rdb := redis.NewClient(f.opts)
		defer func() { require.NoError(t, rdb.Close()) }()
		rdb.AddHook(panicky{"release"})
		s := lockupdate.New(rdb, lockupdate.Config{})
		_, err := s.Update(t.Context(), rmw.Key{Name: "s"}, appendText("x"))
		require.NoError(t, err)
		lockupdate.Settle(s)
		require.NoError(t, s.Close())
	})
}

// Every error that is not fn's own says which path failed at what.
func TestErrorsNameTheirPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, lockupdate.Config{MaxWait: time.Second})
		key := rmw.Key{Name: "s"}
		f.taken(key, 0)
		_, err := f.store.Update(t.Context(), key, appendText("x"))
		var e *rmw.Error
		require.True(t, errors.As(err, &e))
		assert.Equal(t, "acquire", e.Op)
		assert.Equal(t, "s", e.Key)
	})
}

// … also one who stands behind a section, which has another name for it.
func TestErrorsNameTheirPlaceInALine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, lockupdate.Config{})
		key := rmw.Key{Name: "s"}
		f.warm(key)
		f.taken(key, 0)
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
