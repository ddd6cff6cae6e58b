package torture

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/cas"
	"github.com/unwatch/unwatch/cutover"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
)

// cutovers returns the topologies in which keys move between two stores, in both directions. Each fault
// strikes one of the two stores.
func cutovers() []Topology {
	old := Topology{Name: "old", start: startRedis, has: ownServers | oneAddress}
	return []Topology{
		across(old, Topology{Name: "nutcracker", start: startNutcracker(4), has: ownServers | ownProxy | oneAddress | loads},
			"two redis-servers behind nutcracker, four connections to each",
			"none", "load", "cut", "slow", "black-hole", "deaf", "stuck", "stall", "cancel", "process-kill", "process-stop",
			"freeze", "proxy-freeze", "kill", "proxy-kill", "script-flush", "client-kill", "client-pause", "out-of-memory"),
		across(old, Topology{Name: "cluster", start: startCluster, has: cluster},
			"a Redis Cluster of three masters, each with a replica",
			"none", "cut", "deaf", "stall", "kill", "script-flush", "client-kill", "slot-move", "cluster-failover"),
		across(old, Topology{Name: "codis", start: startCodis(proxytest.Config{Parallel: 4}), has: ownServers | oneAddress | codis},
			"two redis-servers behind the proxy that refuses what Codis 3.2 does",
			"none", "cut", "stall", "process-kill", "process-stop", "kill",
			"codis-move", "codis-down", "codis-sleep", "codis-late", "codis-faults"),
	}
}

// across returns the topology of a cut-over from old to next.
func across(old, next Topology, about string, only ...string) Topology {
	return Topology{
		Name: old.Name + ">" + next.Name,
		About: "keys move between a redis-server and " + about + ": each process flips every 2 s between copying and reverse; " +
			"two further processes know the old server only",
		start: func(ctx context.Context, s *Environment, dir string) error {
			for _, t := range []Topology{old, next} {
				side, err := t.Start(ctx, filepath.Join(dir, t.Name))
				if err != nil {
					return err
				}
				s.sides = append(s.sides, side)
				s.end = append(s.end, side.Close)
			}
			s.Watch = true
			return nil
		},
		// One address for both: a process that is started as a program gets it.
		has:  (old.has|next.has)&^oneAddress | old.has&next.has&oneAddress,
		only: only,
	}
}

// stores returns the two stores of a cut-over, the old one first, or the environment itself.
func (s *Environment) stores() []*Environment {
	if s.sides == nil {
		return []*Environment{s}
	}
	return s.sides
}

// at returns the injection for a random store that has the traits.
func (c *injection) at(needs trait) *injection {
	if c.Environment == nil || c.sides == nil {
		return c
	}
	var fit []*Environment
	for _, s := range c.sides {
		if s.has&needs == needs {
			fit = append(fit, s)
		}
	}
	one := *c
	one.Environment = fit[c.rng.IntN(len(fit))]
	return &one
}

// flipEvery is the time for which a process keeps a stage.
const flipEvery = 2 * time.Second

// flips moves keys forward and backward in turn.
type flips struct{ offset time.Duration }

// flipsOf returns the stages of a process. The offsets of the processes are spread over a whole turn, in
// random order, so that at any time some processes move keys forward and others backward.
func flipsOf(seed uint64, process int) flips {
	const apart = 2 * flipEvery / processes
	place := rand.New(rand.NewPCG(seed, 0)).Perm(processes)[process]
	return flips{time.Duration(place)*apart + within(rand.New(rand.NewPCG(seed, uint64(process))), 0, apart)}
}

// Stage implements [cutover.Source].
func (f flips) Stage(context.Context) (cutover.Stage, error) {
	if f.forward(monotonic()) {
		return cutover.Stage{Phase: cutover.Copying, Percent: 100}, nil
	}
	return cutover.Stage{Phase: cutover.Reverse}, nil
}

func (f flips) forward(now time.Duration) bool { return (now+f.offset)/flipEvery%2 == 0 }

// crossing is the store of a process over both stores of a cut-over.
type crossing struct {
	*cutover.Store
	sides [2]rmw.Store
}

// openAcross opens the product. Half of the processes use WATCH on the old store.
func openAcross(clients [2]redis.UniversalClient, process int, stage cutover.Source) rmw.Store {
	sides := [2]rmw.Store{openLockupdate(clients[0]), openLockupdate(clients[1])}
	if process%2 == 1 {
		sides[1] = openOnDemand(clients[1])
	}
	switch process % 4 {
	case 1, 2:
		sides[0] = cas.New(clients[0], cas.Config{MaxAttempts: 1000})
	case 3:
		sides[0] = openOnDemand(clients[0])
	}
	return crossing{cutover.New(
		cutover.Side{Store: sides[0], Redis: clients[0]}, cutover.Side{Store: sides[1], Redis: clients[1]},
		cutover.Config{Stage: stage, MaxAttempts: 1000},
	), sides}
}

// Close closes the store, then those of both sides.
func (c crossing) Close() error {
	err := c.Store.Close()
	for _, side := range c.sides {
		if closer, ok := side.(interface{ Close() error }); ok {
			err = errors.Join(err, closer.Close())
		}
	}
	return err
}

// clients returns new clients of a process, one for each store.
func (s *Environment) clients(process int) (all []redis.UniversalClient, err error) {
	for _, side := range s.stores() {
		rdb, err := side.client(process)
		if err != nil {
			return nil, err
		}
		all = append(all, rdb)
	}
	return all, nil
}

// connected calls fn with a store for the keys of the environment, which moves none.
func (s *Environment) connected(fn func(store rmw.Store) error) error {
	clients, err := s.clients(0)
	if err != nil {
		return err
	}
	o := variant{
		open: func(rdb redis.UniversalClient) rmw.Store { return lockupdate.New(rdb, lockupdate.Config{}) },
		across: func(clients [2]redis.UniversalClient, process int, _ cutover.Source) rmw.Store {
			return openAcross(clients, process, cutover.Stage{})
		},
	}.at(clients, 0, 0)
	return errors.Join(fn(o.store.(rmw.Store)), o.close())
}

// storedAcross reads each value at its home. The reader completes moves that it finds half done.
func (s *Environment) storedAcross(ctx context.Context) (*stored, error) {
	all, homes := newStored(), map[string]int{}
	for _, side := range s.sides {
		one, err := side.stored(ctx)
		if err != nil {
			return nil, err
		}
		for name, ttl := range one.ttl {
			if before, known := all.ttl[name]; !known || ttl < before {
				all.ttl[name] = ttl
			}
		}
		for name, hop := range one.hops {
			all.hops[name] = max(all.hops[name], hop)
		}
		for name := range one.ttl {
			if _, marker := one.hops[name]; marker || !strings.HasPrefix(name, keyPrefix) {
				continue
			}
			if homes[name]++; homes[name] > 1 {
				all.twice = append(all.twice, name)
			}
		}
	}
	return all, s.connected(func(store rmw.Store) error {
		for name := range all.ttl {
			if !strings.HasPrefix(name, keyPrefix) {
				continue
			}
			v, err := readAny(ctx, store, name)
			for try := 0; try < 5 && rmw.Retryable(err); try++ { // the machine is busy
				v, err = readAny(ctx, store, name)
			}
			if err != nil {
				return fmt.Errorf("%q: %w", name, err)
			}
			if v.Kind() == rmw.KindHash {
				all.hash[name] = v.Fields()
			} else if v.Exists() {
				all.text[name] = v.Text()
			}
		}
		return nil
	})
}

// readAny reads a key of either kind.
func readAny(ctx context.Context, store rmw.Reader, name string) (rmw.Value, error) {
	v, err := store.Read(ctx, rmw.Key{Name: name})
	if errors.Is(err, rmw.ErrWrongKind) {
		v, err = store.Read(ctx, rmw.Key{Name: name, Kind: rmw.KindHash})
	}
	return v, err
}

// moves counts the moves of keys. A cell in which no key has moved there and back has proven nothing.
func (r *Result) moves(all *stored) {
	most := 0
	for _, hop := range all.hops {
		r.Moves += hop
		most = max(most, hop)
	}
	for _, name := range all.twice {
		r.Errors = append(r.Errors, name+" has a value in both stores")
	}
	if most < 2 {
		r.Errors = append(r.Errors, "no key has moved to the new store and back")
	}
}

// hop returns how often the key of a marker had moved when it was made.
func hop(ctx context.Context, rdb *redis.Client, name string) (int, error) {
	nonce, err := rdb.LIndex(ctx, name, 2).Result()
	if err != nil {
		return 0, err
	}
	text, _, _ := strings.Cut(nonce, ".")
	return strconv.Atoi(text)
}
