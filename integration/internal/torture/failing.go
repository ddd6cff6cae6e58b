package torture

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
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
	values := slices.Repeat(Works()[:1], writers)
	return []Mitigation{
		{Name: "moves", About: "a cut-over: an update of the old store is acknowledged when both replicas have it, and a seal does not wait",
			Where: where, open: openFailing(0), works: values},
		{Name: "moves wait", About: "the same, where both replicas must have a seal before its value moves on",
			Where: where, open: openFailing(2), works: values, lossless: true},
	}
}

// openFailing returns a function that opens the store of a process, of which a seal waits for these
// replicas.
func openFailing(replicas int) opener {
	return func(s *Environment, process int) (opened, error) {
		next, err := s.sides[1].client(process)
		if err != nil {
			return opened{}, err
		}
		rdb := singleClient(s.sides[0], process)
		old, new := newWaiting(rdb, 2, replicasLimit), openLockupdate(next)
		store := crossing{cutover.New(
			cutover.Side{Store: old, Redis: rdb}, cutover.Side{Store: new, Redis: next},
			cutover.Config{Stage: flipsOf(0, process%processes), MaxAttempts: 1000, Replicas: replicas},
		), [2]rmw.Store{old, new}}
		return opened{store: store, also: []io.Closer{rdb, next}}, nil
	}
}

// audit returns the keys that operate.Verify finds in a wrong state. A Report names ten keys of
// each state, so Verify runs for ten keys at a time.
func (s *Environment) audit(ctx context.Context) (wrong map[string]bool, err error) {
	cfg := operate.VerifyConfig{Batch: 10}
	names := map[string]bool{}
	for i, side := range s.sides {
		holders, err := side.holders(ctx)
		if err != nil {
			return nil, err
		}
		for _, server := range holders {
			rdb := redis.NewClient(&redis.Options{Addr: server.Addr, Protocol: 2, DisableIdentity: true})
			defer func() { err = errors.Join(err, rdb.Close()) }()
			found, err := rdb.Keys(ctx, keyPrefix+"*").Result()
			if err != nil {
				return nil, err
			}
			for _, name := range found {
				names[name] = true
			}
			if i == 0 {
				cfg.Masters = append(cfg.Masters, rdb)
			} else {
				cfg.NewMasters = append(cfg.NewMasters, rdb)
			}
		}
	}
	all := make([]string, 0, len(names))
	for name := range names {
		all = append(all, name)
	}
	wrong = map[string]bool{}
	return wrong, s.connected(func(store rmw.Store) error {
		for ten := range slices.Chunk(all, 10) {
			cfg.Keys = func(name string) (rmw.Key, bool) { return rmw.Key{Name: name}, slices.Contains(ten, name) }
			report, err := operate.Verify(ctx, store.(crossing).Store, cfg)
			if err != nil {
				return err
			}
			if n := report.Failed.Count + report.Expiring.Count; n > 0 {
				return fmt.Errorf("%d keys are in a state that no failover makes: %+v", n, report)
			}
			for _, name := range slices.Concat(report.TwoHomes.Names, report.Unmarked.Names, report.Forgotten.Names) {
				wrong[name] = true
			}
		}
		return nil
	})
}

// audited counts the wrong keys of a fleet, those of them that have lost updates, and its moves.
func (r *Result) audited(wrong map[string]bool, fleet int, lost []string) {
	mine := func(name string) bool {
		generation, err := strconv.Atoi(name[strings.LastIndex(name, ":")+1:])
		return err == nil && generation/generationsApart == fleet
	}
	for name := range wrong {
		if mine(name) {
			r.Wrong++
		}
	}
	for name, hop := range r.stored.hops {
		if mine(name) {
			r.Moves += hop
		}
	}
	for _, name := range lost {
		r.LostKeys++
		if wrong[name] {
			r.FoundKeys++
		}
	}
}
