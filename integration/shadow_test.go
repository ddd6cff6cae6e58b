package integration

import (
	"context"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/testing/servers"
	"github.com/unwatch/unwatch/internal/testing/unguarded"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/shadow/report"
)

func onRedis(t *testing.T) func() *redis.Options {
	server := servers.Redis(t)
	return func() *redis.Options { return proxycompat.Options(proxycompat.Redis(), server.Addr) }
}

func onNutcracker(t *testing.T) func() *redis.Options {
	nutcracker := servers.Nutcracker(t, []string{servers.Redis(t).Addr, servers.Redis(t).Addr}, 2)
	return func() *redis.Options { return proxycompat.Options(proxycompat.Twemproxy05(), nutcracker.Addr) }
}

// Two stores without a fault: everything is compared, and there is no finding.
func TestShadowOfAFleet(t *testing.T) {
	t.Parallel()
	for name, on := range map[string]func(*testing.T) func() *redis.Options{"redis": onRedis, "nutcracker": onNutcracker} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := shadowed(t, on(t), lockupdate.Config{}, nil)
			f.traffic(1, 60)
			f.drain()
			r := f.report()
			assert.Empty(t, blocking(r), told(r))
			var compared, audited int64
			for _, op := range r.Operations {
				audited += op.Audited
				for _, tally := range op.Tallies {
					compared += tally.Compared
				}
			}
			t.Logf("%d comparisons, %d commits audited", compared, audited)
			assert.Positive(t, audited)
			assert.Equal(t, "closed", r.Health.Breaker)
		})
	}
}

// dropping is a path that drops expiries.
type dropping struct{ rmw.Store }

func (d dropping) Unwrap() rmw.Store { return d.Store }

func (d dropping) Update(ctx context.Context, key rmw.Key, fn rmw.UpdateFunc) (rmw.Result, error) {
	key.TTL = rmw.NoTTL
	return d.Store.Update(ctx, key, fn)
}

func TestShadowFindsDroppedExpiries(t *testing.T) {
	t.Parallel()
	f := shadowed(t, onRedis(t), lockupdate.Config{}, func(s rmw.Store) rmw.Store { return dropping{s} })
	f.traffic(2, 15)
	f.drain()
	r := f.report()
	assert.Contains(t, blocking(r), "seeded ttl ")
	assert.Equal(t, report.NotReady, r.Judge(report.Policy{}).State)
}

// Commits delayed past the lease lose updates if they are unguarded.
func TestShadowFindsLostUpdates(t *testing.T) {
	t.Parallel()
	for name, hooks := range map[string][]redis.Hook{"unguarded": {unguarded.Hook{}}, "guarded": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const lease = 40 * time.Millisecond
			relay, err := proxytest.Start(proxytest.Config{Profile: proxycompat.Redis(), Backends: []string{servers.Redis(t).Addr}})
			require.NoError(t, err)
			t.Cleanup(func() { assert.NoError(t, relay.Close()) })
			var nth atomic.Int64
			stop := relay.Inject(proxytest.Fault{
				Command: "EVALSHA", Match: func(args []string) bool {
					// A stall delays all commands of a process, including renewals.
					renewal := args[3] == "/lock/~shadow:free:{k0}" && len(args) == 6
					commit := args[3] == "~shadow:free:{k0}" && len(args) == 8
					return renewal || commit && nth.Add(1)%5 == 0
				},
				Times: -1, Action: proxytest.Delay, Delay: 3 * lease,
			})
			f := shadowed(t, relay.Options, lockupdate.Config{Lease: lease}, nil, hooks...)
			lost := func() int64 {
				f.drain()
				return blocking(f.merged())["free lost_update "]
			}
			for round := uint64(0); round < 8 && lost() == 0; round++ {
				if f.traffic(3+round, 20); hooks == nil && round == 1 {
					break
				}
			}
			stop()
			assert.Greater(t, nth.Load(), int64(5), "no commit was delayed")
			if hooks != nil {
				assert.Positive(t, lost(), "nothing was lost, so the guarded run proves nothing")
				return
			}
			assert.Zero(t, lost())
			r := f.merged() // the lease is too short to publish on a busy machine
			assert.Empty(t, blocking(r), told(r))
		})
	}
}

// The candidate is unreachable for a while: that is no finding.
func TestShadowOfAnOutage(t *testing.T) {
	t.Parallel()
	for name, outage := range map[string]func(relay *proxytest.Proxy, backend *servers.Server) (end func()){
		"a proxy that restarts": func(relay *proxytest.Proxy, _ *servers.Server) func() {
			return relay.Inject(proxytest.Fault{Times: -1, Action: proxytest.DropRequest})
		},
		"a server that hangs": func(_ *proxytest.Proxy, backend *servers.Server) func() {
			_ = backend.Signal(syscall.SIGSTOP)
			return func() { _ = backend.Signal(syscall.SIGCONT) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			backend := servers.Redis(t)
			nutcracker := servers.Nutcracker(t, []string{backend.Addr, servers.Redis(t).Addr}, 2)
			relay, err := proxytest.Start(proxytest.Config{Profile: proxycompat.Redis(), Backends: []string{nutcracker.Addr}})
			require.NoError(t, err)
			t.Cleanup(func() { assert.NoError(t, relay.Close()) })
			f := shadowed(t, func() *redis.Options {
				return proxycompat.Options(proxycompat.Twemproxy05(), relay.Addr())
			}, lockupdate.Config{}, nil)
			f.traffic(5, 10)
			end := outage(relay, backend)
			var during sync.WaitGroup
			during.Go(func() { f.traffic(6, 20) })
			patience := time.NewTimer(4 * time.Second)
			<-patience.C // an unreachable store cannot report itself
			end()
			during.Wait()
			require.Eventually(t, func() bool { // half-open, the breaker tries again
				f.traffic(7, 2)
				for _, s := range f.fleet {
					if s.Report().Health.Breaker != "closed" {
						return false
					}
				}
				return true
			}, 30*time.Second, 500*time.Millisecond)
			f.traffic(8, 10)
			f.drain()
			r := f.report()
			assert.Empty(t, blocking(r), told(r))
			t.Logf("breaker trips: %d", r.Health.BreakerTrips)
			errs := r.Health.Candidate.Errors
			assert.Positive(t, errs["unavailable"]+errs["outcome unknown"]+errs["timeout"])
		})
	}
}
