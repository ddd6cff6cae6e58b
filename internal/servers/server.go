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
	// startLimit is how long a server may take until it answers. It is
	// generous because CI machines are slow, and it is only waited out by a
	// server that will never answer.
	startLimit = 15 * time.Second

	// startTries: a free port can be taken by another process between the
	// moment we find it and the moment the server binds it.
	startTries = 5
)

var (
	// errExited: the process ended before it was ready. Another port may help.
	errExited = errors.New("the server ended before it was ready")

	// ErrRunning: what has to end first has not ended.
	ErrRunning = errors.New("the server is still running")
)

// Server is one server on its port: the process that runs now, or that ran last. Its
// methods may be called from any goroutine.
type Server struct {
	// Addr is where the server listens, as HOST:PORT. It stays over restarts.
	Addr string

	known   string // where the servers and sentinels of one [Sentinels] find it
	ports   []int  // the first is in Addr
	logPath string

	// What a restart needs.
	launch launch
	path   string
	args   []string
	life   context.Context // that of the first start: every process ends with it

	restarting sync.Mutex // held by the one Restart under way

	mu  sync.Mutex
	now *process // only a started one
}

// Stop kills the server and returns once it is gone. There is no graceful end,
// because a server that must save something does so with every write. Stopping
// twice is harmless. A Restart under way fails if Stop meets its process.
func (s *Server) Stop() {
	p := s.process()
	p.cancel()
	<-p.done
}

// Kill is [Server.Stop] for whoever counts faults: it fails with
// [os.ErrProcessDone] if the server had ended before.
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

// Restart starts the server again after its end, with the same arguments, port and
// folder, and returns once it answers, as the first start did. Before the end it fails
// with [ErrRunning].
//
// This ctx limits the wait only: the server still ends with the ctx of its first start,
// and when that is over there is no restart. After an error the server does not run, and
// Restart may be called again.
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
	// The log goes on, so that it tells of the end as well.
	if err := s.spawn(os.O_APPEND); err != nil {
		return fmt.Errorf("restart %s: %w", s.Addr, err)
	}
	return s.awaitReady(ctx)
}

// Done is closed when the process that runs at the time of this call has ended, for
// whatever reason. Each process has a channel of its own: one that is closed stays closed,
// and after [Server.Restart] a new call of Done gives the channel of the new process. So
// whoever waits for the end of this process keeps the channel, and whoever asks whether
// the server runs now calls Done again.
func (s *Server) Done() <-chan struct{} { return s.process().done }

// PID is the id of the process that runs, or that ran last.
func (s *Server) PID() int { return s.process().cmd.Process.Pid }

// Signal sends sig to the server process, and fails with [os.ErrProcessDone] if it has
// ended.
func (s *Server) Signal(sig os.Signal) error { return s.process().cmd.Process.Signal(sig) }

// Log is what the server has written to its log since its first start.
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

// spawn starts a process. With [os.O_TRUNC] its log is new, with [os.O_APPEND] it goes on.
func (s *Server) spawn(log int) error {
	p, err := startProcess(s.life, s.path, s.args, s.launch.dir, s.logPath, log)
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

// await returns nil as soon as ready says so.
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
