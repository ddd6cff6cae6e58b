package main

import (
	"context"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/testing/long"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
)

// All acts but the shadow, in this process.
func TestActs(t *testing.T) {
	t.Parallel()
	code, out, errs := played(t, context.Background(), small(t, "codis", "ABCD"))
	require.Equal(t, exitOK, code, out+errs)
	require.Empty(t, errs)
	for _, want := range []string{
		"Played are the first 600 of 24,000 events",
		"A  The service as it is",
		"ERR handle request, command 'WATCH' is not allowed",
		"100 of 100 updates fail like this; nothing was written",
		"ERR handle request, command 'MULTI' is not allowed",
		"after    last=hello   posts=1        an error, yet written",
		"retried  last=hello   posts=2        one post, counted twice",
		"proxycompat: MULTI not sent",
		"after    last=(none)  posts=(none)   0 commands sent",
		"WATCH → GET → MULTI, SET, EXEC",
		"EVALSHA lock, EVALSHA room → EVALSHA room → EVALSHA lock",
		"in one process there is no network, so round trips are free",
		timesAlone + " times the updates of WATCH with one writer, and " + timesHot + " times with 64 writers of one key: " +
			"docs/performance.md",
		"VERDICT: behind the proxy, each of the 700 updates that lockupdate acknowledged",
		"examples/rehearsal/chat.go",
	} {
		assert.Contains(t, unwrapped(out), want)
	}
	assert.Regexp(t, `one update, alone: round trips +3 +3 +2 \+ 1 later\n +commands +5 +5 +4\n`, out)
	assert.Regexp(t, `C  lockupdate, proxy +600 +0 +0   kept`, out)
	assert.Regexp(t, `D  lock only, stalls +100 +[1-9][0-9]* +0   none given`, out, "the control must lose updates")
	assert.Regexp(t, `D  lock \+ guard, same stalls +100 +0 +0   kept`, out)
	assert.NotContains(t, out, "\x1b", "control sequences without a terminal")
}

// Other proxies behave as in their profiles, including proxies that permit transactions.
func TestOtherProxies(t *testing.T) {
	long.Repeats(t)
	t.Parallel()
	for profile, wants := range map[string][]string{
		"twemproxy": {
			"without the dialer of proxycompat.Options it could not even connect", "EOF: the connection was closed without a word",
			"after    last=(none)  posts=(none)   nothing was written",
		},
		"predixy":        {"ERR forbid transaction in current server pool"},
		"predixy-single": {"accepted; of WATCH, the profile says: works on a private connection to the master"},
		"alibaba":        {"no error, yet one key"},
	} {
		cfg := small(t, profile, "B")
		cfg.prefix = "unwatch-rehearsal:0:" // puts the keys of the transaction on two servers
		code, out, errs := played(t, context.Background(), cfg)
		require.Equal(t, exitOK, code, out+errs)
		for _, want := range wants {
			assert.Contains(t, unwrapped(out), want, profile)
		}
		assert.Equal(t, profile == "predixy", strings.Contains(out, "an error, yet written"), profile)
	}
}

// On real servers, foreign keys stay, and the keys of the rehearsal have its prefix and are deleted.
func TestLongOnServers(t *testing.T) {
	t.Parallel()
	long.Only(t)
	cfg, legacy, proxy := servers(t, "codis", "ABCDEF")
	if cfg.sample = 40; underRace {
		cfg.acts = "ABCDF"
	}
	for _, p := range []*proxytest.Proxy{legacy, proxy} {
		require.NoError(t, p.Engine(0).Set("room:lobby", "somebody else's"))
	}
	code, out, errs := played(t, context.Background(), cfg)
	require.Equal(t, exitOK, code, out+errs)
	assert.Contains(t, unwrapped(out), proxy.Addr())
	for _, p := range []*proxytest.Proxy{legacy, proxy} {
		assert.Equal(t, []string{"room:lobby"}, p.Engine(0).Keys())
		for _, c := range p.Calls() {
			key := ""
			switch {
			case strings.HasPrefix(c.Args[0], "EVAL") && len(c.Args) > 3:
				key = c.Args[3]
			case len(c.Args) > 1 && strings.Contains(c.Args[1], "room:"):
				key = c.Args[1]
			}
			if key != "" {
				require.True(t, strings.HasPrefix(key, "unwatch-rehearsal:"), "%v", c.Args)
			}
		}
	}
}

func TestUnreachable(t *testing.T) {
	t.Parallel()
	const nobody = "127.0.0.1:1" // a port that no program listens on
	refused := nobody + ": dial tcp " + nobody + ": connect: connection refused"
	for _, tt := range []struct {
		spoil func(cfg *config, proxy *proxytest.Proxy)
		want  string
	}{
		{func(c *config, _ *proxytest.Proxy) { c.legacy = "redis://" + nobody }, "the legacy Redis at " + refused},
		{func(c *config, _ *proxytest.Proxy) { c.proxy = nobody }, "the proxy at " + refused},
		{func(_ *config, p *proxytest.Proxy) { // accepts the connection and never replies
			p.Inject(proxytest.Fault{Command: "PING", Action: proxytest.HangRequest, Times: -1})
		}, "the proxy at "},
	} {
		cfg, _, proxy := servers(t, "codis", "ABCDE")
		tt.spoil(&cfg, proxy)
		began := time.Now()
		code, out, errs := played(t, context.Background(), cfg)
		assert.Equal(t, exitBroken, code)
		assert.Contains(t, errs, "cannot reach "+tt.want)
		assert.Contains(t, errs, "Check that it runs")
		assert.Len(t, strings.Split(out, "\n"), 2, "only the first line is printed")
		assert.Less(t, time.Since(began), 2*reachable)
	}
}

// Ctrl-C at a command of each act.
func TestLongInterrupted(t *testing.T) {
	long.Only(t)
	for _, tt := range []struct {
		name, act string
		command   string // where, by its name or a part of its key
		skip      int
		want      string
	}{
		{"at once", "A", "", 0, "nothing yet"},
		{"in act A", "A", "EXEC", 100, "A  WATCH by hand, Redis"},
		{"in act B", "AB", "WATCH@proxy", 50, "A  cas, Redis"},
		{"in act C", "C", "EVALSHA", 200, "C  lockupdate, proxy"},
		{"at a post", "C", "HSETNX@proxy", 20, "C  lockupdate, proxy"},
		{"in act D", "D", "EVALSHA", 60, "nothing yet"},
		{"in act E", "E", ":e:ab:new:", 50, "E  cas, a second cas in shadow"},
		{"at a bug", "E", ":e:expiry:new:", 30, "E  cas, lockupdate in shadow"},
		{"in act F", "CF", ":f:room:", 100, "C  lockupdate, proxy"},
		{"at a stall", "E", ":e:guard:new:", 30, "E  cas, lockupdate in shadow"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if underRace && tt.act == "E" {
				t.Skip("the act takes minutes under the race detector")
			}
			cfg, legacy, proxy := servers(t, "codis", tt.act)
			cfg.sample = 40
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			command, atProxy := strings.CutSuffix(tt.command, "@proxy")
			on := legacy
			if atProxy || command == "EVALSHA" {
				on = proxy
			}
			var match func(args []string) bool
			if part := command; strings.HasPrefix(part, ":") {
				on, command = proxy, "EVALSHA"
				match = func(args []string) bool { return strings.Contains(args[3], part) }
			}
			if command == "" {
				cancel()
			} else {
				on.Inject(proxytest.Fault{Command: command, Match: match, Skip: tt.skip, Action: proxytest.Delay, Do: cancel})
			}
			code, out, errs := played(t, ctx, cfg)
			assert.Equal(t, exitInterrupted, code, errs)
			assert.Empty(t, errs)
			require.Contains(t, out, "Interrupted. Done until then:")
			_, after, _ := strings.Cut(out, "Interrupted.")
			assert.Contains(t, after, tt.want)
			control := regexp.MustCompile(`D  lock only, stalls.*`)
			assert.NotRegexp(t, ` [1-9][0-9,]* lost`, control.ReplaceAllString(after, ""))
			assert.NotContains(t, out, "VERDICT")
			for _, p := range []*proxytest.Proxy{legacy, proxy} {
				assert.Empty(t, p.Engine(0).Keys(), "keys left behind")
				require.NoError(t, p.Close())
			}
			assert.Eventually(t, func() bool { return leftBehind() == "" }, 5*time.Second, 10*time.Millisecond)
			assert.Empty(t, leftBehind(), "goroutines left behind")
		})
	}
}

// Negative control of the program: a server that loses updates.
func TestBrokenPromiseIsReported(t *testing.T) {
	t.Parallel()
	cfg, _, proxy := servers(t, "codis", "C")
	cfg.prefix = "test:"
	proxy.Inject(proxytest.Fault{
		Command: "EVALSHA", Skip: 100, Action: proxytest.DelayReply,
		Match: func(args []string) bool { return strings.HasPrefix(args[3], "test:c:room:") && len(args) > 5 },
		// After the commit, before its reply.
		Do: func() {
			for _, key := range proxy.Engine(0).Keys() {
				if strings.HasPrefix(key, "test:c:room:") && !strings.HasSuffix(key, ":lock") {
					proxy.Engine(0).Del(key)
				}
			}
		},
	})
	code, out, _ := played(t, context.Background(), cfg)
	assert.Equal(t, exitBroken, code)
	assert.Contains(t, out, "VERDICT: A PROMISE WAS BROKEN.")
	assert.Regexp(t, `lockupdate: [0-9]+ updates lost`, out)
	assert.Regexp(t, `C  lockupdate, proxy .* BROKEN`, out)
}

// Updates of a key with another type fail with the reason, and the key is unchanged.
func TestWrongType(t *testing.T) {
	long.Repeats(t)
	t.Parallel()
	cfg, legacy, proxy := servers(t, "codis", "AC")
	cfg.prefix = "test:"
	for key, p := range map[string]*proxytest.Proxy{
		"test:a:WATCH by hand:room:lobby": legacy, "test:a:cas:room:lobby": legacy, "test:c:room:lobby": proxy,
	} {
		_, err := p.Engine(0).Push(key, "a list")
		require.NoError(t, err)
	}
	code, out, errs := played(t, context.Background(), cfg)
	assert.Equal(t, exitOK, code, "nothing that was acknowledged is missing: "+out+errs)
	assert.Equal(t, 3, strings.Count(out, "not acknowledged, the first: "))
	assert.Contains(t, unwrapped(out), "WRONGTYPE")
	assert.Contains(t, unwrapped(out), "wrong kind of value: the key holds a list")
}
