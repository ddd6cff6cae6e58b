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
			bubble(t, func(t *testing.T, r *rig) {
				require.NoError(t, update(add("x"))(r.open(follow)))
				p := r.openWith(cutover.Config{Stage: follow, Replicas: tc.replicas})
				if tc.prepare != nil {
					tc.prepare(t, r, p)
				}
				for i, c := range p.clients {
					c.AddHook(tc.sides[i])
				}
				gates, err := p.Preflight(t.Context(), r.sweep(16))
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
				v, err := p.Read(t.Context(), rmw.Key{Name: "other"})
				if name != "no Lua" {
					require.NoError(t, err)
					assert.False(t, v.Exists())
				}
			})
		})
	}
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
