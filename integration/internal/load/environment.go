package load

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/internal/testing/servers"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
)

// Topologies returns the names that [Config] accepts.
func Topologies() []string { return []string{"redis", "nutcracker", "codis"} }

// environment holds running servers, and clients that bypass any proxy.
type environment struct {
	profile *proxycompat.Profile
	old     *redis.Client // the server that keys move from; nil: no cut-over
	addr    string
	servers []*redis.Client
	codis   *proxytest.Proxy // nil for other topologies
	end     []func()
}

// startSite starts a topology; its servers keep their files in dir. For a cut-over it also starts the old server.
func startEnvironment(ctx context.Context, topology, dir string, cutover bool) (*environment, error) {
	s := &environment{}
	if err := s.start(ctx, topology, dir, cutover); err != nil {
		s.close()
		return nil, fmt.Errorf("%s: %w", topology, err)
	}
	return s, nil
}

func (s *environment) start(ctx context.Context, topology, dir string, cutover bool) error {
	backends := make([]string, 2)
	if topology == "redis" {
		backends = backends[:1]
	}
	for i := range backends {
		look, err := s.startServer(ctx, filepath.Join(dir, strconv.Itoa(i)))
		if err != nil {
			return err
		}
		backends[i] = look.Options().Addr
	}
	if cutover {
		look, err := s.startServer(ctx, filepath.Join(dir, "old"))
		if err != nil {
			return err
		}
		s.old = look
	}
	switch topology {
	case "redis":
		s.profile, s.addr = proxycompat.Redis(), backends[0]
	case "nutcracker":
		proxy, err := servers.StartNutcracker(ctx, dir, backends, 4)
		if err != nil {
			return err
		}
		s.end = append(s.end, proxy.Stop)
		s.profile, s.addr = proxycompat.Twemproxy05(), proxy.Addr
	case "codis":
		proxy, err := proxytest.Start(proxytest.Config{Profile: proxycompat.Codis32(), Backends: backends, Parallel: 4})
		if err != nil {
			return err
		}
		s.codis = proxy
		s.end = append(s.end, func() { _ = proxy.Close() })
		s.profile, s.addr = proxycompat.Codis32(), proxy.Addr()
	}
	return nil
}

// startServer starts a server and returns a client of it.
func (s *environment) startServer(ctx context.Context, dir string) (*redis.Client, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	server, err := servers.StartRedis(ctx, dir)
	if err != nil {
		return nil, err
	}
	s.end = append(s.end, server.Stop)
	look := redis.NewClient(&redis.Options{Addr: server.Addr, Protocol: 2, DisableIdentity: true, PoolSize: 1, PipelinePoolSize: -1})
	s.end = append(s.end, func() { _ = look.Close() })
	s.servers = append(s.servers, look)
	return look, look.Ping(ctx).Err()
}

// dropCalls drops the call log of the in-process proxy, which would look like growth of the stores.
func (s *environment) dropCalls() {
	if s.codis != nil {
		s.codis.ResetCalls()
	}
}

// connections returns the number of connections at the server except its own, or -1 behind a proxy.
func (s *environment) connections(ctx context.Context) (int, error) {
	if len(s.servers) > 1 {
		return -1, nil
	}
	text, err := s.servers[0].Info(ctx, "clients").Result()
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(text) {
		if n, ok := strings.CutPrefix(strings.TrimSpace(line), "connected_clients:"); ok {
			all, err := strconv.Atoi(n)
			return all - 1, err
		}
	}
	return 0, errors.New("INFO clients does not tell connected_clients")
}

// stored reads all servers: the values of keys, and the names of all other keys, which belong to locks.
func (s *environment) stored(ctx context.Context, keys *keys) (values []record, locks []string, err error) {
	values = make([]record, keys.all())
	for _, server := range s.servers {
		names := server.Scan(ctx, 0, "*", 1000).Iterator()
		for names.Next(ctx) {
			if strings.HasPrefix(names.Val(), idlePrefix) {
				continue
			}
			number, ours := keys.number(names.Val())
			if !ours {
				locks = append(locks, names.Val())
				continue
			}
			text, err := server.Get(ctx, names.Val()).Result()
			if server == s.old && redis.HasErrorPrefix(err, "WRONGTYPE") {
				continue // a marker
			}
			if err != nil {
				return nil, nil, err
			}
			if values[number], err = parse(text); err != nil {
				return nil, nil, err
			}
		}
		if err := names.Err(); err != nil {
			return nil, nil, err
		}
	}
	return values, locks, nil
}

func (s *environment) close() {
	for i := len(s.end) - 1; i >= 0; i-- {
		s.end[i]()
	}
}
