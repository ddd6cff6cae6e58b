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

// StartNutcracker starts a nutcracker (twemproxy) over these Redis backends, each HOST:PORT, with this many
// connections to each. With more than one connection, commands of one client can overtake each other. It
// returns once the proxy accepts; the proxy ends with ctx.
func StartNutcracker(ctx context.Context, dir string, backends []string, connections int) (*Server, error) {
	if len(backends) == 0 {
		return nil, errors.New("nutcracker: needs at least one backend")
	}
	return nutcrackerLaunch(dir, backends, connections).start(ctx)
}

func nutcrackerLaunch(dir string, backends []string, connections int) launch {
	pool := "unwatch-" + rand.Text() // unique to this proxy
	return launch{
		program: "nutcracker",
		dir:     dir,
		ports:   2, // the second is for its statistics, which are always on
		args: func(s *Server) ([]string, error) {
			file := filepath.Join(dir, fmt.Sprintf("nutcracker-%d", s.ports[0]))
			text := nutcrackerConfig(pool, s.Addr, backends, connections)
			// By default the log and the pid file are in system folders, where only root may write.
			return []string{
				"--conf-file", file + ".yml", "--pid-file", file + ".pid", "--output", s.logPath,
				"--stats-addr", "127.0.0.1", "--stats-port", strconv.Itoa(s.ports[1]), "--stats-interval", "50",
			}, os.WriteFile(file+".yml", []byte(text), 0o600)
		},
		ready: func(ctx context.Context, s *Server) bool { return nutcrackerReady(ctx, s, pool) },
	}
}

// nutcrackerConfig is the configuration of one pool. The timeout is below the read timeout of the usual
// client (3 s), so that a stalled backend results in the proxy's error instead of the client's. Keys are
// spread by twemproxy's default: without hash tags.
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

// nutcrackerReady connects once and looks for that connection in the statistics of this pool. No command
// identifies a proxy, and a foreign one on this port would accept, too.
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
