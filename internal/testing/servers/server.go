package servers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"
)

const (
	// startLimit limits the time until a server answers. It is generous for slow CI machines; only a server
	// that never answers uses it up.
	startLimit = time.Minute

	// startTries: another process can take a free port before the server binds it.
	startTries = 5
)

var (
	// errExited: the process ended before it was ready. Another port may help.
	errExited = errors.New("the server ended before it was ready")

	// ErrRunning: the previous process has not ended.
	ErrRunning = errors.New("the server is still running")
)

// Server is one server on its port, with its current or last process. Its methods are safe for concurrent
// use.
type Server struct {
	// Addr is the address of the server, as HOST:PORT. It does not change at a restart.
	Addr string

	known   string // its address for the servers and sentinels of one [Sentinels]
	ports   []int  // the first is in Addr
	logPath string

	launch launch
	path   string
	args   []string
	life   context.Context // of the first start: every process ends with it

	restarting sync.Mutex // held by the running Restart

	mu  sync.Mutex
	now *process // nil before the first start
}

// Stop kills the server and returns once it has ended. A graceful end is not needed, because persistence is
// per write. A second Stop has no effect. A concurrent Restart fails if Stop kills its process.
func (s *Server) Stop() {
	p := s.process()
	p.cancel()
	<-p.done
}

// Kill is [Server.Stop], but fails with [os.ErrProcessDone] if the server had ended before.
func (s *Server) Kill() error {
	p := s.process()
	select {
	case <-p.done:
		return fmt.Errorf("kill %s: %w", s.Addr, os.ErrProcessDone)
	default:
	}
	p.cancel()
	<-p.done
	return nil
}

// Restart starts the server again after its end, with the same arguments, port and folder, and returns once
// it answers, like the first start. Before the end it fails with [ErrRunning].
//
// This ctx limits the wait only: the server still ends with the ctx of its first start, and cannot restart
// after that. After an error the server does not run, and Restart may be called again.
func (s *Server) Restart(ctx context.Context) error {
	s.restarting.Lock()
	defer s.restarting.Unlock()
	select {
	case <-s.Done():
	default:
		return fmt.Errorf("restart %s: %w", s.Addr, ErrRunning)
	}
	if s.life.Err() != nil {
		return fmt.Errorf("restart %s: its time is over: %w", s.Addr, context.Cause(s.life))
	}
	// The log is appended, so that it keeps the end of the last process.
	begin := func() error {
		if err := s.spawn(os.O_APPEND); err != nil {
			return fmt.Errorf("restart %s: %w", s.Addr, err)
		}
		return s.awaitReady(ctx)
	}
	err := begin()
	if s.launch.lingers && errors.Is(err, errExited) {
		ctx, cancel := context.WithTimeout(ctx, startLimit)
		defer cancel()
		return poll(ctx, begin)
	}
	return err
}

// Done returns a channel that is closed when the current process has ended. Each process has its own
// channel: after [Server.Restart] a new call of Done returns the channel of the new process. To wait for
// the end of this process, keep the channel; to check whether the server runs now, call Done again.
func (s *Server) Done() <-chan struct{} { return s.process().done }

// PID returns the id of the current or last process.
func (s *Server) PID() int { return s.process().cmd.Process.Pid }

// Signal sends sig to the server process, and fails with [os.ErrProcessDone] if it has ended.
func (s *Server) Signal(sig os.Signal) error { return s.process().cmd.Process.Signal(sig) }

// Log returns the server's log since its first start.
func (s *Server) Log() string {
	text, err := os.ReadFile(s.logPath)
	if err != nil {
		return "no log: " + err.Error()
	}
	return string(text)
}

func (s *Server) process() *process {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

// spawn starts a process. [os.O_TRUNC] starts a new log, [os.O_APPEND] continues it.
func (s *Server) spawn(log int) error {
	p, err := s.launch.startProcess(s.life, s.path, s.args, s.logPath, log)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = p
	return nil
}

// awaitReady stops a server that does not become ready.
func (s *Server) awaitReady(ctx context.Context) error {
	if err := s.await(ctx, s.launch.ready); err != nil {
		s.Stop()
		return fmt.Errorf("%s on %s: %w; its log ends with:\n%s", s.launch.program, s.Addr, err, tail(s.Log(), 10))
	}
	return nil
}

// await returns nil once ready returns true.
func (s *Server) await(ctx context.Context, ready func(context.Context, *Server) bool) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	done := s.Done()
	for !ready(ctx, s) {
		select {
		case <-done:
			return errExited
		case <-ctx.Done():
			return fmt.Errorf("not ready: %w", context.Cause(ctx))
		case <-tick.C:
		}
	}
	return nil
}
