package cas_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/cas"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
)

func TestAClosedStoreRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, cas.Config{})
		f.warm()
		require.NoError(t, f.store.Close())
		require.NoError(t, f.store.Close(), "again")
		_, err := f.store.Read(t.Context(), rmw.Key{Name: "k"})
		require.ErrorIs(t, err, rmw.ErrClosed)
		_, _, err = f.store.Peek(t.Context(), rmw.Key{Name: "k"})
		require.ErrorIs(t, err, rmw.ErrClosed)
		_, err = f.store.Update(t.Context(), rmw.Key{Name: "k"}, func(context.Context, rmw.Value) (rmw.Value, error) {
			t.Error("fn was called")
			return rmw.Value{}, nil
		})
		require.ErrorIs(t, err, rmw.ErrClosed)
		assert.False(t, rmw.Retryable(err))
		assert.Empty(t, f.commands(), "nothing is sent")
		require.NoError(t, f.rdb.Ping(t.Context()).Err(), "the client is not the Store's to close")
	})
}

// A call that was given up still has a command on its way: Close waits for it, so
// that the client may be closed after it.
func TestCloseWaitsForWhatCallsLeftBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, cas.Config{})
		f.warm()
		f.proxy.Inject(proxytest.Fault{Command: "GET", Action: proxytest.Delay, Delay: 3 * time.Second, Times: -1})
		for _, call := range []func(ctx context.Context) error{
			func(ctx context.Context) error { _, err := f.store.Read(ctx, rmw.Key{Name: "k"}); return err },
			func(ctx context.Context) error {
				_, err := f.store.Update(ctx, rmw.Key{Name: "k"}, appendText("x"))
				return err
			},
		} {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			began := time.Now()
			err := call(ctx)
			cancel()
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.NotErrorIs(t, err, rmw.ErrOutcomeUnknown)
			assert.Equal(t, time.Second, time.Since(began), "the caller is let go at once")
		}
		began := time.Now()
		require.NoError(t, f.store.Close())
		assert.Equal(t, 2*time.Second, time.Since(began), "until the last GET is answered, and its key unwatched")
		commands := f.commands()
		assert.Equal(t, "UNWATCH", commands[len(commands)-1])
	})
}
