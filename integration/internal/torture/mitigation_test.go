package torture

import (
	"context"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/testing/servers"
	"github.com/unwatch/unwatch/rmw"
)

// replicated returns a primary with a replica: a client with one connection, and an observer.
func replicated(t *testing.T) (rdb single, admin *redis.Client) {
	primary := servers.Redis(t, "--repl-diskless-sync-delay", "0")
	host, port, err := net.SplitHostPort(primary.Addr)
	require.NoError(t, err)
	servers.Redis(t, "--replicaof", host+" "+port)
	admin = redis.NewClient(&redis.Options{Addr: primary.Addr, PoolSize: 1, ReadTimeout: time.Minute})
	t.Cleanup(func() { assert.NoError(t, admin.Close()) })
	require.NoError(t, admin.Set(t.Context(), "first", "1", 0).Err())
	n, err := admin.Wait(t.Context(), 1, 30*time.Second).Result()
	require.NoError(t, err)
	require.EqualValues(t, 1, n)

	rdb.made = &atomic.Int64{}
	opts := &redis.Options{Addr: primary.Addr, OnConnect: counting(rdb.made), ReadTimeout: 2 * time.Minute}
	limitToOne(&opts.PoolSize, &opts.MaxActiveConns, &opts.PipelinePoolSize)
	rdb.UniversalClient = redis.NewClient(opts)
	t.Cleanup(func() { assert.NoError(t, rdb.Close()) })
	return rdb, admin
}

func appending(ctx context.Context, s *waiting, key string) error {
	_, err := s.Update(ctx, rmw.Key{Name: key}, func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
		return rmw.String(cur.Text() + "x"), nil
	})
	return err
}

// WAIT covers the writes of its own connection, so it has to use the connection of the commit, despite
// other users of the client and the pipelines of renewals.
func TestWaitGoesOverTheConnectionThatWrote(t *testing.T) {
	t.Parallel()
	rdb, admin := replicated(t)
	id, err := rdb.Do(t.Context(), "CLIENT", "ID").Int64()
	require.NoError(t, err)
	before := connectionsOf(t, admin)
	store := newWaiting(rdb, 1, time.Minute)
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			for range 20 {
				assert.NoError(t, appending(t.Context(), store, "key-"+strconv.Itoa(i%2)))
			}
		})
	}
	all.Wait()
	again, err := rdb.Do(t.Context(), "CLIENT", "ID").Int64()
	require.NoError(t, err)
	assert.Equal(t, id, again)
	assert.Equal(t, before, connectionsOf(t, admin), "the server has seen no other connection")
	assert.EqualValues(t, 1, rdb.made.Load())
	require.NoError(t, store.Close())
}

// connectionsOf returns the number of connections that a server has ever accepted.
func connectionsOf(t *testing.T, admin *redis.Client) string {
	info, err := admin.InfoMap(t.Context(), "stats").Result()
	require.NoError(t, err)
	n := info["Stats"]["total_connections_received"]
	require.NotEmpty(t, n)
	return n
}

// If the connection ends between the commit and WAIT, WAIT proves nothing: on the next connection it
// returns at once.
func TestWaitOverAnotherConnectionProvesNothing(t *testing.T) {
	t.Parallel()
	rdb, admin := replicated(t)
	store := newWaiting(rdb, 1, time.Minute)
	require.NoError(t, appending(t.Context(), store, "key"))
	rdb.UniversalClient.(*redis.Client).AddHook(killing{admin})
	assert.ErrorIs(t, appending(t.Context(), store, "key"), rmw.ErrOutcomeUnknown)
	assert.EqualValues(t, 2, rdb.made.Load())

	n, err := admin.Wait(t.Context(), 2, time.Millisecond).Result()
	require.NoError(t, err)
	assert.EqualValues(t, 1, n)
	assert.ErrorIs(t, appending(t.Context(), newWaiting(rdb, 2, time.Millisecond), "key"), rmw.ErrOutcomeUnknown, "one replica is not two")
	require.NoError(t, store.Close())
}

// killing closes all other connections before each WAIT.
type killing struct{ admin *redis.Client }

func (k killing) DialHook(next redis.DialHook) redis.DialHook { return next }

func (k killing) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (k killing) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if cmd.Name() == "wait" {
			if err := k.admin.Do(ctx, "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes").Err(); err != nil {
				return err
			}
		}
		return next(ctx, cmd)
	}
}
