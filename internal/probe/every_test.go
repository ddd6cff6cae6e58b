package probe_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/probe"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
)

// Every emulated proxy is recognized, and the probe harms none of them.
func TestEveryProxy(t *testing.T) {
	for _, name := range proxycompat.Names() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				proxy := play(t, name)
				r := ask(t, proxy, probe.Config{Prefix: "mine:"})
				recognized(t, r, name)
				for line := range strings.SplitSeq(r.Text(), "\n") {
					assert.LessOrEqual(t, len([]rune(line)), probe.Width, line)
				}
				safe(t, proxy, name)
				assert.LessOrEqual(t, nothingStays(t, proxy, engines(name)), r.Left)
			})
		})
	}
}

// recognized checks the most similar profile. The engine lacks a few commands of Redis and its version, so
// plain servers are left to the integration tests.
func recognized(t *testing.T, r *probe.Report, name string) {
	t.Helper()
	if name == "redis" {
		return
	}
	assert.Equal(t, name, r.MostLike(), r.Text())
	assert.Equal(t, name, r.Base)
	assert.True(t, r.AllCommands)
	for _, d := range r.Differences {
		assert.Equal(t, probe.Refused, d.Observed, "%s %s: only the engine lacks commands", d.Command, d.Case)
	}
}

// safe checks that the probe sent no command that this proxy forwards into shared connections, and used no
// foreign key.
func safe(t *testing.T, proxy *proxytest.Proxy, name string) {
	t.Helper()
	profile, err := proxycompat.Lookup(name)
	require.NoError(t, err)
	calls := proxy.Calls()
	assert.Greater(t, len(calls), 1000)
	for _, c := range calls {
		if profile.RuleFor(c.Args...).Verdict == proxycompat.HarmsOthers {
			t.Fatalf("%s was sent", c.Command())
		}
		at, _ := proxycompat.KeysOf(c.Args...)
		for _, i := range at {
			if !strings.HasPrefix(c.Args[i], "mine:") {
				t.Fatalf("%s: the key %q is not its own", c.Command(), c.Args[i])
			}
		}
	}
}
