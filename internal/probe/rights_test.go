package probe_test

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/probe"
	"github.com/unwatch/unwatch/internal/testing/long"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
)

// forbid makes a proxy answer like a server with a user that may use only these commands, or all others.
func forbid(p *proxytest.Proxy, allBut bool, commands ...string) {
	p.Inject(proxytest.Fault{
		Match: func(args []string) bool { return slices.Contains(commands, strings.ToUpper(args[0])) == allBut },
		Times: -1, Action: proxytest.RefuseWith, Text: "NOPERM this user has no permissions to run the 'x' command",
	})
}

// A user with few permissions allows no conclusion.
func TestUserWithFewPermissions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, given := range []*proxycompat.Profile{nil, proxycompat.Codis32()} {
			proxy := play(t, "redis")
			forbid(proxy, false, "PING", "SET", "DEL", "PEXPIRE", "AUTH")
			r := ask(t, proxy, probe.Config{Profile: given})
			assert.False(t, r.Enough)
			assert.Empty(t, r.MostLike()+r.Lookup()+r.Base)
			assert.Empty(t, r.Likeness)
			assert.Empty(t, r.Differences)
			assert.Nil(t, r.BaseProfile())
			assert.Equal(t, probe.Limits{}, r.Limits)
			assert.Equal(t, probe.Transactions{}, r.Transactions)
			assert.Contains(t, r.NotEnough(), "the user lacks the right for GET, ECHO")
			text := words(r)
			for _, wrong := range []string{"It is as", "MULTI", "EVAL: refused", "Values:", "Lookup", "WATCH was not asked"} {
				assert.NotContains(t, text, wrong)
			}
			assert.Contains(t, text, "gave too few conclusive answers to name a similar profile")
			assert.Zero(t, nothingStays(t, proxy, 1))
		}
	})
}

// Missing permissions are not attributed to the address.
func TestUserWithSomePermissions(t *testing.T) {
	playing(t, "redis", func(t *testing.T, proxy *proxytest.Proxy) {
		forbid(proxy, true, "PING", "MULTI", "EXEC", "WATCH", "EVAL", "GET", "SELECT")
		r := ask(t, proxy, probe.Config{})
		assert.True(t, r.Enough)
		assert.Equal(t, probe.Transactions{Multi: probe.NoRight, Watch: probe.NoRight}, r.Transactions)
		assert.Equal(t, probe.NoRight, r.Scripts.Eval)
		assert.Equal(t, probe.NoRight, r.Databases)
		assert.Empty(t, r.Limits)
		text := words(r)
		assert.Contains(t, text, "Whether MULTI works is not known: the user may not use it.")
		assert.Contains(t, text, "Whether WATCH works is not known: the user may not use it.")
		assert.Contains(t, text, "Unknown whether scripts run")
		assert.Contains(t, text, "The user may not use 7 commands (NOPERM)")
		assert.NotContains(t, text, "one by one")
		assert.NotContains(t, text, "Values:")
	})
}

// The first commands report a missing permission, not an unready server.
func TestUserWithoutSet(t *testing.T) {
	playing(t, "redis", func(t *testing.T, proxy *proxytest.Proxy) {
		forbid(proxy, true, "PING", "SET")
		_, err := probe.Probe(t.Context(), proxy.Addr(), probe.Config{Dial: proxy.Dial})
		var failed *probe.ConnectError
		require.ErrorAs(t, err, &failed)
		assert.Equal(t, probe.LacksRight, failed.Reason)
		assert.Contains(t, err.Error(), "SET fails: NOPERM")
		assert.Contains(t, err.Error(), "Prefix")
	})
}

// Without permission for PEXPIRE every written key has an expiry.
func TestNoExpiry(t *testing.T) {
	long.Repeats(t)
	playing(t, "redis", func(t *testing.T, proxy *proxytest.Proxy) {
		forbid(proxy, true, "PEXPIRE", "EXPIRE", "DEL", "UNLINK")
		r := ask(t, proxy, probe.Config{Risky: true})
		assert.Contains(t, r.WritesSkipped, "NOPERM")
		assert.False(t, r.AllCommands)
		assert.Positive(t, nothingStays(t, proxy, 1))
		assert.Positive(t, r.Left)
		assert.Zero(t, r.Lasting)
		for _, call := range proxy.Calls() {
			assert.NotContains(t, []string{"HSET", "RPUSH", "MSET", "APPEND"}, call.Command())
		}
	})
}

// A permission lost during the probe is reported.
func TestExpiryIsNoLongerAcknowledged(t *testing.T) {
	long.Repeats(t)
	playing(t, "redis", func(t *testing.T, proxy *proxytest.Proxy) {
		proxy.Inject(proxytest.Fault{Command: "PEXPIRE", Skip: 3, Times: -1, Action: proxytest.RefuseWith, Text: "NOPERM now"})
		proxy.Inject(proxytest.Fault{Command: "DEL", Skip: 1, Times: -1, Action: proxytest.RefuseWith, Text: "NOPERM now"})
		r := ask(t, proxy, probe.Config{Prefix: "mine:"})
		lasting := 0
		for _, key := range proxy.Engine(0).Keys() {
			if proxy.Engine(0).TTL(key) == 0 {
				lasting++
			}
		}
		assert.Positive(t, lasting)
		assert.GreaterOrEqual(t, r.Lasting, lasting)
		assert.Contains(t, words(r), `was not acknowledged: look for keys that begin with "mine:"`)
	})
}

// A proxy may execute a command after it has reported an error and after the key was deleted. No key stays
// without an expiry.
func TestLongLateExecution(t *testing.T) {
	t.Parallel()
	long.Only(t)
	for _, command := range []string{"HSET", "SADD", "BITOP"} {
		for _, action := range []proxytest.Action{proxytest.RefuseWith, proxytest.DropRequest, proxytest.HangRequest} {
			synctest.Test(t, func(t *testing.T) {
				proxy := start(t, proxytest.Config{})
				var mu sync.Mutex
				var first []any
				proxy.Inject(proxytest.Fault{
					Command: command, Action: action, Text: "ERR handle response, backend conn reset",
					Match: func(args []string) bool {
						mu.Lock()
						defer mu.Unlock()
						if first == nil {
							for _, arg := range args {
								first = append(first, arg)
							}
						}
						return true
					},
				})
				r := ask(t, proxy, probe.Config{Timeout: 500 * time.Millisecond})
				assert.Positive(t, r.Left, "that a value is left in its place is said")
				assert.Zero(t, r.Lasting)
				client := redis.NewClient(proxy.Options())
				client.Do(t.Context(), first...) // it may fail
				require.NoError(t, client.Close())
				t.Log(command, action)
				nothingStays(t, proxy, 1)
			})
		}
	}
}

// After AUTH a connection counts as unused: if the peer closes it, the command is the cause.
func TestPasswordAndCloses(t *testing.T) {
	t.Parallel()
	long.Repeats(t)
	synctest.Test(t, func(t *testing.T) {
		twemproxy, err := proxycompat.Lookup("twemproxy")
		require.NoError(t, err)
		proxy := start(t, proxytest.Config{Profile: twemproxy, Password: "x", Engines: 2})
		r := ask(t, proxy, probe.Config{Password: "x"})
		assert.Equal(t, "twemproxy", r.MostLike())
		assert.Equal(t, probe.Disconnects, r.Transactions.Watch)
		without := ask(t, start(t, proxytest.Config{Profile: twemproxy, Engines: 2}), probe.Config{})
		assert.InDelta(t, without.Dialled, r.Dialled, 10, "a password makes no connections more")
	})
}
