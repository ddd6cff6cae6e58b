package proxytest

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/proxycompat"
)

// The replica reads its master over one connection. If that fails, as after a restart of the server, it
// follows the next writes over a new one.
func TestReplicaFollowsOverANewLink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, err := Start(Config{InMemory: true, Profile: proxycompat.Codis32(), ReplicaLag: time.Millisecond})
		require.NoError(t, err)
		defer func() { assert.NoError(t, p.Close()) }()
		rdb := redis.NewClient(p.Options())
		defer func() { assert.NoError(t, rdb.Close()) }()
		for _, value := range []string{"1", "2"} {
			require.NoError(t, rdb.Set(t.Context(), "k", value, 0).Err())
			time.Sleep(2 * time.Millisecond)
			assert.Equal(t, value, rdb.Get(t.Context(), "k").Val())
			p.backends[0].replica.master.cut()
		}
	})
}
