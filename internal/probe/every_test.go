package probe_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/probe"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
)

// Every emulated proxy is recognized, and the probe harms none of them: it sends no command that the proxy
// forwards into shared connections, and uses no foreign key.
func TestEveryProxy(t *testing.T) {
	for _, name := range proxycompat.Names() {
		t.Run(name, func(t *testing.T) {
			playing(t, name, func(t *testing.T, proxy *proxytest.Proxy) {
				r := ask(t, proxy, probe.Config{Prefix: "mine:"})
				if name != "redis" { // the engine lacks commands and a version: integration tests have plain servers
					assert.Equal(t, name, r.MostLike(), r.Text())
					assert.Equal(t, name, r.Base)
					assert.True(t, r.AllCommands)
					for _, d := range r.Differences {
						assert.Equal(t, probe.Refused, d.Observed, "%s %s: only the engine lacks commands", d.Command, d.Case)
					}
				}
				for line := range strings.SplitSeq(r.Text(), "\n") {
					assert.LessOrEqual(t, len([]rune(line)), probe.Width, line)
				}
				profile, err := proxycompat.Lookup(name)
				require.NoError(t, err)
				assert.Greater(t, len(proxy.Calls()), 1000)
				for _, c := range proxy.Calls() {
					require.NotEqual(t, proxycompat.HarmsOthers, profile.RuleFor(c.Args...).Verdict, c.Command())
					at, _ := proxycompat.KeysOf(c.Args...)
					for _, i := range at {
						require.True(t, strings.HasPrefix(c.Args[i], "mine:"), "%s: the key %q is not its own", c.Command(), c.Args[i])
					}
				}
				assert.LessOrEqual(t, nothingStays(t, proxy, engines(name)), r.Left)
			})
		})
	}
}
