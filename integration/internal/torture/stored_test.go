package torture

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/proxycompat/proxytest"
)

// A lock that is released between TYPE and PTTL has the PTTL -2: it is absent, not without expiry.
func TestStoredKeyEndsWhileItIsRead(t *testing.T) {
	for _, command := range []string{"type", "pttl"} {
		server, err := proxytest.Start(proxytest.Config{Engines: 1})
		require.NoError(t, err)
		defer server.Close()
		rdb := redis.NewClient(server.Options())
		defer func() { assert.NoError(t, rdb.Close()) }()
		require.NoError(t, rdb.HSet(t.Context(), "/lock/a", "owner", 1).Err())
		require.NoError(t, rdb.Expire(t.Context(), "/lock/a", time.Minute).Err())
		rdb.AddHook(deleteAfter(command))

		all := &stored{text: map[string]string{}, hash: map[string]map[string]string{}, ttl: map[string]time.Duration{}}
		require.NoError(t, all.add(t.Context(), rdb, "/lock/a"))
		assert.Empty(t, all.immortal(), "deleted after %s", command)
	}
}

// deleteAfter deletes /lock/a after the command of that name.
type deleteAfter string

func (d deleteAfter) DialHook(next redis.DialHook) redis.DialHook { return next }

func (d deleteAfter) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if cmd.Name() == string(d) {
			err = errors.Join(err, next(ctx, redis.NewIntCmd(ctx, "del", "/lock/a")))
		}
		return err
	}
}

func (d deleteAfter) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}
