package proxytest_test

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/proxycompat/proxytest"
)

// After the lag a replica equals its master, for every kind of change.
func TestReplicaFollows(t *testing.T) {
	const lag = 100 * time.Millisecond
	move := func(method proxytest.Method) func(*testing.T, *proxytest.Proxy, *wire) {
		return func(t *testing.T, p *proxytest.Proxy, w *wire) {
			m := moveAway(t, p, method)
			assert.Equal(t, "+OK", w.ask("SET k 2"))
			require.NoError(t, m.Finish())
		}
	}
	ask := func(command, want string) func(*testing.T, *proxytest.Proxy, *wire) {
		return func(t *testing.T, _ *proxytest.Proxy, w *wire) { assert.Equal(t, want, w.ask(command)) }
	}
	for name, c := range map[string]struct {
		profile string
		do      func(*testing.T, *proxytest.Proxy, *wire)
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
		"transaction": {"alibaba", func(t *testing.T, _ *proxytest.Proxy, w *wire) {
			for _, command := range []string{"MULTI", "SET k 2", "EXEC"} {
				w.ask(command)
			}
		}, "$1|2"},
		"FLUSHALL":         {"alibaba", ask("FLUSHALL", "+OK"), "$-1"},
		"FLUSHDB":          {"alibaba", ask("FLUSHDB", "+OK"), "$-1"},
		"FLUSHALL refused": {"alibaba", ask("FLUSHALL NONSENSE", "-ERR syntax error"), "$1|1"},
		"pipeline": {"codis", func(_ *testing.T, _ *proxytest.Proxy, w *wire) {
			w.send("SET k 3", "DEL k", "INCR k", "INCR k")
			for range 4 {
				w.reply()
			}
		}, "$1|2"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, _ := start(t, proxytest.Config{InMemory: true, Engines: 2, ReplicaLag: lag, Profile: profile(t, c.profile)})
				w := dial(t, p)
				assert.Equal(t, "+OK", w.ask("SET k 1"))
				time.Sleep(2 * lag)
				assert.Equal(t, "$1|1", w.ask("GET k"))
				c.do(t, p, w)
				time.Sleep(2 * lag)
				calm := redis.NewClient(p.CalmOptions())
				defer calm.Close()
				assert.Equal(t, c.want, w.ask("GET k"))
				var n int
				_, err := fmt.Sscanf(c.want, "$1|%d", &n)
				assert.Equal(t, err == nil, calm.Get(background, "k").Val() == fmt.Sprint(n))
			})
		})
	}
}

// Concurrent writers leave the same on both. A concurrent reader finds the key, with all or none of a
// command's changes.
func TestReplicaIsStale(t *testing.T) {
	p, rdb := start(t, proxytest.Config{InMemory: true, ReplicaLag: time.Millisecond})
	calm := redis.NewClient(p.CalmOptions())
	defer calm.Close()
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
	synctest.Test(t, func(t *testing.T) {
		p, rdb := start(t, proxytest.Config{InMemory: true, ReplicaLag: lag})
		calm := redis.NewClient(p.CalmOptions())
		defer calm.Close()
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
	synctest.Test(t, func(t *testing.T) {
		p, _ := start(t, proxytest.Config{InMemory: true, ReplicaLag: lag, Profile: profile(t, "alibaba")})
		waiting, w := dial(t, p), dial(t, p)
		waiting.send("BLPOP l 3")
		synctest.Wait()
		assert.Equal(t, ":2", w.ask("RPUSH l a b"))
		assert.Equal(t, "*2|$1|l|$1|a", waiting.reply())
		time.Sleep(2 * lag)
		assert.Equal(t, "*1|$1|b", w.ask("LRANGE l 0 -1"))
	})
}
