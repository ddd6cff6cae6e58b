package probe

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/testing/long"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
)

// stepsOf runs some steps of a probe, without earlier ones that would detect a replica.
func stepsOf(t *testing.T, cfg proxytest.Config, fault func(proxy *proxytest.Proxy) proxytest.Fault,
	steps ...func(*prober, context.Context) error,
) (r *Report) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		cfg.InMemory = true
		proxy, err := proxytest.Start(cfg)
		require.NoError(t, err)
		defer func() { assert.NoError(t, proxy.Close()) }()
		if fault != nil {
			proxy.Inject(fault(proxy))
		}
		cfg, err := Config{Dial: proxy.Dial}.withDefaults()
		require.NoError(t, err)
		p := &prober{addr: proxy.Addr(), cfg: cfg, keys: newKeyring("steps:"), deletes: "DEL", report: &Report{Enough: true}}
		for _, step := range append([]func(*prober, context.Context) error{(*prober).settle, (*prober).askExpiry}, steps...) {
			require.NoError(t, step(p, t.Context()))
		}
		p.cleanUp(t.Context())
		assert.Zero(t, p.report.Left)
		r = p.report
	})
	return r
}

// A stale replica does not limit the size of values, with or without scripts.
func TestStaleReadIsNoLimit(t *testing.T) {
	for _, store := range []proxytest.Store{proxytest.Lua, proxytest.Pika} {
		r := stepsOf(t, proxytest.Config{ReplicaLag: time.Hour, Store: store}, nil, (*prober).askLimits)
		assert.Equal(t, 1<<20, r.Limits.Value, store)
		assert.Empty(t, r.Limits.ValueEnd, store)
		assert.Equal(t, Count{Asked: 3, Found: 3}, r.Reads.Get, store)
		text := strings.Join(r.Meaning(), "\n")
		assert.Contains(t, text, "GET is old after a write, in 3 of 3: a replica answers.")
		assert.Contains(t, text, "Values: 1048576 bytes went through; more was not tried.")
	}
}

// A value that the master lacks, too, exceeds a limit.
func TestShortenedValueIsALimit(t *testing.T) {
	r := stepsOf(t, proxytest.Config{}, func(proxy *proxytest.Proxy) proxytest.Fault {
		large := func(key string) bool { return strings.HasSuffix(key, "large") }
		return proxytest.Fault{
			Command: "GET", Skip: 1,
			Match: func(args []string) bool { return large(args[1]) },
			Do: func() {
				for _, key := range slices.DeleteFunc(proxy.Engine(0).Keys(), func(key string) bool { return !large(key) }) {
					assert.NoError(t, proxy.Engine(0).Set(key, "short"))
				}
			},
		}
	}, (*prober).askLimits)
	assert.Equal(t, 64<<10, r.Limits.Value)
	assert.Equal(t, "262144 bytes: another value came back", r.Limits.ValueEnd)
	assert.Equal(t, Count{Asked: 1}, r.Reads.Get)
}

// Servers that were asked for a script and do not answer are not taken for one server.
func TestSilenceIsNotOneServer(t *testing.T) {
	r := stepsOf(t, proxytest.Config{}, func(*proxytest.Proxy) proxytest.Fault {
		return proxytest.Fault{Command: "EVALSHA", Skip: cacheKeys, Times: -1, Action: proxytest.HangRequest}
	}, (*prober).askCaches)
	assert.Zero(t, r.Scripts.Caches)
}

// A stale read is no reordering, even if no earlier read has shown the replica.
func TestStaleReadIsNoDisorder(t *testing.T) {
	long.Repeats(t)
	r := stepsOf(t, proxytest.Config{ReplicaLag: time.Hour}, nil, (*prober).askScripts, (*prober).askOrdering)
	assert.Positive(t, r.Ordering.SameKey.Asked)
	assert.Zero(t, r.Ordering.SameKey.Found)
}
