package servers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

const (
	// startLimit is how long a server may take until it answers. It is
	// generous because CI machines are slow, and it is only waited out by a
	// server that will never answer.
	startLimit = 15 * time.Second

	// startTries: a free port can be taken by another process between the
	// moment we find it and the moment the server binds it.
	startTries = 5
)

// errExited: the process ended before it was ready. Another port may help.
var errExited = errors.New("the server ended before it was ready")

// Server is one running server process. Its methods may be called from any
// goroutine.
type Server struct {
	// Addr is where the server listens, as HOST:PORT.
	Addr string

	ports   []int // the first is in Addr
	logPath string
	cmd     *exec.Cmd
	cancel  context.CancelFunc
	done    chan struct{}
}

// Stop kills the server and returns once it is gone. There is no graceful end,
// because there is nothing to save. Stopping twice is harmless.
func (s *Server) Stop() {
	s.cancel()
	<-s.done
}

// Done is closed when the server process has ended, for whatever reason.
func (s *Server) Done() <-chan struct{} { return s.done }

// PID is the process id of the server.
func (s *Server) PID() int { return s.cmd.Process.Pid }

// Signal sends sig to the server process: SIGSTOP and SIGCONT make the stall
// that a test of a lease needs.
func (s *Server) Signal(sig os.Signal) error { return s.cmd.Process.Signal(sig) }

// Log is what the server has written to its log so far.
func (s *Server) Log() string {
	text, err := os.ReadFile(s.logPath)
	if err != nil {
		return "no log: " + err.Error()
	}
	return string(text)
}

// launch is what tells one kind of server from another.
type launch struct {
	program string
	dir     string
	// ports is how many free ports the server needs; the first is its Addr.
	ports int
	// args prepares the folder and gives the arguments for the ports and the
	// log of s, which is not running yet.
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
		done:    make(chan struct{}),
	}
	args, err := l.args(s)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", l.program, err)
	}
	if err := s.spawn(ctx, path, args, l.dir); err != nil {
		return nil, fmt.Errorf("%s: %w", l.program, err)
	}
	if err := s.await(ctx, l.ready); err != nil {
		s.Stop()
		return nil, fmt.Errorf("%s on %s: %w; its log ends with:\n%s", l.program, s.Addr, err, tail(s.Log(), 10))
	}
	return s, nil
}

// spawn starts the process and keeps watch over it until it ends.
func (s *Server) spawn(ctx context.Context, path string, args []string, dir string) error {
	out, err := os.OpenFile(s.logPath, os.O_CREATE|os.O_WRONLY|os.O_APPEND|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	ctx, s.cancel = context.WithCancel(ctx)
	s.cmd = exec.CommandContext(ctx, path, args...)
	s.cmd.Dir, s.cmd.Stdout, s.cmd.Stderr = dir, out, out
	dieWithUs(s.cmd)

	started := make(chan error)
	go func() {
		// The kernel ties the life of the server to the thread that
		// started it, so that thread must stay ours until it has ended.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(s.done)
		defer s.cancel()
		defer func() { _ = out.Close() }()
		err := s.cmd.Start()
		started <- err
		if err == nil {
			_ = s.cmd.Wait() // killed is how it is meant to end
		}
	}()
	return <-started
}

// await returns nil as soon as ready says so.
func (s *Server) await(ctx context.Context, ready func(context.Context, *Server) bool) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !ready(ctx, s) {
		select {
		case <-s.done:
			return errExited
		case <-ctx.Done():
			return fmt.Errorf("not ready: %w", context.Cause(ctx))
		case <-tick.C:
		}
	}
	return nil
}

// tail is the last n lines of text.
func tail(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
