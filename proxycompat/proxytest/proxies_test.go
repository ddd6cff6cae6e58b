package proxytest_test

import (
	"runtime"
	"strconv"
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

// Each proxy refuses the commands of its table with the table's error texts.
func TestEveryProxyRefusesByItsTable(t *testing.T) {
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

// lostBackend is the answer of Codis when the connection to a backend ends.
const lostBackend = "-ERR handle response, backend conn failure, EOF"

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
func TestCodisSharedConnectionIsLost(t *testing.T) {
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

func TestTwemproxyClosesWithoutAWord(t *testing.T) {
	p, rdb := start(t, proxytest.Config{Profile: twemproxy()})
	dial(t, p).pipeline([]string{"INCR n", "TIME", "INCR n"}, "EOF") // even the first reply is lost
	assert.Equal(t, "1", rdb.Get(background, "n").Val(), "but the command was executed")

	for _, command := range []string{"watch k", "multi", "script load x", "hello 3", "select 0", "client id",
		"get a b", "ping x", "eval return 0", "nosuchcommand", "auth u p"} {
		dial(t, p).expect(command, "EOF")
	}
	dial(t, p).expect("ping", "+PONG", "quit", "EOF")
}

func TestTwemproxyNeedsTheHelloDialer(t *testing.T) {
	p, rdb := start(t, proxytest.Config{Profile: twemproxy(), Engines: 2})
	plain := client(t, &redis.Options{Addr: p.Addr(), MaxRetries: -1, DialerRetries: 1})
	require.Error(t, plain.Get(background, "k").Err(), "HELLO closes the connection")
	plainTwo := client(t, &redis.Options{Addr: p.Addr(), MaxRetries: -1, Protocol: 2, DisableIdentity: true})
	require.Error(t, plainTwo.Get(background, "k").Err(), "and no option helps")

	require.NoError(t, rdb.MSet(background, "a", "1", "b", "2").Err())
	assert.EqualValues(t, 2, rdb.Unlink(background, "a", "b").Val())
}

func TestTwemproxyRetryExecutesAPipelineAgain(t *testing.T) {
	_, rdb := start(t, proxytest.Config{Profile: twemproxy()})
	opt := *rdb.Options()
	opt.MaxRetries = 3
	opt.MinRetryBackoff, opt.MaxRetryBackoff = -1, -1
	_, err := client(t, &opt).Pipelined(background, func(pipe redis.Pipeliner) error {
		pipe.Incr(background, "n")
		pipe.Time(background)
		return nil
	})
	require.Error(t, err)
	assert.Equal(t, "4", rdb.Get(background, "n").Val())
}

func TestTwemproxyBackendDown(t *testing.T) {
	p, _ := start(t, proxytest.Config{Profile: twemproxy()})
	w := dial(t, p)
	w.expect("SET k v", "+OK")
	p.Down(0)
	w.expect("GET k", "-ERR Connection reset by peer", "GET k", "-ERR Connection refused")
}

// auto_eject_hosts breaks mutual exclusion: while one server hangs, a second one grants the lock, and
// afterwards both have it.
func TestAutoEjectMakesASecondOwner(t *testing.T) {
	cfg := proxytest.Config{Profile: twemproxy(), Engines: 2, AutoEject: true}
	bubble(t, cfg, func(t *testing.T, p *proxytest.Proxy, _ *redis.Client) {
		w := dial(t, p)
		lock, _ := keysOnTwo(p)
		w.expect("SET "+lock+" A NX", "+OK")
		p.Sleep(0)
		w.expect("GET "+lock, "-ERR Connection timed out", "SET "+lock+" B NX", "+OK") // on the other server
		p.Wake(0)
		w.expect("GET "+lock, "$1|A")
	})
}

// A command that timed out at the proxy is executed all the same.
func TestTimedOutAndExecuted(t *testing.T) {
	for _, name := range []string{"codis", "twemproxy"} {
		cfg := proxytest.Config{Profile: profile(t, name), BackendTimeout: time.Millisecond}
		bubble(t, cfg, func(t *testing.T, p *proxytest.Proxy, _ *redis.Client) {
			w := dial(t, p)
			p.Sleep(0)
			assert.True(t, strings.HasPrefix(w.ask("SET k v"), "-ERR "))
			p.Wake(0)
			synctest.Wait()
			w.expect("GET k", "$1|v")
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

func TestCloseLeavesNothing(t *testing.T) {
	for _, name := range proxycompat.Names() {
		p, rdb := start(t, proxytest.Config{Profile: profile(t, name)})
		p.Inject(proxytest.Fault{Command: "GET", Action: proxytest.HangReply, Times: -1})
		require.NoError(t, rdb.Set(background, "k", "v", 0).Err())
		hanging := make(chan error)
		go func() { hanging <- rdb.Get(background, "k").Err() }()
		dial(t, p).expect("ping", "+PONG")
		require.NoError(t, p.Close())
		require.NoError(t, p.Close(), "again")
		require.Error(t, <-hanging)
		_, err := p.Dial(background, "", "")
		require.Error(t, err)
		require.NoError(t, rdb.Close())
	}
	buf := make([]byte, 1<<20)
	stacks := string(buf[:runtime.Stack(buf, true)])
	assert.NotContains(t, stacks, "proxytest.(*")
	assert.NotContains(t, stacks, "miniredis/v2/server.")
}
