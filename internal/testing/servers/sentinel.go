package servers

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"
)

// StartSentinel starts a redis-server as the only sentinel of the primary, under this name. It reports the
// primary as down after half a second. It ends with ctx.
func StartSentinel(ctx context.Context, dir, name string, primary *Server) (*Server, error) {
	return watcher{name: name, quorum: 1, down: 500 * time.Millisecond, failover: 2 * time.Second}.start(ctx, dir, primary.Addr)
}

// watcher configures a sentinel.
type watcher struct {
	name           string
	quorum         int
	down, failover time.Duration
}

func (w watcher) start(ctx context.Context, dir, primary string) (*Server, error) {
	l := redisLaunch(dir, nil)
	l.args = func(s *Server) ([]string, error) {
		host, port, err := net.SplitHostPort(primary)
		if err != nil {
			return nil, err
		}
		// A sentinel needs a writable configuration file.
		file := filepath.Join(dir, "sentinel.conf")
		text := fmt.Sprintf("port %d\nbind 127.0.0.1\ndir %q\nsentinel monitor %s %s %s %d\n"+
			"sentinel down-after-milliseconds %s %d\nsentinel failover-timeout %s %d\n",
			s.ports[0], dir, w.name, host, port, w.quorum, w.name, w.down.Milliseconds(), w.name, w.failover.Milliseconds())
		return []string{file, "--sentinel"}, os.WriteFile(file, []byte(text), 0o600)
	}
	return l.start(ctx)
}
