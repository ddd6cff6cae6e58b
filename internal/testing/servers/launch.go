package servers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// launch describes a kind of server.
type launch struct {
	program string
	dir     string
	// ports is the number of ports that the server needs; the first is its Addr.
	ports int
	// args prepares the folder and returns the arguments for the ports and the log of s, before it runs. A
	// restart uses the same arguments and does not change the folder.
	args func(s *Server) ([]string, error)
	// ready reports whether the server answers and is the started process: a foreign server on its port
	// also answers.
	ready func(ctx context.Context, s *Server) bool
	// lingers tells that children of a killed process may live on for a moment, and keep the next one from its
	// start.
	lingers bool
	// setup changes the command before it starts. It may be nil.
	setup func(*exec.Cmd) error

	// freePorts is replaced by tests that need a collision.
	freePorts func(n int) ([]int, error)
}

// start runs the program until it is ready, with other ports if necessary.
func (l launch) start(ctx context.Context) (*Server, error) {
	if l.freePorts == nil {
		l.freePorts = freePorts
	}
	for try := 1; ; try++ {
		s, err := l.startOnce(ctx)
		if err == nil || try == startTries || !errors.Is(err, errExited) {
			return s, err
		}
	}
}

func (l launch) startOnce(ctx context.Context) (*Server, error) {
	path, err := find(l.program, systemDirs())
	if err != nil {
		return nil, err
	}
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

// tail returns the last n lines of text.
func tail(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
