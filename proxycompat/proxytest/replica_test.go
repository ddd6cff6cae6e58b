package proxytest_test

import (
	"cmp"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
)

// A stale replica answers read-only commands; the master answers all others, scripts included. Observed
// with Codis: SET … NX returned OK, and GET nil.
func TestReplicaLag(t *testing.T) {
	const lag = 100 * time.Millisecond
	bubble(t, proxytest.Config{ReplicaLag: lag}, func(t *testing.T, p *proxytest.Proxy, _ *redis.Client) {
		w := dial(t, p)
		w.expect("SET k 1 NX EX 60", "+OK", "GET k", "$-1", "PTTL k", ":-2", "EVAL return(redis.call('GET',KEYS[1])) 1 k", "$1|1")
		time.Sleep(lag / 2)
		w.expect("SET k 2 KEEPTTL", "+OK")
		time.Sleep(lag/2 + time.Millisecond)
		w.expect("GET k", "$1|1", "TTL k", ":60") // what it was then
		time.Sleep(lag)
		w.expect("GET k", "$1|2")

		for _, c := range []struct{ write, read, want string }{ // and all kinds of values
			{"HSET h a 1 b 2", "HGET h b", "$1|2"}, {"RPUSH l x y", "LINDEX l 1", "$1|y"},
			{"SADD s m", "SISMEMBER s m", ":1"}, {"ZADD z 1.5 m", "ZSCORE z m", "$3|1.5"},
		} {
			w.ask(c.write)
			assert.NotEqual(t, c.want, w.ask(c.read), c.read)
			time.Sleep(lag + time.Millisecond)
			w.expect(c.read, c.want)
		}
		w.expect("DEL k h", ":2", "EXISTS k h", ":2")
		time.Sleep(lag + time.Millisecond)
		w.expect("EXISTS k h", ":0")

		// These are read-only to Redis, but answered by the master.
		w.expect("HSET fresh f v", ":1", "HSCAN fresh 0", "*2|$1|0|*2|$1|f|$1|v", "SET text v", "+OK", "TOUCH text", ":1",
			"SADD members m", ":1", "SSCAN members 0", "*2|$1|0|*1|$1|m", "ZADD scores 1 m", ":1", "ZSCAN scores 0", "*2|$1|0|*2|$1|m|$1|1")

		w.expect("SET k 3", "+OK")
		assert.Equal(t, "3", client(t, p.CalmOptions()).Get(background, "k").Val())
	})
}

// After the lag a replica equals its master, for every kind of change.
func TestReplicaFollows(t *testing.T) {
	const lag = 100 * time.Millisecond
	type change func(*testing.T, *proxytest.Proxy, *wire)
	move := func(method proxytest.Method) change {
		return func(t *testing.T, p *proxytest.Proxy, w *wire) {
			m := moveAway(t, p, method)
			w.expect("SET k 2", "+OK")
			require.NoError(t, m.Finish())
		}
	}
	ask := func(pairs ...string) change {
		return func(_ *testing.T, _ *proxytest.Proxy, w *wire) { w.expect(pairs...) }
	}
	for name, c := range map[string]struct {
		profile string
		do      change
		want    string
	}{
		"sync move":       {"codis", move(proxytest.Sync), "$1|2"},
		"semi-async move": {"codis", move(proxytest.SemiAsync), "$1|2"},
		"finished move":   {"codis", func(t *testing.T, p *proxytest.Proxy, _ *wire) { require.NoError(t, moveAway(t, p, 0).Finish()) }, "$1|1"},
		"asleep": {"codis", func(t *testing.T, p *proxytest.Proxy, w *wire) {
			p.Sleep(p.BackendOf("k"))
			assert.Contains(t, w.ask("SET k 2"), "-ERR")
			p.Wake(p.BackendOf("k"))
		}, "$1|2"},
		"transaction":      {"alibaba", ask("MULTI", "+OK", "SET k 2", "+QUEUED", "EXEC", "*1|+OK"), "$1|2"},
		"FLUSHALL":         {"alibaba", ask("FLUSHALL", "+OK"), "$-1"},
		"FLUSHDB":          {"alibaba", ask("FLUSHDB", "+OK"), "$-1"},
		"FLUSHALL refused": {"alibaba", ask("FLUSHALL NONSENSE", "-ERR syntax error"), "$1|1"},
		"pipeline": {"codis", func(_ *testing.T, _ *proxytest.Proxy, w *wire) {
			w.pipeline([]string{"SET k 3", "DEL k", "INCR k", "INCR k"}, "+OK", ":1", ":1", ":2")
		}, "$1|2"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := proxytest.Config{Engines: 2, ReplicaLag: lag, Profile: profile(t, c.profile), BackendTimeout: time.Millisecond}
			bubble(t, cfg, func(t *testing.T, p *proxytest.Proxy, _ *redis.Client) {
				w := dial(t, p)
				w.expect("SET k 1", "+OK")
				time.Sleep(2 * lag)
				w.expect("GET k", "$1|1")
				c.do(t, p, w)
				time.Sleep(2 * lag)
				w.expect("GET k", c.want)
				master := client(t, p.CalmOptions()).Get(background, "k").Val()
				assert.Equal(t, strings.TrimPrefix(c.want, "$1|"), cmp.Or(master, "$-1"))
			})
		})
	}
}

// Concurrent writers leave the same on both. A concurrent reader finds the key, with all or none of a
// command's changes.
func TestReplicaIsStale(t *testing.T) {
	p, rdb := start(t, proxytest.Config{InMemory: true, ReplicaLag: time.Millisecond})
	calm := client(t, p.CalmOptions())
	same := func(key string) func() bool {
		return func() bool { return rdb.Get(background, key).Val() == calm.Get(background, key).Val() }
	}
	for round := range 20 {
		key := fmt.Sprint("k", round)
		require.NoError(t, rdb.Set(background, key, "start", 0).Err())
		require.Eventually(t, same(key), 5*time.Second, time.Millisecond)
		var wg sync.WaitGroup
		for writer := range 4 {
			wg.Go(func() {
				for i := range 10 {
					assert.NoError(t, rdb.Set(background, key, fmt.Sprint(writer, i), time.Hour).Err())
				}
			})
		}
		wg.Go(func() {
			for range 50 {
				assert.NoError(t, rdb.Get(background, key).Err())
			}
		})
		wg.Wait()
		require.Eventually(t, same(key), 5*time.Second, time.Millisecond)
	}
}

// A key expires on the replica and the master at the same time, also if it arrived late.
func TestReplicaExpiry(t *testing.T) {
	const lag = time.Second
	bubble(t, proxytest.Config{ReplicaLag: lag}, func(t *testing.T, p *proxytest.Proxy, rdb *redis.Client) {
		calm := client(t, p.CalmOptions())
		require.NoError(t, rdb.Set(background, "k", "v", 2*lag).Err())
		require.NoError(t, rdb.Set(background, "short", "v", 0).Err())
		require.NoError(t, rdb.Set(background, "short", "w", lag/2).Err())
		time.Sleep(lag + lag/2)
		assert.Equal(t, lag/2, calm.PTTL(background, "k").Val())
		assert.Equal(t, lag/2, rdb.PTTL(background, "k").Val())
		require.ErrorIs(t, rdb.Get(background, "short").Err(), redis.Nil)
		time.Sleep(lag/2 + time.Millisecond)
		require.ErrorIs(t, rdb.Get(background, "k").Err(), redis.Nil)
	})
}

// A read-only command does not wait for a client that blocks on a key, and neither does a write to that
// key.
func TestReplicaBlocking(t *testing.T) {
	const lag = 100 * time.Millisecond
	bubble(t, proxytest.Config{ReplicaLag: lag, Profile: profile(t, "alibaba")}, func(t *testing.T, p *proxytest.Proxy, _ *redis.Client) {
		waiting, w := dial(t, p), dial(t, p)
		waiting.send("BLPOP l 3")
		synctest.Wait()
		w.expect("RPUSH l a b", ":2")
		assert.Equal(t, "*2|$1|l|$1|a", waiting.reply())
		time.Sleep(2 * lag)
		w.expect("LRANGE l 0 -1", "*1|$1|b")
	})
}

// TTL and EXPIRETIME are rounded to the nearest second, also in a transaction and by a replica.
func TestSecondsAreRounded(t *testing.T) {
	for _, cfg := range []proxytest.Config{{}, {ReplicaLag: time.Nanosecond}, {Profile: proxycompat.Redis()}} {
		bubble(t, cfg, func(t *testing.T, p *proxytest.Proxy, _ *redis.Client) {
			w := dial(t, p)
			set := func(expiry string) {
				w.expect("SET k v"+expiry, "+OK")
				time.Sleep(2 * time.Nanosecond) // to the replica
				synctest.Wait()
			}
			for ms, seconds := range map[int64]int{1900: 2, 1510: 2, 1490: 1, 2000: 2, 510: 1, 490: 0} {
				set(fmt.Sprint(" PX ", ms))
				at := time.Now().UnixMilli() + ms
				w.expect("ttl k", fmt.Sprint(":", seconds), "EXPIRETIME k", fmt.Sprint(":", (at+500)/1000))
			}
			set("")
			w.expect("TTL k", ":-1", "TTL none", ":-2")
			assert.Contains(t, w.ask("TTL"), "-ERR ")
			if cfg.Profile != nil { // Codis has no transactions
				w.expect("MULTI", "+OK", "SET k v PX 1900", "+QUEUED", "TTL k", "+QUEUED", "EXEC", "*2|+OK|:2")
			}
		})
	}
}
