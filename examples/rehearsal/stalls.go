package main

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/unwatch/unwatch/examples/rehearsal/internal/wire"
)

// stalls freezes a process just as it sends a commit, until its lease is over and
// another process has updated the room: a garbage collection, a swapped-out
// page, a paused virtual machine at the worst moment. The process cannot know;
// its commit goes out afterwards, as if nothing had been.
//
// Waiting for the other process, rather than for some time, makes a stall do its
// harm on a slow machine as on a fast one.
type stalls struct {
	ctx   context.Context // ends every stall
	key   string          // of the room it happens in
	lease time.Duration
	every int // a stall at every so many commits of that room
	limit int // and so many in all

	mu       sync.Mutex
	commits  int
	happened int
	frozen   int           // the process, or -1
	other    chan struct{} // closed when another process has updated the room; nil: nobody waits
}

// patience, in leases, bounds a stall that nobody else ends.
const patience = 12

// before is the hook for the connections of one process.
func (s *stalls) before(proc int) func(*wire.Process, []wire.Command) {
	return func(p *wire.Process, sent []wire.Command) {
		for _, c := range sent {
			if s.isCommit(c) && s.due(proc) {
				s.stall(p)
			}
		}
	}
}

// isCommit tells a commit from a read: a SET of the room, or a script on it with more
// arguments than the type to expect.
func (s *stalls) isCommit(c wire.Command) bool {
	return c.Key == s.key && (c.Name == "SET" || c.Args > 1 && strings.HasPrefix(c.Name, "EVAL"))
}

// due counts a commit, and says whether it is one to stall at. There is one stall
// at a time: somebody has to go on.
func (s *stalls) due(proc int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.frozen >= 0 || s.happened == s.limit {
		return false
	}
	if s.commits++; s.commits%s.every != 0 {
		return false
	}
	s.frozen = proc
	s.happened++
	return true
}

// stall holds back what p sends, this commit included.
func (s *stalls) stall(p *wire.Process) {
	defer p.Freeze()()
	pause(s.ctx, 2*s.lease) // by then the lock belongs to nobody, or to another

	other := make(chan struct{})
	s.mu.Lock()
	s.other = other
	s.mu.Unlock()
	limit := time.NewTimer(patience * s.lease)
	defer limit.Stop()
	select {
	case <-other:
	case <-limit.C:
	case <-s.ctx.Done():
	}
	s.mu.Lock()
	s.frozen, s.other = -1, nil
	s.mu.Unlock()
}

// wrote is told of every update that was acknowledged, by its key and its process.
func (s *stalls) wrote(key string, proc int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.other != nil && key == s.key && proc != s.frozen {
		close(s.other)
		s.other = nil
	}
}

// count returns how many stalls there were.
func (s *stalls) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.happened
}

// pause waits for d or the end of ctx.
func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
