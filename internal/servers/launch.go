package servers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// launch is what tells one kind of server from another.
type launch struct {
	program string
	dir     string
	// ports is how many free ports the server needs; the first is its Addr.
	ports int
	// args prepares the folder and gives the arguments for the ports and the
	// log of s, which is not running yet. A restart takes the same arguments
	// and leaves the folder as it is: what a server wrote there is its own.
	args func(s *Server) ([]string, error)
	// ready reports whether the server answers, and whether it is ours: a
	// foreign server on a port that ours failed to bind also answers.
	ready func(ctx context.Context, s *Server) bool

	// freePorts is replaced by tests that need a collision.
	freePorts func(n int) ([]int, error)
}

// start runs the program until it is ready, on other ports if it must.
func (l launch) start(ctx context.Context) (*Server, error) {
	path, err := find(l.program, systemDirs())
	if err != nil {
		return nil, err
	}
	if l.freePorts == nil {
		l.freePorts = freePorts
	}
	for try := 1; ; try++ {
		s, err := l.startOnce(ctx, path)
		if err == nil || try == startTries || !errors.Is(err, errExited) {
			return s, err
		}
	}
}

func (l launch) startOnce(ctx context.Context, path string) (*Server, error) {
	ports, err := l.freePorts(l.ports)
	if err != nil {
		return nil, fmt.Errorf("%s: no free port: %w", l.program, err)
	}
	s := &Server{
		Addr:    loopback(ports[0]),
		ports:   ports,
		logPath: filepath.Join(l.dir, fmt.Sprintf("%s-%d.log", l.program, ports[0])),
		launch:  l,
		path:    path,
		life:    ctx,
	}
	if s.args, err = l.args(s); err != nil {
		return nil, fmt.Errorf("%s: %w", l.program, err)
	}
	if err := s.spawn(os.O_TRUNC); err != nil {
		return nil, fmt.Errorf("%s: %w", l.program, err)
	}
	if err := s.awaitReady(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// tail is the last n lines of text.
func tail(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
