package proxytest_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
)

// TTL and EXPIRETIME are rounded to the nearest second, also in a transaction and by a replica.
func TestSecondsAreRounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, cfg := range []proxytest.Config{
			{InMemory: true}, {InMemory: true, ReplicaLag: time.Nanosecond},
			{InMemory: true, Profile: proxycompat.Redis()},
		} {
			p, rdb := start(t, cfg)
			for ms, seconds := range map[int]int{1900: 2, 1510: 2, 1490: 1, 2000: 2, 510: 1, 490: 0} {
				require.NoError(t, rdb.Set(background, "k", "v", time.Duration(ms)*time.Millisecond).Err())
				time.Sleep(2 * time.Nanosecond) // to the replica
				synctest.Wait()
				assert.EqualValues(t, seconds, rdb.Do(background, "ttl", "k").Val(), "PTTL %d", ms)
				at := time.Now().UnixMilli() + int64(ms)
				assert.EqualValues(t, (at+500)/1000, rdb.Do(background, "EXPIRETIME", "k").Val(), "PTTL %d", ms)
			}
			require.NoError(t, rdb.Set(background, "k", "v", 0).Err())
			time.Sleep(2 * time.Nanosecond)
			synctest.Wait()
			assert.EqualValues(t, -1, rdb.Do(background, "TTL", "k").Val())
			assert.EqualValues(t, -2, rdb.Do(background, "TTL", "none").Val())
			assert.Error(t, rdb.Do(background, "TTL").Err())
			require.NoError(t, p.Close())
		}
		p, rdb := start(t, proxytest.Config{InMemory: true, Profile: proxycompat.Redis()})
		cmds, err := rdb.TxPipelined(background, func(tx redis.Pipeliner) error {
			tx.Set(background, "k", "v", 1900*time.Millisecond)
			return tx.Do(background, "TTL", "k").Err()
		})
		require.NoError(t, err)
		assert.EqualValues(t, 2, cmds[1].(*redis.Cmd).Val())
		require.NoError(t, p.Close())
	})
}
