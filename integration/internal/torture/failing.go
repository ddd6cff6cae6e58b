package torture

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/cutover"
	"github.com/unwatch/unwatch/cutover/operate"
	"github.com/unwatch/unwatch/rmw"
)

// failing returns the topology of a cut-over whose old store fails over. Only mitigations run there: its
// updates must wait for the replicas as well, or Redis itself loses some.
func failing() Topology {
	t := across(Topology{Name: "sentinel", start: startSentinel(), has: sentinels}, Topology{Name: "redis", start: startRedis}, "")
	t.About = "keys move between a primary with two replicas behind three sentinels, and a redis-server"
	t.only = []string{}
	return t
}

// behindSentinels are the mitigations for the moves of a cut-over.
func behindSentinels() []Mitigation {
	where := []Place{{"sentinel>redis", "failovers"}}
	return []Mitigation{
		{Name: "moves wait", About: "a cut-over: both replicas have an update of the old store before it is acknowledged, and a seal before its value moves on",
			Where: where, open: openFailing, works: slices.Repeat(Works()[:1], writers), lossless: true},
	}
}

// openFailing opens the store of a process.
func openFailing(s *Environment, process int) (opened, error) {
	next, err := s.sides[1].client(process)
	if err != nil {
		return opened{}, err
	}
	const replicas = 2
	rdb := singleClient(s.sides[0], process)
	old, new := newWaiting(rdb, replicas, replicasLimit), openLockupdate(next)
	store := crossing{cutover.New(
		cutover.Side{Store: old, Redis: rdb}, cutover.Side{Store: new, Redis: next},
		cutover.Config{Stage: flipsOf(0, process%processes), MaxAttempts: 1000, Replicas: replicas},
	), [2]rmw.Store{old, new}}
	return opened{store: store, also: []io.Closer{rdb, next}}, nil
}

// swept calls fn with a store that moves no key, and the servers of both sides of a cut-over.
func (s *Environment) swept(ctx context.Context, fn func(store *cutover.Store, cfg operate.SweepConfig) error) error {
	cfg := operate.SweepConfig{Keys: func(name string) (rmw.Key, bool) { return rmw.Key{Name: name}, strings.HasPrefix(name, keyPrefix) }}
	for i, side := range s.sides {
		holders, err := side.holders(ctx)
		if err != nil {
			return err
		}
		for _, server := range holders {
			rdb := redis.NewClient(&redis.Options{Addr: server.Addr, Protocol: 2, DisableIdentity: true})
			defer func() { _ = rdb.Close() }()
			if i == 0 {
				cfg.Masters = append(cfg.Masters, rdb)
			} else {
				cfg.NewMasters = append(cfg.NewMasters, rdb)
			}
		}
	}
	return s.connected(func(store rmw.Store) error { return fn(store.(crossing).Store, cfg) })
}

// sweep ends the moves and the updates of several keys that are half done.
func (s *Environment) sweep(ctx context.Context) error {
	return s.swept(ctx, func(store *cutover.Store, cfg operate.SweepConfig) error {
		pass, err := operate.Sweep(ctx, store, cfg)
		if err == nil && pass.Failed.Count > 0 {
			err = fmt.Errorf("a sweep failed for %d keys: %w", pass.Failed.Count, pass.Cause)
		}
		return err
	})
}

// audit fails if operate.Verify finds a key in a wrong state.
func (s *Environment) audit(ctx context.Context) error {
	return s.swept(ctx, func(store *cutover.Store, cfg operate.SweepConfig) error {
		report, err := operate.Verify(ctx, store, cfg)
		if err != nil {
			return err
		}
		n := report.Failed.Count + report.Expiring.Count
		if n += report.TwoHomes.Count + report.Unmarked.Count + report.Forgotten.Count; n > 0 {
			return fmt.Errorf("%d keys are in a wrong state: %+v", n, report)
		}
		return nil
	})
}
