package lockupdate_test

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/contract"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
)

// The contract holds over every proxy, with all that it can do to us going on at once:
// pipelines in no order, replicas that are behind, scripts forgotten, and slots moving.
func TestContractOverEveryProxy(t *testing.T) {
	for _, name := range proxycompat.Names() {
		profile, err := proxycompat.Lookup(name)
		require.NoError(t, err)
		var cfg lockupdate.Config
		b := contract.Bench{
			Proxy: proxytest.Config{
				Profile: profile, Engines: 3, InMemory: true, Parallel: 4, ReplicaLag: 20 * time.Millisecond,
			},
			Trouble: trouble,
			// Forgotten scripts are more commands to try the faults on, each of which is
			// waited for.
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
			b.Proxy.ReplicaLag = 0 // it has no read that is taken for a write: see CommitVX
		case !takesScripts(profile):
			continue // see TestWhereScriptsAreRefused
		}
		b.Open = func(rdb *redis.Client) rmw.Store {
			rdb.AddHook(proxycompat.Hook(profile))
			return lockupdate.New(rdb, cfg)
		}
		t.Run(name, b.RunFake)
	}
}

// trouble moves slots to and fro, now in one way and now in the other, and has servers
// forget their scripts.
func trouble(ctx context.Context, p *proxytest.Proxy) {
	rng := rand.New(rand.NewPCG(1, 2))
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Duration(1+rng.IntN(20)) * time.Millisecond):
		}
		_ = p.FlushScripts(rng.IntN(p.Backends())) // an error only says that the proxy is closed
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

// someSlot is that of a key that is stored.
func someSlot(p *proxytest.Proxy, rng *rand.Rand) (int, bool) {
	keys := p.Engine(rng.IntN(p.Backends())).Keys()
	if len(keys) == 0 {
		return 0, false
	}
	return p.Slot(keys[rng.IntN(len(keys))])
}
