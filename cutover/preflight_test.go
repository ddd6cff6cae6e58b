package cutover_test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/cutover"
	"github.com/unwatch/unwatch/cutover/operate"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
)

// operator answers CONFIG GET and INFO, which the emulated servers do not have.
type operator struct{ policy, replicas string }

func (operator) DialHook(next redis.DialHook) redis.DialHook { return next }

func (o operator) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		switch cmd := cmd.(type) {
		case *redis.MapStringStringCmd:
			cmd.SetVal(map[string]string{"maxmemory-policy": o.policy})
			return nil
		case *redis.StringCmd:
			if cmd.Args()[0] == "info" {
				cmd.SetVal("# Replication\r\nrole:master\r\nconnected_slaves:" + o.replicas + "\r\n")
				return nil
			}
		}
		return next(ctx, cmd)
	}
}

func (operator) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// asked is a server that answers CONFIG GET.
type asked struct {
	engine
	operator
}

func (a asked) Process(ctx context.Context, cmd redis.Cmder) error {
	return a.ProcessHook(nil)(ctx, cmd)
}
func (asked) Pipeline() redis.Pipeliner { return nil }

// sound has the configuration that a cut-over needs.
var sound = operator{"noeviction", "0"}

// unmet returns the gates that are not open, as "name: have: do".
func unmet(t *testing.T, p process, sides [2]operator, cfg operate.SweepConfig) (unmet []string) {
	for i, c := range p.clients {
		c.AddHook(sides[i])
	}
	for _, g := range p.preflight(cfg) {
		assert.NotEmpty(t, g.Have, g.Name)
		if g.State != operate.GateOpen {
			unmet = append(unmet, strings.Join(append([]string{g.Name, g.Have, g.Do}, g.Names...), ": "))
		} else {
			assert.Empty(t, g.Do, g.Name)
		}
	}
	return unmet
}

func TestPreflight(t *testing.T) {
	with := func(policy, replicas string) operator { return operator{policy, replicas} }
	for name, tc := range map[string]struct {
		old, new operator
		servers  [2]string // policies of the new store's servers, asked if its proxy has none
		replicas int
		prepare  func(t *testing.T, r *rig)
		want     string // how the list of unmet conditions begins; "": all are met
	}{
		"sound":             {old: sound, new: sound},
		"volatile":          {old: with("volatile-lru", "0"), new: sound},
		"old evicts":        {old: with("allkeys-lru", "0"), new: sound, want: "eviction, old: allkeys-lru: change maxmemory-policy"},
		"new evicts":        {old: sound, new: with("allkeys-lfu", "0"), want: "eviction, new: allkeys-lfu: change maxmemory-policy"},
		"unreadable":        {old: sound, new: with("", "0"), want: "eviction, new: cannot be read: read maxmemory-policy on each server"},
		"servers, volatile": {old: sound, new: with("", "0"), servers: [2]string{"noeviction", "volatile-ttl"}},
		"a server evicts": {old: sound, new: with("", "0"), servers: [2]string{"noeviction", "allkeys-lru"},
			want: "eviction, new: allkeys-lru: change maxmemory-policy on each server"},
		"a server, unreadable": {old: sound, new: with("", "0"), servers: [2]string{"noeviction", ""},
			want: "eviction, new: cannot be read: read maxmemory-policy on each server"},
		"replicas":            {old: with("noeviction", "2"), new: sound, want: "replicas, old: 2: set Config.Replicas to 2"},
		"replicas, confirmed": {old: with("noeviction", "2"), new: sound, replicas: 2},
		"new replicas":        {old: sound, new: with("noeviction", "1"), want: "replicas, new: 1: set Config.NewReplicas to 1"},
		"no Lua": {
			old: sound, new: sound, want: "scripts, new: ERR unknown command 'EVALSHA': permit EVAL", prepare: func(_ *testing.T, r *rig) {
				r.proxies[1].Inject(proxytest.Fault{
					Match:  func(args []string) bool { return strings.HasPrefix(strings.ToLower(args[0]), "eval") },
					Action: proxytest.RefuseWith, Text: "ERR unknown command 'EVALSHA'", Times: -1,
				})
			},
		},
		"a marker with an expiry": {
			old: sound, new: sound, want: "markers with an expiry: 1: PERSIST", prepare: func(t *testing.T, r *rig) {
				r.open(forward).add("x")
				require.NoError(t, r.admin(0).Expire(t.Context(), room.Name, time.Hour).Err())
			},
		},
	} {
		runShort(t, name, tc.want == "", func(t *testing.T, r *rig) {
			r.open(follow).add("x")
			if tc.prepare != nil {
				tc.prepare(t, r)
			}
			cfg := r.both(16)
			for i, policy := range tc.servers {
				cfg.NewMasters[i] = asked{engine{r.proxies[1].Engine(i)}, operator{policy: policy}}
			}
			got := unmet(t, r.openWith(cutover.Config{Replicas: tc.replicas}), [2]operator{tc.old, tc.new}, cfg)
			if tc.want == "" {
				assert.Empty(t, got)
			} else {
				if name == "no Lua" { // a read needs it, too
					assert.Regexp(t, "^two stores: not seen: ", got[0])
					got = got[1:]
				}
				assert.True(t, len(got) == 1 && strings.HasPrefix(got[0], tc.want), "%q", got)
			}
		})
	}
}

// waits answers WAIT, which the emulated servers do not have.
type waits struct{ operator }

func (waits) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if cmd.Args()[0] == "wait" {
			return nil
		}
		return next(ctx, cmd)
	}
}

// A proxy refuses INFO and WAIT: no number of replicas but 0 is right there. A server that only refuses INFO may have
// replicas.
func TestPreflightBehindAProxy(t *testing.T) {
	const number = "set Config.NewReplicas to the number of replicas of each master; behind a proxy it must be 0: INFO: "
	for name, tc := range map[string]struct {
		replicas int
		past     bool // without clients of the masters
		refusal  string
		hook     redis.Hook
		want     operate.Gate
	}{
		"none": {want: operate.Gate{
			Have: "a proxy, no WAIT", State: operate.GateOpen,
			Warning: "a failover of a server behind the proxy can forget a move: see docs/cutover.md#failovers",
		}},
		"one": {replicas: 1, want: operate.Gate{
			Have: "a proxy, no WAIT", State: operate.GateClosed,
			Do: "set Config.NewReplicas to 0 in every process: no move behind a proxy can wait for replicas",
		}},
		"unknown masters": {past: true, want: operate.Gate{
			Have: "cannot be read", State: operate.GateUnknown, Do: number + "ERR backend server 'replication' not found",
		}},
		"no rights": {refusal: "NOPERM no rights", want: operate.Gate{
			Have: "cannot be read", State: operate.GateUnknown, Do: number + "NOPERM no rights",
		}},
		"a server": {hook: waits{}, want: operate.Gate{
			Have: "cannot be read", State: operate.GateUnknown, Do: number + "ERR backend server 'replication' not found",
		}},
	} {
		run(t, name, func(t *testing.T, r *rig) {
			if tc.refusal != "" {
				r.proxies[1].Inject(proxytest.Fault{
					Match:  func(args []string) bool { return strings.EqualFold(args[0], "info") },
					Action: proxytest.RefuseWith, Text: tc.refusal, Times: -1,
				})
			}
			p, cfg := r.openWith(cutover.Config{NewReplicas: tc.replicas}), r.both(16)
			if tc.hook != nil {
				p.clients[1].AddHook(tc.hook)
			}
			if tc.past {
				cfg.NewMasters = nil
			}
			tc.want.Name, tc.want.Need = "replicas, new", "as Config.NewReplicas"
			assert.Contains(t, p.preflight(cfg), tc.want)
		})
	}
}

// Without clients of its servers, nothing is known of the keys of the new store. A scan of it alone finds
// them, also those that the old store has.
func TestPreflightOfTheNewStore(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		for side, names := range [2][]string{{"moves", "twice"}, {"only", "twice", "foreign"}} {
			for _, name := range names {
				require.NoError(t, r.admin(side).Set(t.Context(), name, "x", 0).Err())
			}
		}
		cfg := r.both(16)
		cfg.Masters = nil
		cfg.Foreign = func(name string) bool { return name == "foreign" }
		p, both := r.open(follow), [2]operator{sound, sound}
		assert.Equal(t, []string{"own keys, new: not looked at: name every server of the new store in SweepConfig.NewMasters (-new-masters), " +
			"behind its proxy"}, unmet(t, p, both, operate.SweepConfig{}))
		assert.Equal(t, []string{
			"own keys, new: 1: move them to the old store or delete them, before a process serves them; " +
				"name those of other services in SweepConfig.Foreign (-foreign): only",
			"two homes: 1: delete them in the new store, and keep mirrors away from these names: twice",
		}, unmet(t, p, both, cfg))
	})
}

// A set-up in which a key is in both stores, or not where the configuration says, ends the Preflight: advice about
// keys would be wrong, such as to delete one that has a copy in the new store.
func TestPreflightTellsStoresApart(t *testing.T) {
	for name, tc := range map[string]struct {
		setUp func(r *rig, sides *[2]cutover.Side, cfg *operate.SweepConfig)
		want  string
	}{
		"two stores": {setUp: func(*rig, *[2]cutover.Side, *operate.SweepConfig) {}},
		"no masters": {setUp: func(_ *rig, _ *[2]cutover.Side, cfg *operate.SweepConfig) { cfg.Masters, cfg.NewMasters = nil, nil }},
		"one store": {
			setUp: func(r *rig, sides *[2]cutover.Side, cfg *operate.SweepConfig) {
				sides[1], cfg.NewMasters = sides[0], cfg.Masters
			},
			want: "one store: 64 of 64 keys that are written through the old store are in the new one, too: use another server",
		},
		"an old master is left out": {
			setUp: func(r *rig, sides *[2]cutover.Side, cfg *operate.SweepConfig) {
				sides[0], sides[1] = sides[1], sides[0]
				cfg.Masters, cfg.NewMasters = cfg.NewMasters[:1], nil
			},
			want: " keys of the old store are on no master: name each of its masters in SweepConfig.Masters",
		},
		"a master of another store": {
			setUp: func(_ *rig, _ *[2]cutover.Side, cfg *operate.SweepConfig) {
				cfg.NewMasters = append(cfg.NewMasters, cfg.Masters[0])
			},
			want: "a wrong master: number 3 of SweepConfig.NewMasters (-new-masters) has no key",
		},
		"an old master of another store": {
			setUp: func(_ *rig, _ *[2]cutover.Side, cfg *operate.SweepConfig) { cfg.Masters = cfg.NewMasters[:1] },
			want:  "a wrong master: number 1 of SweepConfig.Masters (-old-masters) has no key",
		},
		"a master is left out": {
			setUp: func(_ *rig, _ *[2]cutover.Side, cfg *operate.SweepConfig) { cfg.NewMasters = cfg.NewMasters[:1] },
			want:  " keys of the new store are on no master: name each of its masters in SweepConfig.NewMasters",
		},
		"a client of the other store": {
			setUp: func(_ *rig, sides *[2]cutover.Side, _ *operate.SweepConfig) { sides[1].Redis = sides[0].Redis },
			want:  "one store: 64 of 64",
		},
		"two addresses": {
			setUp: func(_ *rig, sides *[2]cutover.Side, cfg *operate.SweepConfig) {
				cfg.Proxies = []cutover.Commands{sides[0].Redis, sides[0].Redis}
				cfg.NewProxies = []cutover.Commands{sides[1].Redis, sides[1].Redis}
			},
		},
		"an address of another store": {
			setUp: func(r *rig, sides *[2]cutover.Side, cfg *operate.SweepConfig) {
				third := start(r.t, proxytest.Config{Profile: proxycompat.Redis()}).admin(0)
				cfg.NewProxies = []cutover.Commands{sides[1].Redis, third}
			},
			want: "a wrong address: number 2 of SweepConfig.NewProxies (-new) lacks 128 of 128 keys that are written through the first one",
		},
		"an address of one master": {
			setUp: func(r *rig, sides *[2]cutover.Side, cfg *operate.SweepConfig) {
				sides[0], sides[1] = sides[1], sides[0]
				cfg.Masters, cfg.NewMasters = cfg.NewMasters, nil
				one := start(r.t, proxytest.Config{
					Profile: proxycompat.Codis32(), Backends: []string{"engine"},
					Dial: func(context.Context, string, string) (net.Conn, error) { return r.proxies[1].Engine(0).Dial() },
				}).admin(0)
				cfg.Proxies = []cutover.Commands{sides[0].Redis, one}
			},
			want: " of 128 keys that are written through the first one: name proxies of one store only, and its servers in",
		},
		"a Store of another server": {
			setUp: func(_ *rig, sides *[2]cutover.Side, _ *operate.SweepConfig) { sides[1].Store = sides[0].Store },
			want:  "a wrong client: the Store of the new Side does not have the keys of its Redis",
		},
	} {
		run(t, name, func(t *testing.T, r *rig) {
			p, cfg := r.open(follow), r.both(16)
			var sides [2]cutover.Side
			for i, c := range p.clients {
				c.AddHook(sound)
				sides[i] = cutover.Side{Store: p.stores[i], Redis: c}
			}
			tc.setUp(r, &sides, &cfg)
			store := cutover.New(sides[0], sides[1], cutover.Config{})
			defer func() { require.NoError(t, store.Close()) }()
			gates, err := operate.Preflight(t.Context(), store, cfg)
			require.NoError(t, err)
			require.Equal(t, "two stores", gates[0].Name)
			for i := range r.proxies[1].Backends() {
				assert.Empty(t, r.proxies[1].Engine(i).Keys(), "probe keys are left")
			}
			assert.Empty(t, r.admin(0).Keys(t.Context(), "*").Val(), "probe keys are left")
			if tc.want == "" {
				assert.Equal(t, operate.GateOpen, gates[0].State, gates[0].Have)
				require.NoError(t, operate.CheckStores(t.Context(), store, cfg))
				return
			}
			assert.Equal(t, operate.GateClosed, gates[0].State)
			assert.Contains(t, gates[0].Have+": "+gates[0].Do, tc.want)
			for _, g := range gates[1:] {
				assert.NotContains(t, g.Do, "delete")
			}
			err = operate.CheckStores(t.Context(), store, cfg)
			require.ErrorIs(t, err, rmw.ErrInvalid)
			require.ErrorContains(t, err, tc.want)
		})
	}
}

// CheckStores waits for a store that is away, as a pass does, and no longer than a pass.
func TestCheckStoresOutlivesAnOutage(t *testing.T) {
	for side := range 2 {
		for _, limit := range []time.Duration{0, time.Second} {
			run(t, fmt.Sprint(side, limit), func(t *testing.T, r *rig) {
				p, cfg := r.open(follow), r.both(16)
				cfg.MaxOutage = limit
				cut := new(atomic.Bool)
				cut.Store(true)
				p.clients[side].AddHook(cable{cut})
				time.AfterFunc(2*time.Second, func() { cut.Store(false) })
				err := operate.CheckStores(t.Context(), p.Store, cfg)
				if limit > 0 {
					require.ErrorIs(t, err, rmw.ErrUnavailable)
				} else {
					require.NoError(t, err)
				}
			})
		}
	}
}

// Preflight returns when its ctx ends, and after Close.
func TestPreflightEnds(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		for _, proxy := range r.proxies {
			proxy.Inject(proxytest.Fault{Match: every, Times: -1, Action: proxytest.HangRequest})
		}
		p := r.open(follow)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		gates, err := operate.Preflight(ctx, p.Store, operate.SweepConfig{})
		require.NoError(t, err)
		assert.Equal(t, time.Second, time.Since(began))
		for _, g := range gates {
			assert.NotEqual(t, operate.GateOpen, g.State, g.Name)
		}
		require.NoError(t, p.Close())
		_, err = operate.Preflight(t.Context(), p.Store, operate.SweepConfig{})
		require.ErrorIs(t, err, rmw.ErrClosed)
	})
}
