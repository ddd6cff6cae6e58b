package servers

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// StartNutcracker starts a nutcracker (twemproxy) over these Redis backends,
// each HOST:PORT, with this many connections to each. More than one connection
// lets commands of one client overtake each other. It returns once the proxy
// accepts; the proxy ends with ctx.
func StartNutcracker(ctx context.Context, dir string, backends []string, connections int) (*Server, error) {
	if len(backends) == 0 {
		return nil, errors.New("nutcracker: needs at least one backend")
	}
	return nutcrackerLaunch(dir, backends, connections).start(ctx)
}

func nutcrackerLaunch(dir string, backends []string, connections int) launch {
	pool := "unwatch-" + rand.Text() // a name that no other proxy has
	return launch{
		program: "nutcracker",
		dir:     dir,
		ports:   2, // the second is for its statistics, which cannot be turned off
		args: func(s *Server) ([]string, error) {
			file := filepath.Join(dir, fmt.Sprintf("nutcracker-%d", s.ports[0]))
			text := nutcrackerConfig(pool, s.Addr, backends, connections)
			// The log and the pid file are in system folders by default,
			// where only root may write.
			return []string{
				"--conf-file", file + ".yml", "--pid-file", file + ".pid", "--output", s.logPath,
				"--stats-addr", "127.0.0.1", "--stats-port", strconv.Itoa(s.ports[1]), "--stats-interval", "50",
			}, os.WriteFile(file+".yml", []byte(text), 0o600)
		},
		ready: func(ctx context.Context, s *Server) bool { return nutcrackerReady(ctx, s, pool) },
	}
}

// nutcrackerConfig is the configuration of one pool. The timeout is below the
// read timeout of the usual client (3 s), so that a stalled backend shows as
// the proxy's error and not as the client's. Keys are spread as twemproxy does
// by default: without hash tags.
func nutcrackerConfig(pool, addr string, backends []string, connections int) string {
	var b strings.Builder
	fmt.Fprintf(&b, `%s:
  listen: %s
  redis: true
  hash: fnv1a_64
  distribution: ketama
  auto_eject_hosts: false
  timeout: 2000
  preconnect: true
  server_connections: %d
  servers:
`, pool, addr, max(1, connections))
	for _, backend := range backends {
		fmt.Fprintf(&b, "   - %s:1\n", backend)
	}
	return b.String()
}

// nutcrackerReady connects once and wants to see that in the statistics of our
// pool. No command tells one proxy from another, and a proxy says nothing when
// it starts to listen: this is how we know that we did not reach a foreign one.
func nutcrackerReady(ctx context.Context, s *Server, pool string) bool {
	conn, err := dial(ctx, s.Addr)
	if err != nil {
		return false
	}
	_ = conn.Close()

	stats, err := dial(ctx, loopback(s.ports[1]))
	if err != nil {
		return false
	}
	defer func() { _ = stats.Close() }()
	var all map[string]json.RawMessage
	if json.NewDecoder(stats).Decode(&all) != nil {
		return false
	}
	var ours struct {
		Ended int `json:"client_eof"`
	}
	return json.Unmarshal(all[pool], &ours) == nil && ours.Ended > 0
}
