package lockupdate_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
)

const lock = "/lock/"

// assertJustBefore allows for a tick of the timing wheel.
func assertJustBefore(t *testing.T, want, got time.Duration) {
	t.Helper()
	assert.LessOrEqual(t, got, want)
	assert.GreaterOrEqual(t, got, want-10*time.Millisecond)
}

type fullError struct{ room string }

func (e fullError) Error() string { return e.room + " is full" }

// lostBy runs an update that loses its lease by loseLease. It returns when and why the ctx of fn
// ended.
func lostBy(t *testing.T, cfg lockupdate.Config, loseLease func(f *fixture)) (after time.Duration, cause error) {
	t.Helper()
	f, key := warmFixture(t, cfg)
	_, err := f.store.Update(t.Context(), key, func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
		loseLease(f)
		began := time.Now()
		<-ctx.Done()
		after, cause = time.Since(began), context.Cause(ctx)
		return cur, fmt.Errorf("%w: %w", fullError{"7"}, ctx.Err())
	})
	require.ErrorIs(t, err, rmw.ErrLockLost)
	var full fullError
	require.ErrorAs(t, err, &full)
	assert.NotErrorIs(t, err, context.Canceled, "the caller's ctx has not ended")
	assert.True(t, rmw.Retryable(err))
	var e *rmw.Error
	require.ErrorAs(t, err, &e)
	assert.Equal(t, "lockupdate", e.Path)
	assert.Equal(t, "www", f.text(key), "nothing was written")
	return after, cause
}

// A lease that cannot be renewed counts as lost at nine tenths, before it ends on the server.
func TestFailedRenewalsEndCtx(t *testing.T) {
	for name, action := range map[string]proxytest.Fault{
		"hangs":         {Action: proxytest.HangRequest},
		"cut":           {Action: proxytest.DropRequest},
		"error replies": {Action: proxytest.RefuseWith, Text: "ERR handle response, backend conn reset"},
	} {
		bubble(t, name, func(t *testing.T) {
			after, cause := lostBy(t, lockupdate.Config{Lease: 10 * time.Second}, func(f *fixture) {
				action.Match, action.Times = isScript("renew"), -1
				f.proxy.Inject(action)
			})
			assert.ErrorIs(t, cause, rmw.ErrLockLost)
			assertJustBefore(t, 9*time.Second, after)
		})
	}
}

// MaxHold ends the ctx of an fn that hangs.
func TestMaxHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		after, cause := lostBy(t, lockupdate.Config{Lease: 10 * time.Second, MaxHold: 42 * time.Second}, func(*fixture) {})
		assert.ErrorContains(t, cause, "MaxHold")
		assertJustBefore(t, 42*time.Second, after)
	})
}

// An fn that returns after MaxHold is committed under the guard, if no other writer changed the
// value.
func TestFnThatIgnoresMaxHold(t *testing.T) {
	withFixture(t, lockupdate.Config{MaxHold: 600 * time.Millisecond}, func(t *testing.T, f *fixture) {
		key := rmw.Key{Name: "s"}
		res, err := f.store.Update(t.Context(), key, func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
			time.Sleep(1500 * time.Millisecond)
			require.ErrorIs(t, context.Cause(ctx), rmw.ErrLockLost)
			return appendText("x")(ctx, cur)
		})
		require.NoError(t, err)
		assert.Equal(t, 1, res.Attempts)
		assert.Equal(t, "x", f.text(key))
	})
}
