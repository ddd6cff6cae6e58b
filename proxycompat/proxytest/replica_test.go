package proxytest_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/proxycompat/proxytest"
)

// A stale replica answers read-only commands; the master answers all others, scripts included. Observed
// with Codis: SET … NX returned OK, and GET nil.
func TestReplicaLag(t *testing.T) {
	const lag = 100 * time.Millisecond
	synctest.Test(t, func(t *testing.T) {
		p, rdb := start(t, proxytest.Config{InMemory: true, ReplicaLag: lag})
		get := "return redis.call('GET', KEYS[1])"
		require.NoError(t, rdb.SetNX(background, "k", "1", time.Minute).Err())
		require.ErrorIs(t, rdb.Get(background, "k").Err(), redis.Nil)
		assert.EqualValues(t, -2, rdb.PTTL(background, "k").Val())
		assert.Equal(t, "1", rdb.Eval(background, get, []string{"k"}).Val())
		time.Sleep(lag / 2)
		require.NoError(t, rdb.Set(background, "k", "2", redis.KeepTTL).Err())
		time.Sleep(lag/2 + time.Millisecond)
		assert.Equal(t, "1", rdb.Get(background, "k").Val(), "what it was then")
		assert.Greater(t, rdb.PTTL(background, "k").Val(), 50*time.Second)
		time.Sleep(lag)
		assert.Equal(t, "2", rdb.Get(background, "k").Val())

		for command, want := range map[string]string{ // and all kinds of values
			"HSET h a 1 b 2": "HGET h b", "RPUSH l x y": "LINDEX l 1", "SADD s m": "SISMEMBER s m", "ZADD z 1.5 m": "ZSCORE z m",
		} {
			require.NoError(t, rdb.Do(background, words(command)...).Err())
			now := rdb.Do(background, words(want)...).Val()
			time.Sleep(lag + time.Millisecond)
			assert.NotEqual(t, now, rdb.Do(background, words(want)...).Val(), want)
		}
		require.NoError(t, rdb.Del(background, "k", "h").Err())
		assert.EqualValues(t, 2, rdb.Exists(background, "k", "h").Val())
		time.Sleep(lag + time.Millisecond)
		assert.EqualValues(t, 0, rdb.Exists(background, "k", "h").Val())

		for command, write := range map[string]string{ // read-only to Redis, but answered by the master
			"HSCAN fresh 0": "HSET fresh f v", "SSCAN members 0": "SADD members m",
			"ZSCAN scores 0": "ZADD scores 1 m", "TOUCH text": "SET text v",
		} {
			before := rdb.Do(background, words(command)...).Val()
			require.NoError(t, rdb.Do(background, words(write)...).Err())
			assert.NotEqual(t, before, rdb.Do(background, words(command)...).Val(), command)
		}

		calm := redis.NewClient(p.CalmOptions())
		defer calm.Close()
		require.NoError(t, rdb.Set(background, "k", "3", 0).Err())
		assert.Equal(t, "3", calm.Get(background, "k").Val())
	})
}

func words(command string) []any {
	var out []any
	for w := range strings.FieldsSeq(command) {
		out = append(out, w)
	}
	return out
}
