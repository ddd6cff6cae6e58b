package lockupdate_test

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/testing/contract"
	"github.com/unwatch/unwatch/internal/testing/long"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
)

// The contract holds over every proxy with all its faults at once: reordered pipelines, lagging
// replicas, lost script caches, and slot migrations.
func TestLongContractOverEveryProxy(t *testing.T) {
	long.Only(t)
	for _, name := range proxycompat.Names() {
		profile, err := proxycompat.Lookup(name)
		require.NoError(t, err)
		var cfg lockupdate.Config
		b := contract.Bench{
			Proxy: proxytest.Config{
				Profile: profile, Engines: 3, InMemory: true, Parallel: 4, ReplicaLag: 20 * time.Millisecond,
			},
			Trouble: trouble,
			// Lost script caches add commands, and the clauses wait for a timeout of each.
			Options: func(p *proxytest.Proxy) *redis.Options {
				o := p.Options()
				o.ReadTimeout = time.Second
				return o
			},
		}
		switch {
		case profile.Server():
			b.Proxy.Engines = 1
		case name == "pika":
			cfg.Commit, b.Proxy.Store, b.Kinds = lockupdate.CommitVX, proxytest.Pika, []rmw.Kind{rmw.KindString}
			b.ExpiryUnit = time.Second
			b.Proxy.ReplicaLag = 0 // no read of Pika goes to the master: see CommitVX
		case !takesScripts(profile):
			continue // see TestProfilesThatRefuseScripts
		}
		b.Open = func(rdb *redis.Client) rmw.Store {
			rdb.AddHook(proxycompat.Hook(profile))
			return lockupdate.New(rdb, cfg)
		}
		t.Run(name, b.RunFake)
	}
}

// trouble moves slots by both methods, and empties script caches.
func trouble(ctx context.Context, p *proxytest.Proxy) {
	rng := rand.New(rand.NewPCG(1, 2))
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Duration(1+rng.IntN(20)) * time.Millisecond):
		}
		_ = p.FlushScripts(rng.IntN(p.Backends())) // it fails only if the proxy is closed
		slot, ok := someSlot(p, rng)
		if !ok {
			continue
		}
		m, err := p.MoveSlot(slot, rng.IntN(p.Backends()), proxytest.Method(rng.IntN(2)))
		if err != nil {
			continue
		}
		for more := true; more && err == nil; {
			more, err = m.Step(time.Duration(rng.IntN(5)) * time.Millisecond)
		}
		_ = m.Finish()
	}
}

// someSlot returns the slot of a random stored key.
func someSlot(p *proxytest.Proxy, rng *rand.Rand) (int, bool) {
	keys := p.Engine(rng.IntN(p.Backends())).Keys()
	if len(keys) == 0 {
		return 0, false
	}
	return p.Slot(keys[rng.IntN(len(keys))])
}
