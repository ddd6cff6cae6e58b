package proxytest_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
)

func TestRedisDefaultClientAndPubSub(t *testing.T) {
	p, _ := start(t, proxytest.Config{Profile: proxycompat.Redis()})
	rdb := client(t, &redis.Options{Addr: p.Addr()}) // RESP3
	require.NoError(t, rdb.HSet(background, "h", "f", "v").Err())
	assert.Equal(t, map[string]string{"f": "v"}, rdb.HGetAll(background, "h").Val())

	sub := rdb.Subscribe(background, "news")
	defer sub.Close()
	_, err := sub.Receive(background)
	require.NoError(t, err)
	require.NoError(t, rdb.Publish(background, "news", "hello").Err())
	msg, err := sub.ReceiveMessage(background)
	require.NoError(t, err)
	assert.Equal(t, "hello", msg.Payload)
}

func TestRedisHasOneServer(t *testing.T) {
	_, err := proxytest.Start(proxytest.Config{Profile: proxycompat.Redis(), Engines: 2})
	require.ErrorContains(t, err, "exactly one server")
}

// The error for an unknown command has some of its arguments, of any length. The connection, and its WATCH, go on.
func TestUnknownCommandWithALongKey(t *testing.T) {
	_, rdb := start(t, proxytest.Config{Profile: proxycompat.Redis(), InMemory: true})
	require.ErrorIs(t, rdb.Watch(background, func(tx *redis.Tx) error {
		err := tx.Do(background, "hpexpiretime", strings.Repeat("k", 100_000), "FIELDS", 1, "f").Err()
		require.ErrorContains(t, err, "unknown command `hpexpiretime`")
		assert.Less(t, len(err.Error()), 300)
		return tx.Get(background, "k").Err()
	}, "k"), redis.Nil)
}

// The proxies that permit transactions keep a client on one server during a transaction.
func TestTransactions(t *testing.T) {
	for _, name := range []string{"predixy-single", "alibaba", "cluster", "redis"} {
		t.Run(name, func(t *testing.T) {
			cfg := proxytest.Config{InMemory: true, Profile: profile(t, name), Engines: 3}
			if cfg.Profile.Server() {
				cfg.Engines = 1
			}
			p, rdb := start(t, cfg)
			other := dial(t, p)
			add := func(key string, meanwhile func()) error {
				return rdb.Watch(background, func(tx *redis.Tx) error {
					n, err := tx.Get(background, key).Int()
					if err != nil && err != redis.Nil { //nolint:errorlint // go-redis returns it as it is
						return err
					}
					meanwhile()
					_, err = tx.TxPipelined(background, func(pipe redis.Pipeliner) error {
						pipe.Set(background, key, n+1, time.Hour)
						pipe.Incr(background, key)
						return nil
					})
					return err
				}, key)
			}
			for _, key := range []string{"a", "b", "c", "d"} {
				require.NoError(t, add(key, func() {}))
				require.ErrorIs(t, add(key, func() { other.ask("SET " + key + " 7") }), redis.TxFailedErr)
				require.NoError(t, add(key, func() {}))
				assert.Equal(t, "9", rdb.Get(background, key).Val())
			}
			other.expect("MULTI", "+OK", "EXEC", "*0", "MULTI", "+OK", "INCR a", "+QUEUED", "DISCARD", "+OK", "UNWATCH", "+OK")
			assert.Contains(t, other.ask("EXEC"), "EXEC without MULTI")
			other.expect("GET a", "$1|9")
		})
	}
}

// A failed link loses watches and queued commands, so the client is disconnected: otherwise it would write
// unwatched.
func TestTransactionLosesItsBackend(t *testing.T) {
	for _, name := range []string{"predixy-single", "redis-cluster-proxy", "alibaba"} {
		for _, then := range []string{"EXEC", "GET k", "MULTI; EXEC", "MULTI; SET k mine"} { // after WATCH, and after MULTI
			t.Run(name+" "+then, func(t *testing.T) {
				p, _ := start(t, proxytest.Config{InMemory: true, Profile: profile(t, name)})
				w, other := dial(t, p), dial(t, p)
				w.expect("WATCH k", "+OK")
				command, inMulti := strings.CutPrefix(then, "MULTI; ")
				if inMulti {
					w.expect("MULTI", "+OK")
				}
				p.Down(0)
				p.Up(0)
				other.expect("SET k theirs", "+OK")
				w.expect(command, "EOF")
				other.expect("GET k", "$6|theirs")
			})
		}
	}
}

func TestTransactionWithoutABackend(t *testing.T) {
	bubble(t, proxytest.Config{Profile: profile(t, "alibaba")}, func(t *testing.T, p *proxytest.Proxy, _ *redis.Client) {
		w, other := dial(t, p), dial(t, p)
		p.Down(0)
		w.expect("WATCH k", "-ERR Connection refused") // nothing is watched
		w.expect("MULTI", "+OK", "WATCH k", "-ERR WATCH inside MULTI is not allowed")
		w.expect("SET k 1", "EOF") // nothing can be queued
		p.Up(0)
		w = dial(t, p)
		w.expect("MULTI", "+OK", "SET k 1", "+QUEUED")
		p.Sleep(0)
		w.expect("SET k 2", "EOF")
		p.Wake(0)
		synctest.Wait()
		other.expect("GET k", "$-1") // what was queued is lost, and not executed alone

		other.expect("WATCH k", "+OK", "SELECT 1", "-ERR SELECT in a transaction")
		assert.Equal(t, "EOF", other.reply())
	})
}

// A server refuses what its version lacks, with the texts of codis-server 3.2.11 and Redis 7.0: it quotes an
// unknown command as it was sent, and has another text for an unknown subcommand.
func TestServerOfAVersion(t *testing.T) {
	for version, commands := range map[string]map[string]string{
		"3.2": {
			"acl LIST":            "-ERR unknown command 'acl'",
			"ACL LIST":            "-ERR unknown command 'ACL'",
			"COMMAND DOCS":        "-ERR Unknown subcommand or wrong number of arguments.",
			"PUBSUB HELP":         "-ERR Unknown PUBSUB subcommand or wrong number of arguments for 'HELP'",
			"HSET k f v g w":      "-ERR wrong number of arguments for 'hset' command",
			"HSET h f v":          ":1",
			"SET k v KEEPTTL":     "-ERR syntax error",
			"EXPIRE none 10 nx":   "-ERR wrong number of arguments for 'expire' command",
			"ZRANK z m WITHSCORE": "-ERR wrong number of arguments for 'zrank' command",
		},
		"7.0": {
			"HGETDEL k x":         "-ERR unknown command 'HGETDEL', with args beginning with: 'k' 'x' ",
			"HSET k f v g w":      ":2",
			"SET k v KEEPTTL":     "+OK",
			"EXPIRE none 10 nx":   ":0",
			"ZRANK z m WITHSCORE": "-ERR wrong number of arguments for 'zrank' command",
		},
	} {
		for _, base := range []string{"codis", "redis"} {
			for command, want := range commands {
				p, _ := start(t, proxytest.Config{InMemory: true, Profile: profile(t, base+"@"+version)})
				dial(t, p).expect(command, want)
			}
		}
	}
}

// The version also applies inside scripts.
func TestServerRefusesNewerArgumentsInAScript(t *testing.T) {
	const script = "local set = redis.pcall('SET', KEYS[1], 'v', 'KEEPTTL') return set.err or 'set'"
	for name, want := range map[string]string{
		"codis": "set", "codis@3.2": "ERR syntax error", "codis@7.0": "set", "redis": "set", "redis@3.2": "ERR syntax error",
	} {
		_, rdb := start(t, proxytest.Config{Profile: profile(t, name), InMemory: true})
		got, err := rdb.Eval(t.Context(), script, []string{"k"}).Text()
		require.NoError(t, err)
		assert.Equal(t, want, got, name)
		err = rdb.Eval(t.Context(), "return redis.call('HSET', KEYS[1], 'f', 'v', 'g', 'w')", []string{"h"}).Err()
		assert.Equal(t, want != "set", err != nil, "%s: %v", name, err)
	}
}

// A transaction takes an unknown argument and fails in EXEC, but a wrong number of arguments aborts it.
func TestServerRefusesNewerArgumentsInATransaction(t *testing.T) {
	p, _ := start(t, proxytest.Config{Profile: profile(t, "redis@3.2"), InMemory: true})
	w := dial(t, p)
	w.expect("MULTI", "+OK", "SET k v KEEPTTL", "+QUEUED", "SET other v", "+QUEUED", "EXEC", "*2|-ERR syntax error|+OK")
	w.expect("MULTI", "+OK", "HSET h f v g w", "-ERR wrong number of arguments for 'hset' command",
		"EXEC", "-EXECABORT Transaction discarded because of previous errors.", "SET k v KEEPTTL", "-ERR syntax error")
	w.expect("MULTI", "+OK", "DISCARD", "+OK", "SET k v KEEPTTL", "-ERR syntax error")
}

// The options of a client carry the password.
func TestPassword(t *testing.T) {
	for _, name := range []string{"codis", "twemproxy", "redis", "cluster"} {
		_, rdb := start(t, proxytest.Config{InMemory: true, Profile: profile(t, name), Password: "pw"})
		require.NoError(t, rdb.Set(background, "k", "v", 0).Err(), name)
	}
	p, _ := start(t, proxytest.Config{InMemory: true, Password: "secret"})
	dial(t, p).expect("get k", "-NOAUTH Authentication required",
		"watch k", "-ERR handle request, command 'WATCH' is not allowed", // refused even before AUTH
		"auth wrong", "-ERR invalid password", "auth secret", "+OK", "get k", "$-1")
}

// The profile of a server requires the password as a server does.
func TestServerPassword(t *testing.T) {
	const none, wrong = "-NOAUTH Authentication required.", "-WRONGPASS invalid username-password pair or user is disabled."
	for _, name := range []string{"redis", "cluster"} {
		t.Run(name, func(t *testing.T) {
			p, rdb := start(t, proxytest.Config{InMemory: true, Profile: profile(t, name), Password: "pw"})
			require.NoError(t, rdb.Set(background, "k", "v", 0).Err())
			modern := p.Options()
			modern.Protocol = 3 // HELLO 3 AUTH default pw
			assert.Equal(t, "v", client(t, modern).Get(background, "k").Val())

			dial(t, p).expect("GET k", none, "MULTI", none, "AUTH no", wrong, "AUTH other pw", wrong, "AUTH default no", wrong,
				"HELLO 2 AUTH default no", wrong, "AUTH a b c", "-ERR syntax error", "GET k", none,
				"AUTH pw", "+OK", "GET k", "$1|v", "AUTH no", wrong, "GET k", "$1|v")
			assert.Contains(t, dial(t, p).ask("HELLO 2"), "-NOAUTH HELLO must be called")
			dial(t, p).expect("AUTH default pw", "+OK", "GET k", "$1|v")
			w := dial(t, p)
			assert.Contains(t, w.ask("HELLO 2 AUTH default pw SETNAME auth"), "proto")
			w.expect("GET k", "$1|v")
			dial(t, p).expect("QUIT", "+OK")
		})
	}
	p, _ := start(t, proxytest.Config{InMemory: true, Profile: profile(t, "redis@5.0"), Password: "pw"})
	dial(t, p).expect("AUTH default pw", "-ERR wrong number of arguments for 'auth' command", "AUTH no", "-ERR invalid password",
		"AUTH pw", "+OK", "GET k", "$-1")
}

// WATCH notices each removal, also one of a part, and none that removes nothing.
func TestWatchNoticesRemovals(t *testing.T) {
	bubble(t, proxytest.Config{Profile: proxycompat.Redis()}, func(t *testing.T, p *proxytest.Proxy, _ *redis.Client) {
		w, other := dial(t, p), dial(t, p)
		for _, removal := range []string{
			"HDEL h a", "ZREM z a", "ZREMRANGEBYRANK z 0 0", "ZREMRANGEBYSCORE z 1 1", "ZREMRANGEBYLEX z - [a",
			"SREM s a", "LREM l 0 a", "LTRIM l 1 1", "HDEL h a b", "ZREM z a b",
		} {
			key := strings.Fields(removal)[1]
			w.expect("FLUSHALL", "+OK", "HSET h a 1 b 2", ":2", "ZADD z 1 a 1 b", ":2", "SADD s a b", ":2", "RPUSH l a b", ":2")
			w.expect("PEXPIRE h 5000", ":1")
			w.expect("WATCH "+key, "+OK")
			assert.NotContains(t, other.ask(removal), "-")
			w.expect("MULTI", "+OK", "EXEC", "*-1")
			w.expect("PTTL h", map[bool]string{true: ":-2", false: ":5000"}[removal == "HDEL h a b"])
		}
		w.expect("FLUSHALL", "+OK", "HSET h a 1", ":1", "WATCH h", "+OK")
		other.expect("HDEL h none", ":0", "PTTL h", ":-1")
		w.expect("MULTI", "+OK", "EXEC", "*0")
		other.expect("SET k v", "+OK")
		assert.Contains(t, other.ask("HDEL k f"), "-WRONGTYPE ")
	})
}
