package servers

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
)

// StartSentinel starts a redis-server as a sentinel that alone watches the primary, under
// this name, and takes it for down after half a second. It ends with ctx.
func StartSentinel(ctx context.Context, dir, name string, primary *Server) (*Server, error) {
	l := redisLaunch(dir, nil)
	l.args = func(s *Server) ([]string, error) {
		host, port, err := net.SplitHostPort(primary.Addr)
		if err != nil {
			return nil, err
		}
		// It writes into its configuration, so that has to be a file.
		file := filepath.Join(dir, "sentinel.conf")
		text := fmt.Sprintf("port %d\nbind 127.0.0.1\ndir %q\nsentinel monitor %s %s %s 1\n"+
			"sentinel down-after-milliseconds %s 500\nsentinel failover-timeout %s 2000\n",
			s.ports[0], dir, name, host, port, name, name)
		return []string{file, "--sentinel"}, os.WriteFile(file, []byte(text), 0o600)
	}
	return l.start(ctx)
}
