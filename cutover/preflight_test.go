package cutover_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/cutover"
	"github.com/unwatch/unwatch/internal/testing/long"
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

func TestPreflight(t *testing.T) {
	sound := operator{"noeviction", "0"}
	for name, tc := range map[string]struct {
		sides    [2]operator
		replicas int
		prepare  func(t *testing.T, r *rig, p process)
		closed   string // the gate that is not open; "": none
		do       string
	}{
		"sound":               {sides: [2]operator{sound, sound}},
		"volatile":            {sides: [2]operator{{"volatile-lru", "0"}, sound}},
		"old evicts":          {sides: [2]operator{{"allkeys-lru", "0"}, sound}, closed: "eviction, old", do: "change maxmemory-policy"},
		"new evicts":          {sides: [2]operator{sound, {"allkeys-lfu", "0"}}, closed: "eviction, new", do: "change maxmemory-policy"},
		"unreadable":          {sides: [2]operator{sound, {"", "0"}}, closed: "eviction, new", do: "read maxmemory-policy"},
		"replicas":            {sides: [2]operator{{"noeviction", "2"}, sound}, closed: "replicas, old", do: "Config.Replicas to 2"},
		"replicas, confirmed": {sides: [2]operator{{"noeviction", "2"}, sound}, replicas: 2},
		"new replicas":        {sides: [2]operator{sound, {"noeviction", "1"}}, closed: "replicas, new", do: "Config.NewReplicas to 1"},
		"no Lua": {
			sides: [2]operator{sound, sound}, closed: "scripts, new", do: "permit EVAL",
			prepare: func(_ *testing.T, r *rig, _ process) {
				r.proxies[1].Inject(proxytest.Fault{
					Match: func(args []string) bool { return strings.HasPrefix(strings.ToLower(args[0]), "eval") }, Times: -1,
					Action: proxytest.RefuseWith, Text: "ERR unknown command 'EVALSHA'",
				})
			},
		},
		"a key only in the new store": {
			sides: [2]operator{sound, sound}, closed: "own keys, new", do: "before a process serves them; name those of other services " +
				"in SweepConfig.Foreign (-foreign): other",
			prepare: func(t *testing.T, _ *rig, p process) {
				require.NoError(t, p.clients[1].Set(t.Context(), "other", "foreign", 0).Err())
			},
		},
		"values in the new store": {
			sides: [2]operator{sound, sound}, closed: "two homes", do: "delete them in the new store, and keep mirrors away from these names: room",
			prepare: func(t *testing.T, _ *rig, p process) {
				require.NoError(t, p.clients[1].Set(t.Context(), room.Name, "mirror", 0).Err())
			},
		},
		"a marker with an expiry": {
			sides: [2]operator{sound, sound}, closed: "markers with an expiry", do: "PERSIST",
			prepare: func(t *testing.T, r *rig, p process) {
				require.NoError(t, update(add("x"))(r.open(forward)))
				require.NoError(t, p.clients[0].Expire(t.Context(), room.Name, 3600e9).Err())
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.closed != "" {
				long.Repeats(t)
			}
			bubble(t, func(t *testing.T, r *rig) {
				require.NoError(t, update(add("x"))(r.open(follow)))
				p := r.openWith(cutover.Config{Stage: follow, Replicas: tc.replicas})
				if tc.prepare != nil {
					tc.prepare(t, r, p)
				}
				for i, c := range p.clients {
					c.AddHook(tc.sides[i])
				}
				gates, err := p.Preflight(t.Context(), r.both(16))
				require.NoError(t, err)
				for _, g := range gates {
					if g.Name != tc.closed {
						assert.Equal(t, cutover.GateOpen, g.State, "%+v", g)
						assert.Empty(t, g.Do)
						continue
					}
					assert.NotEqual(t, cutover.GateOpen, g.State)
					assert.Contains(t, g.Do, tc.do)
					tc.closed = ""
				}
				assert.Empty(t, tc.closed)
			})
		})
	}
}

// Without clients of its servers, nothing is known of the keys of the new store. A scan of it alone finds
// them, also those that the old store has.
func TestPreflightOfTheNewStore(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		p := r.open(follow)
		for name, side := range map[string]int{"only": 1, "twice": 1, "foreign": 1, "moves": 0} {
			require.NoError(t, p.clients[side].Set(t.Context(), name, "x", 0).Err())
		}
		require.NoError(t, p.clients[0].Set(t.Context(), "twice", "x", 0).Err())
		closed := func(cfg cutover.SweepConfig) (gates []string) {
			all, err := p.Preflight(t.Context(), cfg)
			require.NoError(t, err)
			for _, g := range all {
				if g.State == cutover.GateClosed {
					gates = append(gates, g.Name+": "+g.Have+": "+g.Do)
				}
			}
			return gates
		}
		const own, other = "own keys, new: ", "two homes: 1: delete them in the new store, and keep mirrors away from these names: twice"
		assert.Equal(t, []string{own + "not looked at: name every server of the new store in SweepConfig.NewMasters (-new-masters), behind its proxy"},
			closed(cutover.SweepConfig{}))
		cfg := r.both(16)
		cfg.Masters = nil
		cfg.Foreign = func(name string) bool { return name == "foreign" }
		assert.Equal(t, []string{own + "1: move them to the old store or delete them, before a process serves them; " +
			"name those of other services in SweepConfig.Foreign (-foreign): only", other}, closed(cfg))
	})
}

// asked is a server that answers CONFIG GET.
type asked struct {
	engine
	operator
}

func (a asked) Process(_ context.Context, cmd redis.Cmder) error {
	return a.ProcessHook(nil)(context.Background(), cmd)
}

func (asked) Pipeline() redis.Pipeliner { return nil }

// Behind a proxy, the policy is that of the servers.
func TestPreflightAsksTheServers(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		p, cfg := r.open(follow), r.both(16)
		for _, tc := range []struct {
			policies [2]string
			want     cutover.Gate
		}{
			{[2]string{"noeviction", "volatile-ttl"}, cutover.Gate{Have: "volatile-ttl", State: cutover.GateOpen}},
			{[2]string{"noeviction", "allkeys-lru"}, cutover.Gate{
				Have: "allkeys-lru", State: cutover.GateClosed, Do: "change maxmemory-policy on each server: an evicted marker leaves two homes",
			}},
			{[2]string{"noeviction", ""}, cutover.Gate{
				Have: "cannot be read", State: cutover.GateUnknown, Do: "read maxmemory-policy on each server: an evicted marker leaves two homes",
			}},
		} {
			for i, policy := range tc.policies {
				cfg.NewMasters[i] = asked{engine{r.proxies[1].Engine(i)}, operator{policy: policy}}
			}
			gates, err := p.Preflight(t.Context(), cfg)
			require.NoError(t, err)
			tc.want.Name, tc.want.Need = "eviction, new", "not allkeys-*"
			assert.Contains(t, gates, tc.want)
		}
	})
}

// Preflight returns when its ctx ends, and after Close.
func TestPreflightEnds(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		for _, proxy := range r.proxies {
			proxy.Inject(proxytest.Fault{Match: func([]string) bool { return true }, Times: -1, Action: proxytest.HangRequest})
		}
		p := r.open(follow)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		gates, err := p.Preflight(ctx, cutover.SweepConfig{})
		require.NoError(t, err)
		assert.Equal(t, time.Second, time.Since(began))
		for _, g := range gates {
			assert.NotEqual(t, cutover.GateOpen, g.State, g.Name)
		}
		require.NoError(t, p.Close())
		_, err = p.Preflight(t.Context(), cutover.SweepConfig{})
		require.ErrorIs(t, err, rmw.ErrClosed)
	})
}
