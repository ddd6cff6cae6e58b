package proxytest_test

import (
	"errors"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
)

func TestCodisTakesTransactionsApart(t *testing.T) {
	p, rdb := start(t, proxytest.Config{})
	w := dial(t, p)
	w.send("MULTI", "SET a 1", "INCR n", "EXEC")
	assert.Equal(t, "-ERR handle request, command 'MULTI' is not allowed", w.reply())
	assert.Equal(t, "+OK", w.reply())
	assert.Equal(t, ":1", w.reply())
	assert.Equal(t, "-ERR handle request, command 'EXEC' is not allowed", w.reply())
	assert.Equal(t, "1", rdb.Get(background, "n").Val())
	err := rdb.Watch(background, func(*redis.Tx) error { return nil }, "a")
	require.ErrorContains(t, err, "command 'WATCH' is not allowed")
}

func TestCodisOwnAnswers(t *testing.T) {
	p, _ := start(t, proxytest.Config{InMemory: true, Engines: 2})
	w := dial(t, p)
	assert.Equal(t, "-ERR wrong number of arguments for 'MSET' command", w.ask("mset a 1 b"))
	assert.Equal(t, "$-1", w.ask("get a"), "nothing was written")
	for command, want := range map[string]string{
		"ping":          "+PONG",
		"ping x":        "-ERR backend server 'x' not found",
		"auth pw":       "-ERR Client sent AUTH, but no password is set",
		"auth u pw":     "-ERR wrong number of arguments for 'AUTH' command",
		"hello 3":       "-ERR unknown command 'hello'",
		"HELLO":         "-ERR unknown command 'HELLO'",
		"select 16":     "-ERR invalid DB index, only accept DB [0,16)",
		"select x":      "-ERR invalid DB index",
		"evalsha f 1 k": "-NOSCRIPT No matching script. Please use EVAL.",
		"mget":          "-ERR wrong number of arguments for 'MGET' command",
		"del":           "-ERR wrong number of arguments for 'DEL' command",
		"exists":        "-ERR wrong number of arguments for 'EXISTS' command",

		"slotsinfo":         "-ERR wrong number of arguments for 'SLOTSINFO' command",
		"slotsinfo x":       "-ERR backend server 'x' not found",
		"slotsscan 1":       "-ERR wrong number of arguments for 'SLOTSSCAN' command",
		"slotsscan 1024 0":  "-ERR parse slotnum '1024' failed, out of range",
		"slotsscan 0 0":     "*2|$1|0|*0",
		"slotsmapping 0":    "*4|$1|0|$14|192.0.2.2:6379|$0||*-1",
		"slotsmapping 1023": "*4|$4|1023|$14|192.0.2.2:6380|$0||*-1",
		"slotsmapping 0 1":  "-ERR wrong number of arguments for 'SLOTSMAPPING' command",
	} {
		assert.Equal(t, want, w.ask(command), command)
	}
	assert.Equal(t, "+OK", w.ask("set k v"))
	slot := strconv.Itoa(proxycompat.Codis32().Slot("k"))
	assert.Equal(t, "*2|$1|0|*1|$1|k", w.ask("slotsscan "+slot+" 0"))
	assert.Len(t, strings.Split(w.ask("slotsmapping"), "*4|"), 1+proxycompat.Codis32().Slots())
	assert.Equal(t, "+OK", w.ask("select 1"))
	assert.Equal(t, "$-1", w.ask("get k"))
	assert.Equal(t, "+OK", w.ask("quit"))
	assert.Equal(t, "EOF", w.reply())
}

// Codis 3.2.2 forwards POST and HOST:, and the server closes the shared connection.
func TestCodisForwardsWhatEndsAConnection(t *testing.T) {
	for _, command := range []string{"POST x", "HOST: x", "slotsrestore-async-ack x"} {
		p, _ := start(t, proxytest.Config{InMemory: true})
		innocent, guilty := dial(t, p), dial(t, p)
		require.Equal(t, "+OK", innocent.ask("SET k v"))
		assert.Equal(t, "-ERR handle response, backend conn failure, EOF", guilty.ask(command))
		assert.Equal(t, "-ERR handle response, backend conn failure, EOF", innocent.ask("GET k"), command)
		assert.Equal(t, "$1|v", innocent.ask("GET k"), "on a new connection")
	}
}

func TestCodisPassword(t *testing.T) {
	p, rdb := start(t, proxytest.Config{InMemory: true, Password: "secret"})
	require.NoError(t, rdb.Set(background, "k", "v", 0).Err(), "Options carries the password")
	w := dial(t, p)
	assert.Equal(t, "-NOAUTH Authentication required", w.ask("get k"))
	assert.Equal(t, "-ERR handle request, command 'WATCH' is not allowed", w.ask("watch k"), "refused even before AUTH")
	assert.Equal(t, "-ERR invalid password", w.ask("auth wrong"))
	assert.Equal(t, "+OK", w.ask("auth secret"))
	assert.Equal(t, "$1|v", w.ask("get k"))
}

func TestCodisSplitsAndMerges(t *testing.T) {
	p, rdb := start(t, proxytest.Config{Engines: 2})
	zero, one := keysOnTwo(p)
	require.NoError(t, rdb.MSet(background, zero, "0", one, "1").Err())
	assert.True(t, p.Engine(1).Exists(one))
	assert.Equal(t, []any{"1", nil, "0"}, rdb.MGet(background, one, "none", zero).Val())
	assert.EqualValues(t, 3, rdb.Exists(background, zero, one, one).Val())
	assert.EqualValues(t, 2, rdb.Del(background, zero, one, "none").Val())
	calls := p.Calls()
	assert.Equal(t, proxytest.Several, calls[0].Backend)
	assert.Equal(t, proxycompat.Split, calls[0].Verdict)
	assert.Equal(t, "status", calls[0].Reply)
	assert.Equal(t, "array", calls[1].Reply)
}

func TestCodisLooksAtTheFirstKeyOnly(t *testing.T) {
	p, rdb := start(t, proxytest.Config{Engines: 2})
	zero, one := keysOnTwo(p)
	err := rdb.Eval(background, `return redis.call("SET", KEYS[2], "hidden")`, []string{zero, one}).Err()
	require.NoError(t, err, "no error says so")
	assert.Equal(t, redis.Nil, rdb.Get(background, one).Err())
	assert.True(t, p.Engine(0).Exists(one), "written on the wrong server")

	p.Engine(0).FlushAll()
	require.NoError(t, rdb.MSet(background, zero, "0", one, "1").Err())
	assert.EqualValues(t, 1, rdb.Unlink(background, zero, one).Val())
	assert.EqualValues(t, 1, rdb.Exists(background, one).Val(), "the second key survived")

	p.Engine(0).FlushAll()
	p.Engine(1).FlushAll()
	// The destination of ZUNIONSTORE is on the server of the first source.
	require.NoError(t, rdb.ZAdd(background, one, redis.Z{Member: "m"}).Err())
	require.NoError(t, rdb.ZUnionStore(background, zero, &redis.ZStore{Keys: []string{one}}).Err())
	assert.EqualValues(t, 0, rdb.Exists(background, zero).Val())
}

func TestCodisScriptCachesAreSeparate(t *testing.T) {
	p, rdb := start(t, proxytest.Config{Engines: 2})
	zero, one := keysOnTwo(p)
	script := redis.NewScript(`return redis.call("INCR", KEYS[1])`)
	noscript := func(key string) bool {
		return redis.HasErrorPrefix(script.EvalSha(background, rdb, []string{key}).Err(), "NOSCRIPT")
	}
	require.NoError(t, script.Eval(background, rdb, []string{zero}).Err())
	assert.False(t, noscript(zero))
	assert.True(t, noscript(one), "the other server never saw the script")
	require.NoError(t, script.Run(background, rdb, []string{one}).Err())
	require.NoError(t, p.FlushScripts(0))
	assert.True(t, noscript(zero))
	assert.False(t, noscript(one))
	require.ErrorContains(t, script.Load(background, rdb).Err(), "command 'SCRIPT' is not allowed")
}

func TestCodisBackendDown(t *testing.T) {
	p, rdb := start(t, proxytest.Config{InMemory: true, Engines: 2})
	zero, one := keysOnTwo(p)
	require.NoError(t, rdb.MSet(background, zero, "0", one, "1").Err())
	w := dial(t, p)
	require.Equal(t, "$1|0", w.ask("get "+zero))
	p.Down(0)
	assert.Equal(t, "-ERR handle response, backend conn failure, EOF", w.ask("get "+zero))
	assert.Equal(t, "-ERR handle response, backend conn reset", w.ask("get "+zero))
	assert.Equal(t, "$1|1", w.ask("get "+one), "the other backend is not affected")
	assert.Equal(t, "-ERR handle response, backend conn reset", w.ask("mget "+one+" "+zero))
	require.Error(t, p.FlushScripts(0))
	p.Up(0)
	assert.Equal(t, "$1|0", w.ask("get "+zero))
}

func TestCodisReorder(t *testing.T) {
	p, _ := start(t, proxytest.Config{InMemory: true, Reorder: true})
	w := dial(t, p)
	w.send("set k v", "get k")
	assert.Equal(t, "+OK", w.reply())
	assert.Equal(t, "$-1", w.reply(), "GET was executed first")
	assert.Equal(t, "$1|v", w.ask("get k"), "one command at a time is in order")
}

func TestCodisLimitsThePipeline(t *testing.T) {
	p, rdb := start(t, proxytest.Config{})
	_, err := rdb.Pipelined(background, func(pipe redis.Pipeliner) error {
		for range 20000 {
			pipe.Incr(background, "n")
		}
		return nil
	})
	require.Error(t, err)
	var redisErr redis.Error
	assert.False(t, errors.As(err, &redisErr), "cut, not answered: %v", err)
	assert.LessOrEqual(t, p.Count()["INCR"], 10000)
}

// In fake time the client has no timeout on a busy machine.
func TestHugePipelineOverAPipe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, rdb := start(t, proxytest.Config{InMemory: true, Profile: twemproxy(), Engines: 3})
		cmds, err := rdb.Pipelined(background, func(pipe redis.Pipeliner) error {
			for range 20000 {
				pipe.Incr(background, "n")
			}
			return nil
		})
		require.NoError(t, err)
		assert.EqualValues(t, 20000, cmds[19999].(*redis.IntCmd).Val())
		assert.Equal(t, 20000, p.Count()["INCR"])
		p.ResetCalls()
		assert.Empty(t, p.Count())
	})
}
