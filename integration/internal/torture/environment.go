package torture

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/internal/testing/servers"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
)

// Environment is a running topology.
type Environment struct {
	Topology string
	Profile  *proxycompat.Profile // the profile for the clients
	Watch    bool                 // WATCH works, so that a fleet has writers on the legacy path, too

	sides []*Environment // the two stores of a cut-over, the old one first; nil: one store
	has   trait
	dir   string // of the servers' files

	forgets bool // a killed server restarts empty

	servers []*servers.Server // redis-servers
	proxies []*servers.Server // in front of them; may be empty
	codis   *proxytest.Proxy  // likewise
	relays  *relays
	addr    string // the address for clients; "": discovered from the sentinels or the cluster

	sentinels *servers.Sentinels
	cluster   *servers.ClusterNodes
	members   []*servers.Server // of a lock service
	postgres  *postgres
	end       []func()
}

// client returns a new client for one process of a fleet. It has short timeouts, so that a short cell
// contains many.
func (s *Environment) client(process int) (redis.UniversalClient, error) {
	switch {
	case s.sentinels != nil:
		return s.failoverClient(process), nil
	case s.cluster != nil:
		return s.clusterClient(process), nil
	}
	addr, err := s.relays.addr(process, s.addr)
	if err != nil {
		return nil, err
	}
	return newClient(s.Profile, addr), nil
}

func newClient(profile *proxycompat.Profile, addr string) *redis.Client {
	opts := proxycompat.Options(profile, addr)
	opts.DialTimeout, opts.ReadTimeout, opts.WriteTimeout = time.Second, patience, patience
	opts.PoolSize = 32
	opts.MinRetryBackoff, opts.MaxRetryBackoff = time.Millisecond, 20*time.Millisecond
	return redis.NewClient(opts)
}

// failoverClient gets the primary from the sentinels. All its connections go through relays.
func (s *Environment) failoverClient(process int) *redis.Client {
	return redis.NewFailoverClient(s.failoverOptions(process))
}

func (s *Environment) failoverOptions(process int) *redis.FailoverOptions {
	return &redis.FailoverOptions{
		MasterName: s.sentinels.Name(), SentinelAddrs: s.sentinels.Addrs(),
		Protocol: 2, DisableIdentity: true, PoolSize: 32,
		DialTimeout: time.Second, ReadTimeout: patience, WriteTimeout: patience,
		MinRetryBackoff: time.Millisecond, MaxRetryBackoff: 20 * time.Millisecond,
		Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
			return s.dialer(process)(ctx, network, s.sentinels.Find(addr))
		},
	}
}

// clusterClient gets the slots from the nodes of a cluster. All its connections go through relays.
func (s *Environment) clusterClient(process int) *redis.ClusterClient {
	return redis.NewClusterClient(&redis.ClusterOptions{
		Addrs:    s.cluster.Addrs(),
		Protocol: 2, DisableIdentity: true, PoolSize: 32,
		DialTimeout: time.Second, ReadTimeout: patience, WriteTimeout: patience,
		MinRetryBackoff: time.Millisecond, MaxRetryBackoff: 20 * time.Millisecond,
		Dialer: s.dialer(process),
	})
}

// dialer connects through the relay of a process to the requested address.
func (s *Environment) dialer(process int) func(ctx context.Context, network, addr string) (net.Conn, error) {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		addr, err := s.relays.addr(process, addr)
		if err != nil {
			return nil, err
		}
		return (&net.Dialer{Timeout: time.Second}).DialContext(ctx, network, addr)
	}
}

// holders returns the servers that store data: of a primary and its replicas only the primary.
func (s *Environment) holders(ctx context.Context) ([]*servers.Server, error) {
	switch {
	case s.cluster != nil:
		return s.cluster.Masters(ctx)
	case s.sentinels != nil:
		primary, err := s.sentinels.Primary(ctx)
		return []*servers.Server{primary}, err
	}
	return s.servers, nil
}

// patience is the read timeout of the fleet's clients.
const patience = 300 * time.Millisecond

// direct calls fn with a client of each server, without relays and proxies.
func (s *Environment) direct(ctx context.Context, fn func(ctx context.Context, rdb *redis.Client) error) error {
	var errs []error
	for _, side := range s.sides {
		errs = append(errs, side.direct(ctx, fn))
	}
	if s.sides != nil {
		return errors.Join(errs...)
	}
	holders, err := s.holders(ctx)
	if err != nil {
		return err
	}
	for _, server := range holders {
		rdb := redis.NewClient(&redis.Options{Addr: server.Addr, Protocol: 2, DisableIdentity: true})
		errs = append(errs, fn(ctx, rdb), rdb.Close())
	}
	return errors.Join(errs...)
}

// one calls fn with a client of a random server.
func (s *Environment) one(ctx context.Context, rng *rand.Rand, fn func(ctx context.Context, rdb *redis.Client) error) error {
	holders, err := s.holders(ctx)
	if err != nil {
		return err
	}
	server := holders[rng.IntN(len(holders))]
	rdb := redis.NewClient(&redis.Options{Addr: server.Addr, Protocol: 2, DisableIdentity: true})
	return errors.Join(fn(ctx, rdb), rdb.Close())
}

// calmKeys is large enough that each server has some of the keys.
const calmKeys = 16

// awaitCalm waits until the fleet can reach the servers again, and each has executed its backlog after a
// hang: a script waits for that, a read may not.
func (s *Environment) awaitCalm(ctx context.Context) error {
	for _, side := range s.sides {
		if err := side.awaitCalm(ctx); err != nil {
			return err
		}
	}
	if s.sides != nil {
		return nil
	}
	if s.sentinels != nil {
		if err := s.sentinels.AwaitSettled(ctx); err != nil {
			return err
		}
	}
	if s.cluster != nil {
		if err := s.cluster.AwaitOK(ctx); err != nil {
			return err
		}
	}
	rdb, err := s.client(0)
	if err != nil {
		return err
	}
	defer func() { _ = rdb.Close() }()
	for i := 0; i < calmKeys; {
		err := rdb.Eval(ctx, "return redis.call('GET', KEYS[1])", []string{fmt.Sprint(keyPrefix, "calm-", i)}).Err()
		if err == nil || errors.Is(err, redis.Nil) {
			i++
			continue
		}
		if pause(ctx, 20*time.Millisecond) != nil {
			return fmt.Errorf("the servers do not respond after the nemesis ended: %w", err)
		}
	}
	return nil
}

// Close stops all servers and relays.
func (s *Environment) Close() {
	for i := len(s.end) - 1; i >= 0; i-- {
		s.end[i]()
	}
}

// pause waits for d, or returns the cause of ctx's end.
func pause(ctx context.Context, d time.Duration) error {
	_ = redisx.Sleep(ctx, d)
	return context.Cause(ctx)
}

// within returns a random duration between two.
func within(rng *rand.Rand, from, to time.Duration) time.Duration {
	return from + time.Duration(rng.Int64N(int64(to-from)+1))
}

// loopback returns a loopback address with a free port.
func loopback() string { return net.JoinHostPort("127.0.0.1", "0") }
