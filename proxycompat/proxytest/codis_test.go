package proxytest_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
)

// lostBackend is the answer of Codis when the connection to a backend ends.
const lostBackend = "-ERR handle response, backend conn failure, EOF"

func TestCodisTakesTransactionsApart(t *testing.T) {
	p, rdb := start(t, proxytest.Config{})
	dial(t, p).pipeline([]string{"MULTI", "SET a 1", "INCR n", "EXEC"},
		"-ERR handle request, command 'MULTI' is not allowed", "+OK", ":1", "-ERR handle request, command 'EXEC' is not allowed")
	assert.Equal(t, "1", rdb.Get(background, "n").Val())
	err := rdb.Watch(background, func(*redis.Tx) error { return nil }, "a")
	require.ErrorContains(t, err, "command 'WATCH' is not allowed")
}

func TestCodisOwnAnswers(t *testing.T) {
	p, _ := start(t, proxytest.Config{InMemory: true, Engines: 2})
	w := dial(t, p)
	w.expect("mset a 1 b", "-ERR wrong number of arguments for 'MSET' command", "get a", "$-1")
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
		w.expect(command, want)
	}
	w.expect("set k v", "+OK", "slotsscan "+strconv.Itoa(proxycompat.Codis32().Slot("k"))+" 0", "*2|$1|0|*1|$1|k")
	assert.Len(t, strings.Split(w.ask("slotsmapping"), "*4|"), 1+proxycompat.Codis32().Slots())
	w.expect("select 1", "+OK", "get k", "$-1", "quit", "+OK")
	assert.Equal(t, "EOF", w.reply())
}

// A server closes the connection that all clients share: Codis 3.2.2 forwards POST and HOST: to it. HELLO 3
// over a newer Redis has a reply that Codis cannot read.
func TestCodisForwardsWhatEndsAConnection(t *testing.T) {
	for command, c := range map[string]struct{ profile, want string }{
		"POST x": {"codis", lostBackend}, "HOST: x": {"codis", lostBackend}, "slotsrestore-async-ack x": {"codis", lostBackend},
		"HELLO 3": {"codis@7.0", "-ERR handle response, backend conn failure, bad resp type <unknown-0x25>"},
	} {
		bubble(t, proxytest.Config{Profile: profile(t, c.profile)}, func(t *testing.T, p *proxytest.Proxy, _ *redis.Client) {
			p.Inject(proxytest.Fault{Command: "GET", Action: proxytest.None})
			innocent, guilty := dial(t, p), dial(t, p)
			innocent.expect("SET k v", "+OK")
			guilty.expect(command, c.want)
			innocent.expect("GET k", lostBackend, "GET k", "$1|v") // the second on a new connection
		})
	}
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
	w.expect("get "+zero, "$1|0")
	p.Down(0)
	const reset = "-ERR handle response, backend conn reset"
	w.expect("get "+zero, lostBackend, "get "+zero, reset)
	w.expect("get "+one, "$1|1", "mget "+one+" "+zero, reset) // the other backend is not affected
	require.Error(t, p.FlushScripts(0))
	p.Up(0)
	w.expect("get "+zero, "$1|0")
}
