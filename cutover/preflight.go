package cutover

import (
	"context"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/cutover/internal/protocol"
	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/rmw"
)

// Preflight checks the conditions of a cut-over before the first key moves. It reads both stores and
// writes nothing. A condition that it cannot read, such as the configuration of a server behind a
// proxy, is GateUnknown. Without cfg.Masters it checks the servers only, not the keys.
//
// It cannot see blind writers and processes without this package: see migrate-check live.
func (s *Store) Preflight(ctx context.Context, cfg SweepConfig) ([]Gate, error) {
	err := s.invalid
	if err == nil {
		err = s.gate.Enter()
	}
	if err != nil {
		return nil, redisx.Fail("cutover", "preflight", rmw.Key{}, 0, err)
	}
	defer s.gate.Leave()
	var gates []Gate
	for _, side := range []protocol.Side{protocol.Old, protocol.New} {
		gates = append(gates, s.runsScripts(ctx, side), s.evictsNoMarker(ctx, side))
	}
	gates = append(gates, s.replicates(ctx, protocol.Old), s.replicates(ctx, protocol.New))
	if len(cfg.Masters) == 0 || gates[0].State != GateOpen || gates[2].State != GateOpen {
		return gates, nil // no key can be looked at
	}
	report, err := s.Verify(ctx, cfg)
	if err != nil {
		return gates, err
	}
	for _, row := range []struct {
		name string
		keys Keys
		do   string
	}{
		{"two homes", report.TwoHomes, "delete them in the new store, and keep mirrors away from these names"},
		{"markers with an expiry", report.Expiring, "PERSIST them, and find the process that sends EXPIRE"},
		{"impossible states", report.Illegal, "find the writer that copies markers"},
		{"no answer", report.Failed, "repair the store that does not answer"},
	} {
		g := Gate{Name: row.name, Have: fmt.Sprint(row.keys.Count), Need: "0", State: GateOpen}
		if row.keys.Count > 0 {
			g.State, g.Do = GateClosed, row.do+": "+some(row.keys.Names)
		}
		gates = append(gates, g)
	}
	return append(gates,
		Gate{Name: "keys too large", Have: fmt.Sprint(report.TooLarge.Count), Need: "0 at the end", State: GateOpen},
		Gate{Name: "keys of other types", Have: fmt.Sprint(report.OtherType.Count), Need: "0 at the end", State: GateOpen}), nil
}

func (s *Store) runsScripts(ctx context.Context, side protocol.Side) Gate {
	g := Gate{Name: fmt.Sprintf("scripts, %v", side), Have: "runs them", Need: "EVAL", State: GateOpen}
	if _, err := s.mover.look(ctx, side, internalPrefix+"probe"); err != nil {
		g.State, g.Have = GateClosed, redisx.WithoutArguments(err).Error()
		g.Do = "permit EVAL, EVALSHA and cutover.RequiredCommands, or use a server with Lua"
	}
	return g
}

func (s *Store) evictsNoMarker(ctx context.Context, side protocol.Side) Gate {
	g := Gate{Name: fmt.Sprintf("eviction, %v", side), Need: "not allkeys-*", State: GateOpen}
	var policy string
	cmd, err := await(ctx, s.gate, func(ctx context.Context) *redis.MapStringStringCmd {
		cmd := redis.NewMapStringStringCmd(ctx, "config", "get", "maxmemory-policy")
		_ = s.mover.clients[side].Process(ctx, cmd)
		return cmd
	})
	if err == nil {
		policy = cmd.Val()["maxmemory-policy"]
	}
	switch {
	case policy == "":
		g.State, g.Have = GateUnknown, "cannot be read"
		g.Do = "read maxmemory-policy on each server: an evicted marker leaves two homes"
		return g
	case policy != "noeviction" && !strings.HasPrefix(policy, "volatile-"):
		g.State, g.Do = GateClosed, "change maxmemory-policy on each server: an evicted marker leaves two homes"
	}
	g.Have = policy
	return g
}

func (s *Store) replicates(ctx context.Context, side protocol.Side) Gate {
	field := replicasField[side]
	g := Gate{Name: fmt.Sprintf("replicas, %v", side), Need: "as " + field, State: GateOpen}
	cmd, err := await(ctx, s.gate, func(ctx context.Context) *redis.StringCmd {
		cmd := redis.NewStringCmd(ctx, "info", "replication")
		_ = s.mover.clients[side].Process(ctx, cmd)
		return cmd
	})
	if err != nil || cmd.Err() != nil {
		g.State, g.Have, g.Do = GateUnknown, "cannot be read", "set "+field+" to the number of replicas of each master; behind a proxy it must be 0: see docs/cutover.md, failovers"
		return g
	}
	replicas := 0
	for line := range strings.Lines(cmd.Val()) {
		_, _ = fmt.Sscanf(line, "connected_slaves:%d", &replicas)
	}
	if g.Have = fmt.Sprint(replicas); replicas > s.mover.replicas[side] {
		g.State = GateClosed
		g.Do = fmt.Sprintf("set %s to %d in every process: a failover that forgets a marker leaves two homes", field, replicas)
	}
	return g
}
