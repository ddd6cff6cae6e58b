package probe_test

import (
	"runtime"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/probe"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
)

func start(t *testing.T, cfg proxytest.Config) *proxytest.Proxy {
	t.Helper()
	cfg.InMemory = true
	p, err := proxytest.Start(cfg)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, p.Close()) })
	return p
}

// play starts the proxy of a profile with its maximum number of servers.
func play(t *testing.T, name string) *proxytest.Proxy {
	t.Helper()
	profile, err := proxycompat.Lookup(name)
	require.NoError(t, err)
	return start(t, proxytest.Config{Profile: profile, Engines: engines(name)})
}

// engines returns the number of servers behind a proxy of this profile.
func engines(name string) int {
	switch name {
	case "redis", "cluster", "predixy-single":
		return 1
	}
	return 2
}

// playing runs f in fake time with the proxy of a profile, in parallel to other tests.
func playing(t *testing.T, name string, f func(t *testing.T, proxy *proxytest.Proxy)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { f(t, play(t, name)) })
}

// words returns the text of a report on one line.
func words(r *probe.Report) string { return strings.Join(strings.Fields(r.Text()), " ") }

func ask(t *testing.T, p *proxytest.Proxy, cfg probe.Config) *probe.Report {
	t.Helper()
	cfg.Dial = p.Dial
	if cfg.Budget == 0 {
		cfg.Budget = budget
	}
	r, err := probe.Probe(t.Context(), p.Addr(), cfg)
	require.NoError(t, err)
	return r
}

// nothingStays checks that every remaining key has an expiry.
func nothingStays(t *testing.T, p *proxytest.Proxy, servers int) (left int) {
	t.Helper()
	for i := range servers {
		for _, key := range p.Engine(i).Keys() {
			left++
			t.Logf("left on server %d: %s", i, key)
			assert.Positive(t, p.Engine(i).TTL(key), "%s stays for ever", key)
		}
	}
	return left
}

// ours counts the goroutines of package probe.
func ours() int {
	buf := make([]byte, 1<<20)
	n := 0
	for g := range strings.SplitSeq(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
		if strings.Contains(g, "internal/probe.(*") || strings.Contains(g, "internal/probe.Probe") {
			n++
		}
	}
	return n
}
