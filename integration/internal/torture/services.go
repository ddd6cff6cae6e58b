package torture

import (
	"context"
	"errors"
	"io"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/unwatch/unwatch/adapters/etcdlock"
	"github.com/unwatch/unwatch/adapters/zklock"
	"github.com/unwatch/unwatch/internal/testing/servers"
	"github.com/unwatch/unwatch/lock/driver"
)

// serviceLeast is the minimum duration of a cell over a lock service. Each fault takes about a second.
const serviceLeast = 4 * time.Second

// services returns the lock services other than Redis.
func services() []Topology {
	return []Topology{
		{Name: "etcd", About: "an etcd of three members", start: startEtcd, only: []string{}},
		{Name: "zookeeper", About: "a ZooKeeper of three members", start: startZooKeeper, only: []string{}},
		{Name: "postgres", About: "a PostgreSQL with an asynchronous replica", start: startPostgres, only: []string{}},
	}
}

// lockServices returns their mitigations.
func lockServices() []Mitigation {
	at := func(topology string, nemeses ...string) (all []Place) {
		for _, n := range nemeses {
			all = append(all, Place{topology, n})
		}
		return all
	}
	return []Mitigation{
		{Name: "etcd", About: "a lock of etcd, likewise",
			Where: at("etcd", "one-down", "most-down", "move-leader"), open: openEtcd, works: holds(), exclusive: true},
		{Name: "zookeeper", About: "a lock of ZooKeeper, likewise",
			Where: at("zookeeper", "one-down", "most-down", "leader-down", "follower-down"),
			open:  openZooKeeper, works: holds(), exclusive: true},
		{Name: "sql", About: "a lock of a table of PostgreSQL, likewise; a promoted replica may have forgotten a lock",
			Where: at("postgres", "server-kill", "server-stop", "terminate", "promote"), open: openSQL, works: holds(), exclusive: true},
	}
}

// serviceConfig limits a holding to a lease, so that each cell has holders that have lost their lock.
func serviceConfig() driver.Config {
	return driver.Config{Lease: holdLease, MaxHold: holdLease}
}

func startEtcd(ctx context.Context, s *Environment, dir string) (err error) {
	s.members, err = servers.StartEtcd(ctx, dir, 3)
	return s.endMembers(err)
}

func startZooKeeper(ctx context.Context, s *Environment, dir string) (err error) {
	s.members, err = servers.StartZooKeeper(ctx, dir, 3)
	return s.endMembers(err)
}

func (s *Environment) endMembers(err error) error {
	for _, member := range s.members {
		s.end = append(s.end, member.Stop)
	}
	return err
}

func (s *Environment) memberAddrs() (all []string) {
	for _, member := range s.members {
		all = append(all, member.Addr)
	}
	return all
}

func etcdClient(addrs ...string) (*clientv3.Client, error) {
	return clientv3.New(clientv3.Config{Endpoints: addrs, DialTimeout: time.Second, Logger: zap.NewNop()})
}

func openEtcd(s *Environment, _ int) (opened, error) {
	client, err := etcdClient(s.memberAddrs()...)
	if err != nil {
		return opened{}, err
	}
	return opened{store: etcdlock.New(client, serviceConfig()), also: []io.Closer{client}}, nil
}

func openZooKeeper(s *Environment, _ int) (opened, error) {
	locks, err := zklock.New(s.memberAddrs(), zklock.Config{Config: serviceConfig()})
	return opened{store: locks}, err
}

// atTheServices returns the nemeses of the members' parts.
func atTheServices() []Nemesis {
	down := func(mode string) func(ctx context.Context, c *injection) error {
		return func(ctx context.Context, c *injection) error {
			for _, i := range c.rng.Perm(len(c.members)) {
				if is, err := servers.ZooKeeperMode(ctx, c.members[i]); err == nil && is == mode {
					return c.down(ctx, c.members[i])
				}
			}
			return nil // during an election there is none
		}
	}
	return append([]Nemesis{
		{Name: "leader-down", About: "the leader is killed, or stands still, for up to a lease, and goes on",
			every: 2 * holdLease, least: serviceLeast, inject: down("leader")},
		{Name: "follower-down", About: "likewise a follower", every: 200 * time.Millisecond, least: serviceLeast, inject: down("follower")},
		{Name: "move-leader", About: "another member becomes etcd's leader",
			every: 200 * time.Millisecond, least: serviceLeast, inject: moveLeader},
	}, atPostgres()...)
}

// down kills a server or suspends it.
func (c *injection) down(ctx context.Context, server *servers.Server) error {
	if c.rng.IntN(2) == 0 {
		return c.killed(ctx, server)
	}
	return c.stalled(ctx, server, lease, holdLease)
}

// stalled suspends a server.
func (c *injection) stalled(ctx context.Context, server *servers.Server, from, to time.Duration) error {
	d := within(c.rng, from, to)
	c.note("%s stands still for %v", server.Addr, d)
	if err := server.Pause(); err != nil {
		return err
	}
	_ = pause(ctx, d)
	return server.Resume()
}

// moveLeader makes a random other member the leader of etcd.
func moveLeader(ctx context.Context, c *injection) error {
	var leader string
	var others []uint64
	for _, addr := range c.memberAddrs() {
		err := withEtcd(addr, func(client *clientv3.Client) error {
			now, err := client.Status(ctx, addr)
			if err != nil {
				return err
			}
			if id := now.Header.MemberId; id == now.Leader {
				leader = addr
			} else {
				others = append(others, id)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	if leader == "" || len(others) == 0 {
		return nil // an election goes on
	}
	next := others[c.rng.IntN(len(others))]
	c.note("MoveLeader from %s to %x", leader, next)
	return withEtcd(leader, func(client *clientv3.Client) error {
		_, err := client.MoveLeader(ctx, next)
		return err
	})
}

func withEtcd(addr string, fn func(client *clientv3.Client) error) error {
	client, err := etcdClient(addr)
	if err != nil {
		return err
	}
	return errors.Join(fn(client), client.Close())
}

// deaf is a lock that does not tell its holders of a loss.
type deaf struct{ withLock }

// WithLock implements withLock.
func (d deaf) WithLock(ctx context.Context, name string, fn func(ctx context.Context) error) error {
	return d.withLock.WithLock(ctx, name, func(ctx context.Context) error { return fn(context.WithoutCancel(ctx)) })
}

func deafened(open opener) opener {
	return func(s *Environment, process int) (opened, error) {
		o, err := open(s, process)
		if err == nil {
			o.store = deaf{o.store.(withLock)}
		}
		return o, err
	}
}

// serviceControls returns the negative controls of locks without a store.
func serviceControls() []Control {
	overlap := func(v *Verdict) bool { return v.Overlap > 0 }
	return []Control{
		{"deaf in etcd", "a lock of etcd that does not tell its holder of a loss", "etcd", "move-leader", overlap,
			variant{lock: deafened(openEtcd)}},
		{"deaf in ZooKeeper", "likewise of ZooKeeper", "zookeeper", "one-down", overlap,
			variant{lock: deafened(openZooKeeper)}},
		{"advisory lock", "pg_advisory_lock: its holder does not notice the end of its connection", "postgres", "terminate", overlap,
			variant{lock: openAdvisory}},
		{"no check", "a store that takes late writes, since it does not check their tokens", "postgres", "server-stop",
			func(v *Verdict) bool { return v.Passed > 0 },
			variant{lock: openSQL, unfenced: true}},
	}
}
