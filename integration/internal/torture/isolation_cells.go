package torture

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/internal/testing/servers"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/rmw"
)

// Isolation is a cell in which one of several servers fails, and the keys of the others are judged.
type Isolation struct {
	Topology Topology
	Fault    string
	About    string
	strike   strike
}

// strike injects a fault into one server.
type strike func(s *Environment) (heal func(ctx context.Context) error, err error)

// isolationLeast is the approximate minimum duration of a cell.
const isolationLeast = 2*isolationCalm + isolationFault

// apart returns the topologies of the cells of isolation.
func apart() []Topology {
	return []Topology{
		{Name: "backends", About: "two redis-servers behind nutcracker, with a relay before each", start: startBackends, only: []string{}},
		{Name: "shards", About: "a Redis Cluster of three masters, of which none is replaced", start: startShards, only: []string{}},
	}
}

func startBackends(ctx context.Context, s *Environment, dir string) error {
	addrs, err := s.pair(ctx, dir)
	if err != nil {
		return err
	}
	for i := range addrs {
		if addrs[i], err = s.relays.between(addrs[i]); err != nil {
			return err
		}
	}
	proxy, err := servers.StartNutcracker(ctx, dir, addrs, 1)
	if err != nil {
		return err
	}
	s.end = append(s.end, proxy.Stop)
	s.Profile, s.addr = proxycompat.Twemproxy05(), proxy.Addr
	return nil
}

func startShards(ctx context.Context, s *Environment, dir string) (err error) {
	s.cluster, err = servers.StartClusterNodes(ctx, dir, 3, 0, "--cluster-node-timeout", "60000")
	if err != nil {
		return err
	}
	s.end = append(s.end, s.cluster.Stop)
	s.Profile = proxycompat.Redis()
	return nil
}

// failing returns the server that fails.
func (s *Environment) failing() *servers.Server {
	if s.cluster != nil {
		return s.cluster.Servers()[0]
	}
	return s.servers[0]
}

// slowBy is how much later the answers of a slow server arrive: longer than the 30 ms between two updates.
const slowBy = 500 * time.Millisecond

// Isolations returns all cells of isolation.
func Isolations() (all []Isolation) {
	for _, t := range apart() {
		all = append(all,
			Isolation{t, "frozen", "one server stands still (SIGSTOP)", freeze},
			Isolation{t, "dead", "one server is killed", kill},
			Isolation{t, "slow", "the answers of one server come half a second later", delay},
		)
	}
	return all
}

func freeze(s *Environment) (heal func(ctx context.Context) error, err error) {
	return func(context.Context) error { return s.failing().Resume() }, s.failing().Pause()
}

func kill(s *Environment) (heal func(ctx context.Context) error, err error) {
	return s.failing().Restart, s.failing().Kill()
}

func delay(s *Environment) (heal func(ctx context.Context) error, err error) {
	late := toxic{Type: "latency", Stream: "downstream", Attributes: map[string]any{"latency": slowBy.Milliseconds()}}
	undo, err := poison(s.relays.to(s.failing().Addr), late)
	return func(context.Context) error { undo(); return nil }, err
}

// measure is the store by which the others are judged.
func measure() isolationStore {
	return isolationStore{"plain", 100, func(rdb redis.UniversalClient) adding { return plain{rdb} }}
}

// isolationStores returns the stores of each cell of isolation.
func isolationStores() []isolationStore {
	all := []isolationStore{measure()}
	for _, pool := range []int{10, 100} {
		all = append(all,
			isolationStore{"lock-" + strconv.Itoa(pool), pool, openAdder(lockupdate.Config{})},
			isolationStore{"ondemand-" + strconv.Itoa(pool), pool, openAdder(lockupdate.Config{LockOnDemand: true})})
	}
	return all
}

// oneConnection is a negative control: all keys share one connection, on which a hung answer delays all behind it.
func oneConnection() isolationStore {
	return isolationStore{"one connection", 1, openAdder(lockupdate.Config{})}
}

func openAdder(cfg lockupdate.Config) func(rdb redis.UniversalClient) adding {
	cfg.Lease = isolationLease
	return func(rdb redis.UniversalClient) adding { return adder{lockupdate.New(rdb, cfg)} }
}

// adder counts in a store.
type adder struct{ *lockupdate.Store }

func (a adder) add(ctx context.Context, key string) error {
	_, err := a.Update(ctx, rmw.Key{Name: key}, func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
		return rmw.String(strconv.Itoa(number(cur.Text()) + 1)), nil
	})
	return err
}

// plain counts without a lock: each key has one writer.
type plain struct{ rdb redis.UniversalClient }

func (p plain) add(ctx context.Context, key string) error {
	text, err := p.rdb.Get(ctx, key).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return err
	}
	return p.rdb.Set(ctx, key, number(text)+1, 0).Err()
}

// Close does nothing: the client is not its own.
func (plain) Close() error { return nil }
