package main

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/proxycompat/proxytest"
)

func TestRunCodis(t *testing.T) {
	t.Parallel()
	code, out, errs := played(t, context.Background(), small(t, "codis"))
	require.Equal(t, exitOK, code, out+errs)
	require.Empty(t, errs)
	for _, want := range []string{
		"The first 400 of 24,000 recorded events",
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
		"VERDICT: behind the proxy, each of the 700 updates that lockupdate acknowledged",
	} {
		assert.Contains(t, unwrapped(out), want)
	}
	assert.Regexp(t, `one update, alone: round trips +3 +3 +2 \+ 1 later\n +commands +5 +5 +4\n`, out)
	assert.Regexp(t, `C  lockupdate, proxy +400 +0 +0   kept`, out)
	assert.Regexp(t, `D  lock only, stalls +300 +[1-9][0-9]* +0   none given`, out, "the control must lose updates")
	assert.Regexp(t, `D  lock \+ guard, same stalls +300 +0 +0   kept`, out)
	if !underRace {
		assert.Regexp(t, `E  cas, lockupdate in shadow +200 +0 +0   kept`, out)
		assert.Regexp(t, `E  cas, planted bugs in shadow .* 3 found`, out)
	}
	assert.NotContains(t, out, "Reports of the shadow", "none were asked for")
	assert.NotContains(t, out, "\x1b", "colours without a terminal")
}

func TestRunTwemproxy(t *testing.T) {
	t.Parallel()
	cfg := small(t, "twemproxy")
	cfg.noShadow = true
	code, out, errs := played(t, context.Background(), cfg)
	require.Equal(t, exitOK, code, out+errs)
	assert.Contains(t, unwrapped(out), "without the dialer of proxycompat.Options it could not even connect")
	assert.Contains(t, out, "EOF: the connection was closed without a word")
	assert.Contains(t, out, "after    last=(none)  posts=(none)   nothing was written")
	assert.NotContains(t, out, "yet written")
	assert.Regexp(t, `D  lock only, stalls +300 +[1-9]`, out)
}

// unwrapped joins the lines of a text, so that a test can search for a sentence.
func unwrapped(text string) string {
	return text + regexp.MustCompile(`\n +`).ReplaceAllString(text, " ") + strings.ReplaceAll(text, "\n", " ")
}

func TestOwnStream(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "own.jsonl")
	require.NoError(t, os.WriteFile(file, []byte(strings.Join([]string{
		`{"room":"a","op":"join","member":"ann"}`, ``,
		`{"room":"a","op":"post","member":"ann","text":"unknown fields are fine"}`,
		`{"room":"a","op":"leave","member":"ann"}`,
	}, "\r\n")), 0o600))
	cfg := small(t, "codis")
	cfg.events = file
	code, out, errs := played(t, context.Background(), cfg)
	require.Equal(t, exitOK, code, out+errs)
	assert.Contains(t, out, "3 events of ")
	assert.Contains(t, out, "3 of 3 updates fail like this")
	assert.Contains(t, unwrapped(out), "300 updates of the 3 busiest rooms of the recording",
		"three events cannot show a race")
}

// On real servers, foreign keys stay, and the keys of the rehearsal are deleted.
func TestOnServers(t *testing.T) {
	t.Parallel()
	for _, profile := range []string{"codis", "twemproxy"} {
		t.Run(profile, func(t *testing.T) {
			cfg, legacy, proxy := servers(t, profile)
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
		})
	}
}

// Other proxies behave as in their profiles, including proxies that permit transactions.
func TestOtherProxies(t *testing.T) {
	t.Parallel()
	for profile, want := range map[string]string{
		"predixy":        "ERR forbid transaction in current server pool",
		"predixy-single": "is answered, as the profile says: works on a private connection to the master",
		"alibaba":        "no error, yet only one of the keys was written",
	} {
		cfg := small(t, profile)
		cfg.noShadow = true
		cfg.prefix = "unwatch-rehearsal:0:" // puts the keys of the transaction on two servers
		code, out, errs := played(t, context.Background(), cfg)
		require.Equal(t, exitOK, code, out+errs)
		assert.Contains(t, unwrapped(out), want, profile)
		assert.NotContains(t, out, "not the one that the profile describes")
	}
}

func TestUnreachable(t *testing.T) {
	nobody := func() string {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		defer l.Close()
		return l.Addr().String()
	}()
	for _, tt := range []struct {
		name  string
		spoil func(*config)
		want  string
	}{
		{"legacy", func(c *config) { c.legacy = "redis://" + nobody }, "cannot reach the legacy Redis at " + nobody},
		{"proxy", func(c *config) { c.proxy = nobody }, "cannot reach the proxy at " + nobody},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cfg, _, _ := servers(t, "codis")
			tt.spoil(&cfg)
			began := time.Now()
			code, out, errs := played(t, context.Background(), cfg)
			assert.Equal(t, exitBroken, code)
			assert.Contains(t, errs, tt.want)
			assert.Contains(t, errs, "connection refused")
			assert.Contains(t, errs, "Check that it runs")
			assert.Empty(t, out)
			assert.Less(t, time.Since(began), 2*reachable)
		})
	}
}

// A server accepts the connection and never replies.
func TestSilentServer(t *testing.T) {
	t.Parallel()
	cfg, _, proxy := servers(t, "codis")
	proxy.Inject(proxytest.Fault{Command: "PING", Action: proxytest.HangRequest, Times: -1})
	code, _, errs := played(t, context.Background(), cfg)
	assert.Equal(t, exitBroken, code)
	assert.Contains(t, errs, "cannot reach the proxy at "+proxy.Addr())
}

func TestBadLegacyURL(t *testing.T) {
	cfg, _, _ := servers(t, "codis")
	cfg.legacy = "http://user:secret@127.0.0.1:1"
	code, _, errs := played(t, context.Background(), cfg)
	assert.Equal(t, exitUsage, code)
	assert.Contains(t, errs, "-legacy http://…@127.0.0.1:1")
	assert.NotContains(t, errs, "secret")
}

// Ctrl-C at a command of each act.
func TestInterrupted(t *testing.T) {
	for _, tt := range []struct {
		name    string
		command string
		skip    int
		want    string
	}{
		{"at once", "", 0, "nothing yet"},
		{"in act A", "EXEC", 100, "A  WATCH by hand, Redis"},
		{"in act B", "WATCH@proxy", 50, "A  cas, Redis"},
		{"in act C", "EVALSHA", 500, "C  lockupdate, proxy"},
		{"in act D", "EVALSHA", 2400, "C  lockupdate, proxy"},
		{"in act E", ":e:ab:new:", 500, "E  cas, a second cas in shadow"},
		{"at a bug", ":e:expiry:new:", 500, "E  cas, lockupdate in shadow"},
		{"at a stall", ":e:guard:new:", 300, "E  cas, lockupdate in shadow"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if underRace && strings.HasPrefix(tt.command, ":e:") {
				t.Skip("the act takes minutes under the race detector")
			}
			cfg, legacy, proxy := servers(t, "codis")
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
			control := regexp.MustCompile(`D  lock only, stalls .*`)
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
	cfg, _, proxy := servers(t, "codis")
	cfg.prefix, cfg.noShadow = "test:", true
	proxy.Inject(proxytest.Fault{
		Command: "EVALSHA", Skip: 200, Action: proxytest.DelayReply,
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
	t.Parallel()
	cfg, legacy, proxy := servers(t, "codis")
	cfg.prefix, cfg.noShadow = "test:", true
	for key, p := range map[string]*proxytest.Proxy{
		"test:a:hand:room:lobby": legacy, "test:a:cas:room:lobby": legacy, "test:c:room:lobby": proxy,
	} {
		_, err := p.Engine(0).Push(key, "a list")
		require.NoError(t, err)
	}
	code, out, errs := played(t, context.Background(), cfg)
	assert.Equal(t, exitOK, code, "nothing that was acknowledged is missing: "+out+errs)
	assert.Equal(t, 3, strings.Count(out, "not acknowledged, the first: "))
	assert.Contains(t, unwrapped(out), "WRONGTYPE")
	assert.Contains(t, unwrapped(out), "wrong kind of value: the key holds a list")
	assert.Contains(t, unwrapped(out), "it was not touched")
}
