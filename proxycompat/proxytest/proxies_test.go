package proxytest_test

import (
	"runtime"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
)

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
		bubble(t, proxytest.Config{Profile: profile(t, name)}, func(t *testing.T, p *proxytest.Proxy, _ *redis.Client) {
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
