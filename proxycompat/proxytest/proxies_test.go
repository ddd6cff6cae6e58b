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

func profile(t *testing.T, name string) *proxycompat.Profile {
	t.Helper()
	p, err := proxycompat.Lookup(name)
	require.NoError(t, err)
	return p
}

// Each proxy refuses the commands of its table with the table's error texts.
func TestEveryProxyRefusesAsItsTableSays(t *testing.T) {
	for _, name := range proxycompat.Names() {
		t.Run(name, func(t *testing.T) {
			profile := profile(t, name)
			p, _ := start(t, proxytest.Config{InMemory: true, Profile: profile})
			w := dial(t, p)
			for _, r := range profile.Rules() {
				command := r.Command + " 1 2"
				for c, known := proxycompat.CommandOf(strings.Fields(command)...); known && !c.Fits(len(strings.Fields(command))); {
					if command += " 3"; len(strings.Fields(command)) > 9 {
						command, known = r.Command+" 1", false
					}
				}
				switch r.Verdict {
				case proxycompat.Refused:
					require.Equal(t, "-"+profile.RefusalText(r.Command), w.ask(command))
				case proxycompat.Closes:
					require.Equal(t, "EOF", dial(t, p).ask(command), r.Command)
				}
			}
			assert.Equal(t, "+PONG", w.ask("PING"), "the connection is still open")
		})
	}
}

// HELLO 3 through Codis over a newer Redis breaks a shared connection.
func TestHarm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _ := start(t, proxytest.Config{InMemory: true, Profile: profile(t, "codis@7.0")})
		innocent, guilty := dial(t, p), dial(t, p)
		p.Inject(proxytest.Fault{Command: "GET", Action: proxytest.None})
		assert.Equal(t, "+OK", innocent.ask("SET k v"))
		assert.Contains(t, guilty.ask("HELLO 3"), "bad resp type")
		assert.Equal(t, "-ERR handle response, backend conn failure, EOF", innocent.ask("GET k"))
		assert.Equal(t, "$1|v", innocent.ask("GET k"), "on a new connection")
	})
}

// auto_eject_hosts breaks mutual exclusion: while one server hangs, a second one grants the lock, and
// afterwards both have it.
func TestAutoEjectMakesASecondOwner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _ := start(t, proxytest.Config{InMemory: true, Profile: twemproxy(), Engines: 2, AutoEject: true})
		w := dial(t, p)
		lock, _ := keysOnTwo(p)
		assert.Equal(t, "+OK", w.ask("SET "+lock+" A NX"))
		p.Sleep(0)
		assert.Equal(t, "-ERR Connection timed out", w.ask("GET "+lock))
		assert.Equal(t, "+OK", w.ask("SET "+lock+" B NX"), "on the other server")
		p.Wake(0)
		assert.Equal(t, "$1|A", w.ask("GET "+lock))
	})
}

// A command that timed out at the proxy is executed all the same.
func TestTimedOutAndExecuted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, name := range []string{"codis", "twemproxy"} {
			p, _ := start(t, proxytest.Config{InMemory: true, Profile: profile(t, name)})
			w := dial(t, p)
			p.Sleep(0)
			assert.True(t, strings.HasPrefix(w.ask("SET k v"), "-ERR "))
			p.Wake(0)
			synctest.Wait()
			assert.Equal(t, "$1|v", w.ask("GET k"), name)
		}
	})
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
			assert.Equal(t, "+OK", other.ask("MULTI"))
			assert.Equal(t, "*0", other.ask("EXEC"))
			assert.Equal(t, "+OK", other.ask("MULTI"))
			assert.Equal(t, "+QUEUED", other.ask("INCR a"))
			assert.Equal(t, "+OK", other.ask("DISCARD"))
			assert.Equal(t, "+OK", other.ask("UNWATCH"))
			assert.Contains(t, other.ask("EXEC"), "EXEC without MULTI")
			assert.Equal(t, "$1|9", other.ask("GET a"))
		})
	}
}

func TestKeysOfSeveralSlots(t *testing.T) {
	for _, name := range []string{"cluster", "alibaba", "camellia"} {
		cfg := proxytest.Config{InMemory: true, Profile: profile(t, name)}
		p, _ := start(t, cfg)
		w := dial(t, p)
		got := w.ask("RENAME a b")
		assert.True(t, strings.HasPrefix(got, "-"), "%s: %s", name, got)
		assert.NotContains(t, got, "no such key", name)
	}
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
				assert.Equal(t, want, dial(t, p).ask(command), "%s@%s: %s", base, version, command)
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
	for _, step := range [][2]string{
		{"MULTI", "+OK"},
		{"SET k v KEEPTTL", "+QUEUED"},
		{"SET other v", "+QUEUED"},
		{"EXEC", "*2|-ERR syntax error|+OK"},
		{"MULTI", "+OK"},
		{"HSET h f v g w", "-ERR wrong number of arguments for 'hset' command"},
		{"EXEC", "-EXECABORT Transaction discarded because of previous errors."},
		{"SET k v KEEPTTL", "-ERR syntax error"},
		{"MULTI", "+OK"},
		{"DISCARD", "+OK"},
		{"SET k v KEEPTTL", "-ERR syntax error"},
	} {
		assert.Equal(t, step[1], w.ask(step[0]), step[0])
	}
}
