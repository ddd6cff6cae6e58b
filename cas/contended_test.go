package cas_test

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/cas"
	"github.com/unwatch/unwatch/rmw"
)

func TestMaxAttemptsEndsInErrContended(t *testing.T) {
	for _, attempts := range []int{1, 5} {
		t.Run(strconv.Itoa(attempts), withFixture(cas.Config{MaxAttempts: attempts}, func(t *testing.T, f *fixture) {
			calls := 0
			res, err := f.store.Update(t.Context(), key, f.behindItsBack(func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
				calls++
				return appendText("mine,")(ctx, cur)
			}))
			require.ErrorIs(t, err, rmw.ErrContended)
			assert.True(t, rmw.Retryable(err))
			assert.Equal(t, attempts, calls)
			var e *rmw.Error
			require.ErrorAs(t, err, &e)
			assert.Equal(t, attempts, e.Attempts)
			assert.Equal(t, rmw.Result{Attempts: attempts, Waited: res.Waited}, res)
			assert.NotContains(t, f.text(), "mine", "nothing was written")
		}))
	}
}

// With fake time the whole wait, and nothing but the wait, is what passes.
func TestResultWaitedIsTheBackoff(t *testing.T) {
	backoff := rmw.Backoff{Base: time.Second, Max: time.Minute}
	withFixture(cas.Config{MaxAttempts: 10, Backoff: backoff}, func(t *testing.T, f *fixture) {
		f.warm()
		calls := 0
		began := time.Now()
		res, err := f.store.Update(t.Context(), key, func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
			if calls++; calls < 4 {
				f.set(time.Now().String())
			}
			return appendText("x")(ctx, cur)
		})
		require.NoError(t, err)
		assert.Equal(t, 4, res.Attempts)
		assert.Equal(t, time.Since(began), res.Waited)
		assert.Positive(t, res.Waited)
		assert.Less(t, res.Waited, (1+2+4)*time.Second)

		res, err = f.store.Update(t.Context(), key, appendText("x"))
		require.NoError(t, err)
		assert.Zero(t, res.Waited)
	})(t)
}

// A ctx that ends during a backoff ends the call, which tells both.
func TestCtxEndsTheBackoff(t *testing.T) {
	withFixture(cas.Config{Backoff: rmw.Backoff{Base: 1 << 60}}, func(t *testing.T, f *fixture) {
		f.warm()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		res, err := f.store.Update(ctx, key, f.behindItsBack(appendText("mine,")))
		require.ErrorIs(t, err, rmw.ErrContended)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.False(t, rmw.Retryable(err))
		assert.Equal(t, time.Second, time.Since(began))
		assert.Equal(t, rmw.Result{Attempts: 1, Waited: time.Second}, res)
	})(t)
}
