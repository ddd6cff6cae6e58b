package lockupdate_test

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/testing/long"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/rmw"
)

// A dial that times out returns context.DeadlineExceeded, although no ctx has ended. The call fails
// with rmw.ErrUnavailable, and is retryable.
func TestLongDialTimeout(t *testing.T) {
	long.Only(t)
	rdb := redis.NewClient(&redis.Options{
		Addr: "127.0.0.1:1", DialerRetries: 1, MaxRetries: -1,
		Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
			return (&net.Dialer{Timeout: time.Nanosecond}).DialContext(ctx, network, addr)
		},
	})
	defer func() { require.NoError(t, rdb.Close()) }()
	store := lockupdate.New(rdb, lockupdate.Config{})
	_, err := store.Read(t.Context(), rmw.Key{Name: "k"})
	require.ErrorIs(t, err, rmw.ErrUnavailable)
	require.True(t, rmw.Retryable(err))
	_, err = store.Update(t.Context(), rmw.Key{Name: "k"}, appendText("x"))
	require.ErrorIs(t, err, rmw.ErrUnavailable)
	require.True(t, rmw.Retryable(err))
	require.NoError(t, store.Close())
}
