package torture

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/unwatch/unwatch/internal/testing/servers"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
)

// Topology is an arrangement of servers.
type Topology struct {
	Name  string
	About string
	start func(ctx context.Context, s *Environment, dir string) error
	has   trait

	// only lists the nemeses that run there; nil: all. A variant of another topology runs only the nemeses
	// that its difference affects.
	only []string
}

// trait is a property of a topology that a nemesis requires.
type trait uint8

const (
	ownServers trait = 1 << iota // no failover replaces them
	ownProxy                     // a proxy process in front of them
	oneAddress                   // a single address for the processes
	clocks                       // the client clocks step here; other topologies would show the same
	sentinels
	cluster
	codis
	loads // a load runs here
)

// Topologies returns all of them.
func Topologies() []Topology {
	return append([]Topology{
		{Name: "redis", About: "one redis-server that writes each command to its log; fleets with WATCH writers among them",
			start: startRedis, has: ownServers | oneAddress | clocks | loads},
		{Name: "redis-memory", About: "the same without a log: a kill loses its writes", start: startRedisInMemory,
			has: ownServers | oneAddress, only: []string{"kill"}},
		{Name: "nutcracker", About: "two redis-servers behind nutcracker, one connection to each", start: startNutcracker(1),
			has: ownServers | ownProxy | oneAddress},
		{Name: "nutcracker-4", About: "the same with four connections to each: commands overtake one another", start: startNutcracker(4),
			has: ownServers | ownProxy | oneAddress | loads},
		{Name: "sentinel", About: "a primary and two replicas that write each command to their logs, behind three sentinels, which replace it",
			start: startSentinel(), has: sentinels},
		{Name: "sentinel-min", About: "the same, where the primary takes writes only as long as a replica has followed within a second",
			start: startSentinel("--min-replicas-to-write", "1", "--min-replicas-max-lag", "1"), has: sentinels,
			only: []string{"failover", "primary-kill", "isolated-primary"}},
		{Name: "cluster", About: "a Redis Cluster of three masters that write each command to their logs, each with a replica",
			start: startCluster, has: cluster},
		{Name: "codis", About: "two redis-servers behind a proxy that refuses what Codis 3.2 does and spreads pipelines over connections",
			start: startCodis(proxytest.Config{Parallel: 4}), has: ownServers | oneAddress | clocks | codis | loads},
		{Name: "codis-replicas", About: "the same, with pipelines executed back to front, and what only reads answered by replicas that are 30 ms behind",
			start: startCodis(proxytest.Config{Reorder: true, ReplicaLag: 30 * time.Millisecond}), has: ownServers | oneAddress | codis,
			only: []string{"none", "cut", "stall", "codis-move", "codis-sleep", "codis-faults"}},
	}, cutovers()...)
}

// Start starts the topology; its servers keep their files in dir.
func (t Topology) Start(ctx context.Context, dir string) (*Environment, error) {
	s := &Environment{Topology: t.Name, has: t.has, dir: dir, relays: &relays{}}
	s.end = append(s.end, s.relays.stop)
	if err := t.start(ctx, s, dir); err != nil {
		s.Close()
		return nil, fmt.Errorf("%s: %w", t.Name, err)
	}
	return s, nil
}

// onDisk returns the options that persist a write before its acknowledgment.
func onDisk() []string { return []string{"--appendonly", "yes", "--appendfsync", "always"} }

// redisServer starts a redis-server that persists a write before its acknowledgment: a kill loses nothing.
func (s *Environment) redisServer(ctx context.Context, dir string) error {
	return s.redisServerWith(ctx, dir, onDisk())
}

func (s *Environment) redisServerWith(ctx context.Context, dir string, options []string) error {
	dir = filepath.Join(dir, fmt.Sprintf("redis-%d", len(s.servers)))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	server, err := servers.StartRedis(ctx, dir, append(options, "--enable-debug-command", "local")...)
	if err != nil {
		return err
	}
	s.servers = append(s.servers, server)
	s.end = append(s.end, server.Stop)
	return nil
}

func startRedis(ctx context.Context, s *Environment, dir string) error {
	if err := s.redisServer(ctx, dir); err != nil {
		return err
	}
	s.single()
	return nil
}

func startRedisInMemory(ctx context.Context, s *Environment, dir string) error {
	s.forgets = true
	if err := s.redisServerWith(ctx, dir, []string{"--save", ""}); err != nil {
		return err
	}
	s.single()
	return nil
}

// single connects the clients to one server.
func (s *Environment) single() {
	s.Profile, s.Watch = proxycompat.Redis(), true
	s.addr = s.servers[0].Addr
}

// pair starts two redis-servers and returns their addresses.
func (s *Environment) pair(ctx context.Context, dir string) ([]string, error) {
	for range 2 {
		if err := s.redisServer(ctx, dir); err != nil {
			return nil, err
		}
	}
	return []string{s.servers[0].Addr, s.servers[1].Addr}, nil
}

func startNutcracker(connections int) func(ctx context.Context, s *Environment, dir string) error {
	return func(ctx context.Context, s *Environment, dir string) error {
		backends, err := s.pair(ctx, dir)
		if err != nil {
			return err
		}
		proxy, err := servers.StartNutcracker(ctx, dir, backends, connections)
		if err != nil {
			return err
		}
		s.proxies = append(s.proxies, proxy)
		s.end = append(s.end, proxy.Stop)
		s.Profile = proxycompat.Twemproxy05()
		s.addr = proxy.Addr
		return nil
	}
}

func startSentinel(options ...string) func(ctx context.Context, s *Environment, dir string) error {
	return func(ctx context.Context, s *Environment, dir string) (err error) {
		s.sentinels, err = servers.StartSentinels(ctx, dir, 2, 3, s.relays.between, append(onDisk(), options...)...)
		if err != nil {
			return err
		}
		s.end = append(s.end, s.sentinels.Stop)
		s.Profile, s.Watch = proxycompat.Redis(), true
		return nil
	}
}

// startCluster starts a cluster in which a replica takes over soon after its master fails, but not during
// the faults of other nemeses.
func startCluster(ctx context.Context, s *Environment, dir string) (err error) {
	s.cluster, err = servers.StartClusterNodes(ctx, dir, 3, 1, append(onDisk(), "--cluster-node-timeout", "1500")...)
	if err != nil {
		return err
	}
	s.end = append(s.end, s.cluster.Stop)
	s.Profile, s.Watch = proxycompat.Redis(), true
	return nil
}

func startCodis(cfg proxytest.Config) func(ctx context.Context, s *Environment, dir string) error {
	return func(ctx context.Context, s *Environment, dir string) (err error) {
		s.Profile = proxycompat.Codis32()
		cfg := cfg
		cfg.Profile = s.Profile
		if cfg.Backends, err = s.pair(ctx, dir); err != nil {
			return err
		}
		if s.codis, err = proxytest.Start(cfg); err != nil {
			return err
		}
		s.end = append(s.end, func() { _ = s.codis.Close() })
		s.addr = s.codis.Addr()
		return nil
	}
}
