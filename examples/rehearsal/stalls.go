package main

import (
	"context"
	"strings"
	"sync"

	"github.com/unwatch/unwatch/examples/rehearsal/internal/wire"
)

// stalls freezes a process before it sends a commit, like a garbage collection or a paused
// virtual machine. The stall ends when the lease is over and another process has updated the
// room. The process does not detect the stall, and sends its commit.
//
// A stall waits for an event, not for a time, so it works on slow and fast machines. If no
// other process can write any more, it ends and does not count.
type stalls struct {
	ctx   context.Context // its end ends every stall
	key   string          // key of the room
	every int             // number of commits of that room per stall
	limit int             // maximal number of stalls

	mu       sync.Mutex
	commits  int
	happened int           // stalls with an update by another process
	frozen   int           // the frozen process, or -1
	over     chan struct{} // closed when the stall may end; nil without a stall
	sent     map[int]bool  // processes that sent a commit of the room during the stall
	active   map[int]int   // writers and background updates of the room, by process
}

// before returns the hook for the connections of one process.
func (s *stalls) before(proc int) func(*wire.Process, []wire.Command) {
	return func(p *wire.Process, sent []wire.Command) {
		for _, c := range sent {
			if s.isCommit(c) && s.due(proc) {
				s.stall(p)
			}
		}
	}
}

// isCommit distinguishes a commit from a read: a SET of the room, or a script on it with more
// arguments than the expected type.
func (s *stalls) isCommit(c wire.Command) bool {
	return c.Key == s.key && (c.Name == "SET" || c.Args > 1 && strings.HasPrefix(c.Name, "EVAL"))
}

// due counts a commit, and reports whether to stall at it. There is one stall at a time, and only
// if another process can end it.
func (s *stalls) due(proc int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over != nil && s.frozen != proc {
		s.sent[proc] = true
	}
	if s.frozen >= 0 || s.happened == s.limit || !s.othersThan(proc) {
		return false
	}
	if s.commits++; s.commits%s.every != 0 {
		return false
	}
	s.frozen = proc
	return true
}

// stall blocks all writes of p, including this commit.
func (s *stalls) stall(p *wire.Process) {
	defer p.Freeze()()
	over := make(chan struct{})
	s.mu.Lock()
	s.over, s.sent = over, map[int]bool{} // set before the lease ends, since other processes may finish soon after
	s.endIfAlone()
	s.mu.Unlock()
	select {
	case <-over:
	case <-s.ctx.Done():
	}
	s.mu.Lock()
	s.frozen, s.over = -1, nil
	s.mu.Unlock()
}

// enter records that a process may update the room, until it leaves.
func (s *stalls) enter(proc int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.active == nil {
		s.active = map[int]int{}
	}
	s.active[proc]++
}

func (s *stalls) leave(proc int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.active[proc]--
	s.endIfAlone()
}

// othersThan reports whether another process may update the room. s.mu is held.
func (s *stalls) othersThan(proc int) bool {
	for other, n := range s.active {
		if other != proc && n > 0 {
			return true
		}
	}
	return false
}

// endIfAlone ends a stall that no other process can end. s.mu is held.
func (s *stalls) endIfAlone() {
	if s.over != nil && !s.othersThan(s.frozen) {
		close(s.over)
		s.over = nil
	}
}

// wrote is called for each acknowledged update. A stall counts if the commit was sent during it:
// then it was executed between the read and the commit of the frozen process.
func (s *stalls) wrote(key string, proc int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over != nil && key == s.key && s.sent[proc] {
		s.happened++
		close(s.over)
		s.over = nil
	}
}

// count returns the number of stalls with an update by another process.
func (s *stalls) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.happened
}
