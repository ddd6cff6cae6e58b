package lockupdate_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/testing/contract"
	"github.com/unwatch/unwatch/internal/testing/long"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
)

// newBench returns an in-process proxy with two backends that cfg.Commit needs, or one server, on fake time.
func newBench(profile *proxycompat.Profile, cfg lockupdate.Config) contract.Bench {
	b := contract.Bench{
		Proxy: proxytest.Config{Profile: profile, Engines: 2, InMemory: true},
		Open:  func(rdb *redis.Client) rmw.Store { return lockupdate.New(rdb, cfg) },

		EqualWrites: cfg.SoleWriter,
	}
	if profile.Server() {
		b.Proxy.Engines = 1
	}
	for _, s := range nativeStores {
		if s.commit == cfg.Commit {
			b.Proxy.Store, b.ExpiryUnit, b.Kinds = s.store, s.unit, []rmw.Kind{rmw.KindString}
		}
	}
	return b
}

func TestContract(t *testing.T) {
	codis := proxycompat.Codis32()
	run := func(name string, profile *proxycompat.Profile, cfg lockupdate.Config, repeats bool) {
		t.Run(name, func(t *testing.T) {
			if repeats {
				long.Repeats(t)
			}
			newBench(profile, cfg).RunFake(t)
		})
	}
	for _, name := range []string{codis.Name(), "twemproxy", "redis", "codis@3.2", "twemproxy@3.2", "redis@3.2"} {
		profile, err := proxycompat.Lookup(name)
		require.NoError(t, err)
		run(name, profile, lockupdate.Config{}, name != codis.Name())
	}
	run("on demand", codis, onDemand, false)
	for name, cfg := range map[string]lockupdate.Config{
		"sole writer":  {SoleWriter: true},
		"no combining": {NoCombining: true},
		"linger":       {Linger: 5 * time.Millisecond},
		"master reads": {MasterReads: true},
	} {
		run(name, codis, cfg, cfg.SoleWriter || cfg.MasterReads)
		for _, s := range nativeStores {
			cfg.Commit = s.commit
			run(s.commit.String()+", "+name, codis, cfg, true)
		}
	}
	for _, s := range nativeStores {
		repeats := s.commit == lockupdate.CommitDELIFEQ || s.commit == lockupdate.CommitCAS
		run(s.commit.String(), codis, lockupdate.Config{Commit: s.commit}, repeats)
	}
}

// The contract holds over every proxy with all its faults at once: reordered pipelines, lagging
// replicas, lost script caches, and slot migrations.
func TestLongContractOverEveryProxy(t *testing.T) {
	long.Only(t)
	eachProxy(t, func(name string, proxy proxytest.Config, cfg lockupdate.Config) {
		b := contract.Bench{
			Proxy:   proxy,
			Trouble: trouble,
			// Lost script caches add commands, and the clauses wait for a timeout of each.
			Options: func(p *proxytest.Proxy) *redis.Options {
				o := p.Options()
				o.ReadTimeout = time.Second
				return o
			},
			Open: func(rdb *redis.Client) rmw.Store {
				rdb.AddHook(proxycompat.Hook(proxy.Profile))
				return lockupdate.New(rdb, cfg)
			},
		}
		if cfg.Commit == lockupdate.CommitVX {
			b.Kinds, b.ExpiryUnit = []rmw.Kind{rmw.KindString}, time.Second
		}
		t.Run(name, b.RunFake)
	})
}

// trouble moves slots by both methods, and empties script caches: less often while there are no commands, which may be for hours.
func trouble(ctx context.Context, p *proxytest.Proxy) {
	rng := rand.New(rand.NewPCG(1, 2))
	var commands atomic.Int64
	defer p.Inject(proxytest.Fault{Times: -1, Match: func([]string) bool { commands.Add(1); return false }})()
	for quiet := 1; ; quiet = min(2*quiet, 4096) {
		if commands.Swap(0) > 0 {
			quiet = 1
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Duration(quiet*(1+rng.IntN(20))) * time.Millisecond):
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

// Servers hang, execute timed-out commands later, and close connections. Every acknowledged update
// is stored once. The contract cannot run under these faults: its calls expect exact results.
func TestLongNoUpdateIsLostWhileServersHang(t *testing.T) {
	long.Only(t)
	eachProxy(t, func(name string, proxy proxytest.Config, cfg lockupdate.Config) {
		cfg.Lease = 100 * time.Millisecond
		if cfg.Commit == lockupdate.CommitVX {
			cfg.Lease = 2 * time.Second // its expiries are in seconds
		}
		bubble(t, name, func(t *testing.T) {
			acked, lost, failed := runDuringHangs(t, proxy, opener(t, cfg))
			t.Logf("%d updates acknowledged, %d lost, %d answered with an error", acked, lost, failed)
			assert.Zero(t, lost)
			assert.Greater(t, acked, 20, "too few updates")
			assert.Positive(t, failed, "no update failed, so the faults had no effect")
		})
	})
}

// Negative control: a plain lock loses updates under the same faults.
func TestPlainLockLosesUpdatesWhileServersHang(t *testing.T) {
	long.Repeats(t)
	proxy := proxytest.Config{Profile: proxycompat.Codis32(), Engines: 3, Parallel: 4}
	requireLoss(t, proxy, func(_ *testing.T, rdb *redis.Client) rmw.Updater {
		return plainLock{rdb: rdb, lease: 100 * time.Millisecond, commit: writeAndUnlock}
	})
}

// With auto_eject_hosts, twemproxy moves the keys of a hanging server to another one, and back
// later. No client can prevent that loss.
func TestAutoEjectLosesUpdates(t *testing.T) {
	long.Repeats(t)
	proxy := proxytest.Config{Profile: proxycompat.Twemproxy05(), Engines: 3, AutoEject: true}
	requireLoss(t, proxy, func(t *testing.T, rdb *redis.Client) rmw.Updater {
		return opener(t, lockupdate.Config{Lease: 100 * time.Millisecond})(rdb)
	})
}

// requireLoss requires a lost update in ten runs. About one run in fifteen loses none.
func requireLoss(t *testing.T, proxy proxytest.Config, open func(*testing.T, *redis.Client) rmw.Updater) {
	t.Helper()
	acked, lost := 0, 0
	for range 10 {
		synctest.Test(t, func(t *testing.T) {
			acked, lost, _ = runDuringHangs(t, proxy, func(rdb *redis.Client) rmw.Updater { return open(t, rdb) })
		})
		if lost > 0 {
			return
		}
	}
	t.Errorf("none of %d updates was lost: the faults have no effect, or the documents are wrong", acked)
}

// runDuringHangs updates two keys while servers hang. It counts acknowledged, lost and failed
// updates.
func runDuringHangs(t *testing.T, cfg proxytest.Config, open func(*redis.Client) rmw.Updater) (acked, lost, failed int) {
	t.Helper()
	return runWriters(t, cfg, []string{"{n}:data", "other"}, 40, func(t *testing.T, p *proxytest.Proxy) (end func()) {
		p.Inject(everyNth(23, proxytest.Fault{Action: proxytest.DropReply}))
		p.Inject(everyNth(29, proxytest.Fault{Action: proxytest.DropRequest}))
		p.Inject(everyNth(31, proxytest.Fault{Action: proxytest.ExecuteLater, Delay: 150 * time.Millisecond}))
		ctx, cancel := context.WithCancel(t.Context())
		var troubles sync.WaitGroup
		troubles.Go(func() { trouble(ctx, p) })
		troubles.Go(func() { hangServers(ctx, p) })
		return func() {
			cancel()
			troubles.Wait()
			time.Sleep(time.Second) // until all late commands are executed
		}
	}, open)
}

// everyNth applies the fault to every nth script or SET.
func everyNth(n int, f proxytest.Fault) proxytest.Fault {
	var mu sync.Mutex
	seen := 0
	f.Times = -1
	f.Match = func(args []string) bool {
		if !slices.Contains([]string{"EVAL", "EVALSHA", "SET"}, strings.ToUpper(args[0])) {
			return false
		}
		mu.Lock()
		defer mu.Unlock()
		seen++
		return seen%n == 0
	}
	return f
}

// hangServers makes one random server after another hang for a while, until ctx ends.
func hangServers(ctx context.Context, p *proxytest.Proxy) {
	rng := rand.New(rand.NewPCG(3, 4))
	for {
		backend := rng.IntN(p.Backends())
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Duration(20+rng.IntN(60)) * time.Millisecond):
		}
		p.Sleep(backend)
		select {
		case <-ctx.Done():
		case <-time.After(time.Duration(1+rng.IntN(40)) * time.Millisecond):
		}
		p.Wake(backend)
	}
}

// eachProxy calls test with every profile, several servers behind it, and a Config that it permits.
func eachProxy(t *testing.T, test func(name string, proxy proxytest.Config, cfg lockupdate.Config)) {
	for name, profile := range profiles(t) {
		proxy := proxytest.Config{
			Profile: profile, Engines: 3, InMemory: true, Parallel: 4,
			ReplicaLag: 20 * time.Millisecond, BackendTimeout: 20 * time.Millisecond,
		}
		var cfg lockupdate.Config
		switch {
		case profile.Server():
			proxy.Engines = 1
		case name == "pika":
			cfg.Commit, proxy.Store = lockupdate.CommitVX, proxytest.Pika
			proxy.ReplicaLag = 0 // no read of Pika goes to the master: see CommitVX
		case !takesScripts(profile):
			continue // see TestProfilesThatRefuseScripts
		}
		test(name, proxy, cfg)
	}
}

// Store keeps the contract in many programs.
func TestPrograms(t *testing.T) { runPrograms(t, 200) }

func TestLongPrograms(t *testing.T) {
	long.Only(t)
	runPrograms(t, 1500)
}

func runPrograms(t *testing.T, programs int) {
	newBench(proxycompat.Codis32(), lockupdate.Config{}).RunPrograms(t, programs)
}
