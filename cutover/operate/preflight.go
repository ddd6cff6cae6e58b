package operate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/cutover"
	"github.com/unwatch/unwatch/cutover/internal/mover"
	"github.com/unwatch/unwatch/cutover/internal/names"
	"github.com/unwatch/unwatch/cutover/internal/protocol"
	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/internal/resp"
	"github.com/unwatch/unwatch/rmw"
)

// gateOwn is the gate of a Preflight that Publish demands for the first Copying.
const gateOwn = "own keys, new"

// Preflight checks the conditions of a cut-over before the first key moves. A condition that it cannot
// read, such as the configuration of a server behind a proxy, is GateUnknown. [Publish] needs its gates
// for the first Copying.
//
// It writes keys ~cutover:probe:* with an expiry of a minute through both stores, and deletes them. They show
// that the stores are two, that Side.Store and Side.Redis are of one store, and that each of cfg.Masters and
// cfg.NewMasters is a master of its store. If not, no other key is looked at. Otherwise it only reads.
//
// Without cfg.Masters it looks at no key of the old store. Without cfg.NewMasters the condition of the
// new store's own keys is GateClosed. It cannot see blind writers and processes without this package:
// see migrate-check live.
func Preflight(ctx context.Context, store *cutover.Store, cfg SweepConfig) ([]Gate, error) {
	s := of(store)
	err := s.Invalid
	if err == nil {
		err = s.Gate.Enter()
	}
	if err != nil {
		return nil, redisx.Fail("cutover", "preflight", rmw.Key{}, 0, err)
	}
	defer s.Gate.Leave()
	gates := []Gate{s.apart(ctx, cfg)}
	for side, masters := range [][]Scanner{cfg.Masters, cfg.NewMasters} {
		gates = append(gates, s.runsScripts(ctx, protocol.Side(side)), s.evictsNoMarker(ctx, protocol.Side(side), masters))
	}
	gates = append(gates, s.replicates(ctx, protocol.Old, cfg.Masters), s.replicates(ctx, protocol.New, cfg.NewMasters))
	if gates[0].State != GateOpen || gates[1].State != GateOpen || gates[3].State != GateOpen {
		return gates, nil // no key can be looked at, or no advice about it is right
	}
	report := Report{Scanned: Scanned{most: cfg.Names}}
	if len(cfg.Masters) > 0 {
		if report, err = s.verify(ctx, cfg); err != nil {
			return gates, err
		}
	} else if len(cfg.NewMasters) > 0 {
		every := func(_ context.Context, names []string) []string { return names }
		if err = s.verifyNew(ctx, mover.Stage{}, cfg, newOutage(cfg, &report.Scanned), &report, every); err != nil {
			return gates, err
		}
	}
	own := zero(gateOwn, report.Unmarked, "move them to the old store or delete them, before a process serves them; "+
		"name those of other services in SweepConfig.Foreign (-foreign)")
	if report.NewMasters < max(report.AllNewMasters, 1) {
		own.State, own.Have = GateClosed, "not looked at"
		own.Do = "name every server of the new store in SweepConfig.NewMasters (-new-masters), behind its proxy"
	}
	gates = append(gates, own,
		zero("two homes", report.TwoHomes, "delete them in the new store, and keep mirrors away from these names"),
		zero("markers with an expiry", report.Expiring, "PERSIST them, and find the process that sends EXPIRE"),
		zero("no answer", report.Failed, "repair the store that does not answer"))
	const stay = "they stay in the old store: before Complete, "
	for _, g := range []Gate{
		zero("keys too large", report.TooLarge, stay+"make them smaller, or raise Config.MaxSeal (-max-seal)"),
		zero("keys of other types", report.OtherType, stay+"move them by other means, or name those of other services in SweepConfig.Foreign (-foreign)"),
		zero("hashes with field expiries", report.FieldExpiry, stay+"HPERSIST their fields, or move them by other means"),
	} {
		if g.Need = "0 at the end"; g.State == GateClosed {
			g.State = GateLater
		}
		gates = append(gates, g)
	}
	return gates, nil
}

// zero is the condition that there are no such keys.
func zero(name string, keys Keys, do string) Gate {
	g := Gate{Name: name, Have: fmt.Sprint(keys.Count), Need: "0", State: GateOpen}
	if keys.Count > 0 {
		g.State, g.Do, g.Names = GateClosed, do, keys.Names
	}
	return g
}

func (s operator) runsScripts(ctx context.Context, side protocol.Side) Gate {
	g := Gate{Name: fmt.Sprintf("scripts, %v", side), Have: "runs them", Need: "EVAL", State: GateOpen}
	if _, err := s.mover.Look(ctx, side, names.Prefix+"probe"); err != nil {
		g.State, g.Have = GateClosed, redisx.WithoutArguments(err).Error()
		g.Do = "permit EVAL, EVALSHA and cutover.RequiredCommands, or use a server with Lua"
	}
	return g
}

// evictsNoMarker reads the policy by way of the store, or else from each master.
func (s operator) evictsNoMarker(ctx context.Context, side protocol.Side, masters []Scanner) Gate {
	g := Gate{Name: fmt.Sprintf("eviction, %v", side), Need: "not allkeys-*", State: GateOpen}
	policy, err := s.policy(ctx, s.mover.Clients[side].Process)
	policies, errs := []string{policy}, []error{err}
	if policy == "" && len(masters) > 0 {
		policies, errs = nil, nil
		for _, master := range masters {
			policy, err := "", errors.New("its client sends SCAN only")
			if client, ok := master.(cutover.Commands); ok {
				policy, err = s.policy(ctx, client.Process)
			}
			policies, errs = append(policies, policy), append(errs, err)
		}
	}
	for i, policy := range policies {
		switch {
		case policy == "":
			g.State, g.Have = GateUnknown, "cannot be read"
			g.Do = "read maxmemory-policy on each server: an evicted marker leaves two homes"
			if errs[i] != nil {
				g.Do += ": CONFIG GET: " + redisx.WithoutArguments(errs[i]).Error()
			}
			return g
		case policy != "noeviction" && !strings.HasPrefix(policy, "volatile-"):
			g.State, g.Have = GateClosed, policy
			g.Do = "change maxmemory-policy on each server: an evicted marker leaves two homes"
			return g
		}
		g.Have = policy
	}
	return g
}

// policy returns the maxmemory-policy, "" if it cannot be read.
func (s operator) policy(ctx context.Context, process func(context.Context, redis.Cmder) error) (string, error) {
	cmd := redis.NewMapStringStringCmd(ctx, "config", "get", "maxmemory-policy")
	if err := s.query(ctx, process, cmd); err != nil {
		return "", err // the command may still be in flight
	}
	return cmd.Val()["maxmemory-policy"], nil
}

// query sends a command, and waits for its reply until ctx ends.
func (s operator) query(ctx context.Context, process func(context.Context, redis.Cmder) error, cmd redis.Cmder) error {
	failed, err := mover.Await(ctx, s.Gate, func(ctx context.Context) error { return process(ctx, cmd) })
	return cmp.Or(err, failed)
}

// replicates compares the number of replicas with that of the configuration. A proxy in front of the masters refuses
// INFO and WAIT, so no number but 0 is right there.
func (s operator) replicates(ctx context.Context, side protocol.Side, behind []Scanner) Gate {
	field := mover.ReplicasField[side]
	g := Gate{Name: fmt.Sprintf("replicas, %v", side), Need: "as " + field, State: GateOpen}
	process := s.mover.Clients[side].Process
	info := redis.NewStringCmd(ctx, "info", "replication")
	text, told := "", false
	err := s.query(ctx, process, info)
	if err == nil { // else the command may still be in flight
		_, text, told = strings.Cut(info.Val(), "\nconnected_slaves:")
	}
	if told {
		replicas := 0
		_, _ = fmt.Sscan(text, &replicas)
		if g.Have = fmt.Sprint(replicas); replicas > s.mover.Replicas[side] {
			g.State = GateClosed
			g.Do = fmt.Sprintf("set %s to %d in every process: a failover that forgets a marker leaves two homes", field, replicas)
		}
		return g
	}
	proxied := len(behind) > 0 && !forbids(err) && func() bool {
		err := s.query(ctx, process, redis.NewIntCmd(ctx, "wait", 0, 0))
		return err != nil && !forbids(err) && ctx.Err() == nil
	}()
	switch {
	case !proxied:
		g.State, g.Have = GateUnknown, "cannot be read"
		g.Do = "set " + field + " to the number of replicas of each master; behind a proxy it must be 0"
		if err != nil {
			g.Do += ": INFO: " + redisx.WithoutArguments(err).Error()
		}
	case s.mover.Replicas[side] > 0:
		g.State, g.Have = GateClosed, "a proxy, no WAIT"
		g.Do = "set " + field + " to 0 in every process: no move behind a proxy can wait for replicas"
	default:
		g.Have = "a proxy, no WAIT"
		g.Warning = "a failover of a server behind the proxy can forget a move: see docs/cutover.md#failovers"
	}
	return g
}

// forbids reports whether a server refuses the command to this user.
func forbids(err error) bool {
	m := redisx.MeaningOf(err)
	return m == resp.Forbidden || m == resp.Password
}
