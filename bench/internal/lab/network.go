package lab

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/bench/internal/peers"
	"github.com/unwatch/unwatch/bench/internal/worker"
	"github.com/unwatch/unwatch/internal/testing/servers"
)

// Network is the connection between clients and servers.
type Network string

// The networks.
const (
	Loopback Network = "loopback"
	Delay    Network = "delay"    // 1 ms each way
	Proxy    Network = "proxy"    // twemproxy on loopback, with two servers
	Services Network = "services" // each lock service on loopback
)

// eachWay is the one-way delay of the Delay network.
const eachWay = time.Millisecond

// Lab has the servers of a run.
type Lab struct {
	program string // of the child processes
	dir     string
	paths   map[Network]*Path
	relay   *worker.Child
	all     []*servers.Server
}

// Path is a running network with its servers.
type Path struct {
	Network
	Addr    string            // for the workers
	Proxied bool              // Addr is a proxy
	Dir     string            // of the files of lock services, another one after each Clear
	addrs   map[string]string // by implementation, instead of Addr
	servers []*redis.Client   // direct, one per server
	pids    []int             // of the proxy, the relay and the servers
	proxy   *servers.Server
}

// New returns a Lab that starts servers in dir, and child processes from program.
func New(program, dir string) *Lab {
	return &Lab{program: program, dir: dir, paths: map[Network]*Path{}}
}

// Path returns a network, and starts it at the first call.
func (l *Lab) Path(ctx context.Context, n Network) (*Path, error) {
	if p := l.paths[n]; p != nil {
		return p, nil
	}
	p, err := l.build(ctx, n)
	if err != nil {
		return nil, fmt.Errorf("network %s: %w", n, err)
	}
	l.paths[n] = p
	return p, nil
}

func (l *Lab) build(ctx context.Context, n Network) (*Path, error) {
	p := &Path{Network: n}
	switch n {
	case Loopback:
		s, err := l.server(ctx, p)
		if err != nil {
			return nil, err
		}
		p.Addr = s.Addr
	case Delay:
		direct, err := l.Path(ctx, Loopback) // shared, since slots never overlap
		if err != nil {
			return nil, err
		}
		job := &worker.RelayJob{Target: direct.Addr, Delay: eachWay}
		l.relay, err = worker.Start(ctx, l.program, worker.Job{Relay: job})
		if err != nil {
			return nil, err
		}
		ready, err := l.relay.Ready()
		if err != nil {
			return nil, err
		}
		p.Addr, p.servers = ready.Addr, direct.servers
		p.pids = append([]int{l.relay.PID()}, direct.pids...)
	case Proxy:
		var backends []string
		for range 2 {
			s, err := l.server(ctx, p)
			if err != nil {
				return nil, err
			}
			backends = append(backends, s.Addr)
		}
		s, err := servers.StartNutcracker(ctx, l.dir, backends, 1)
		if err != nil {
			return nil, err
		}
		l.all = append(l.all, s)
		p.Addr, p.Proxied, p.proxy = s.Addr, true, s
		p.pids = append(p.pids, s.PID())
	case Services:
		if err := l.services(ctx, p); err != nil {
			return nil, err
		}
	default:
		return nil, fmt.Errorf("unknown")
	}
	return p, nil
}

// server starts another Redis server for p.
func (l *Lab) server(ctx context.Context, p *Path) (*servers.Server, error) {
	s, err := servers.StartRedis(ctx, l.dir)
	if err != nil {
		return nil, err
	}
	l.all = append(l.all, s)
	p.pids = append(p.pids, s.PID())
	p.servers = append(p.servers, peers.Client(peers.Options{Addr: s.Addr}))
	return s, nil
}

// Close stops all servers.
func (l *Lab) Close() {
	for _, p := range l.paths {
		for _, rdb := range p.servers {
			_ = rdb.Close()
		}
	}
	if l.relay != nil {
		l.relay.Stop()
	}
	for _, s := range l.all {
		s.Stop()
	}
}

// AddrOf returns the address for the workers of an implementation.
func (p *Path) AddrOf(impl string) string { return cmp.Or(p.addrs[impl], p.Addr) }

// Clear empties all servers.
func (p *Path) Clear(ctx context.Context) error {
	if p.Dir != "" {
		return p.newDir()
	}
	for _, rdb := range p.servers {
		if err := rdb.FlushAll(ctx).Err(); err != nil {
			return err
		}
	}
	return nil
}

// Stored returns the sum of the counters in these keys on all servers.
func (p *Path) Stored(ctx context.Context, keys []string) (int64, error) {
	if p.Dir != "" {
		return p.storedInFiles(keys)
	}
	var sum int64
	for _, rdb := range p.servers {
		docs, err := rdb.MGet(ctx, keys...).Result()
		if err != nil {
			return 0, err
		}
		for _, doc := range docs {
			text, _ := doc.(string)
			n, err := worker.Count([]byte(text))
			if err != nil {
				return 0, err
			}
			sum += n
		}
	}
	return sum, nil
}

// Exist returns how many of these keys exist.
func (p *Path) Exist(ctx context.Context, keys []string) (int64, error) {
	var sum int64
	for _, rdb := range p.servers {
		for start := 0; start < len(keys); start += 1000 {
			n, err := rdb.Exists(ctx, keys[start:min(start+1000, len(keys))]...).Result()
			if err != nil {
				return 0, err
			}
			sum += n
		}
	}
	return sum, nil
}

// RoundTrip returns the median duration of a PING.
func (p *Path) RoundTrip(ctx context.Context) (time.Duration, error) {
	rdb := peers.Client(peers.Options{Addr: p.Addr, Proxy: p.Proxied})
	defer func() { _ = rdb.Close() }()
	var took [101]time.Duration
	for i := range took {
		began := time.Now()
		if err := rdb.Ping(ctx).Err(); err != nil {
			return 0, err
		}
		took[i] = time.Since(began)
	}
	return median(took[1:]), nil // the first one includes the dial
}
