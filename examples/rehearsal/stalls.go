package main

import (
	"context"
	"strings"
	"sync"

	"github.com/unwatch/unwatch/examples/rehearsal/internal/wire"
)

// stalls freezes a process just as it sends a commit, until its lease is over and
// another process has updated the room: a garbage collection, a swapped-out
// page, a paused virtual machine at the worst moment. The process cannot know;
// its commit goes out afterwards, as if nothing had been.
//
// A stall waits for the other process, not for some time: it does its harm on a
// slow machine as on a fast one. It ends without harm, and does not count, if no
// other process can write any more.
type stalls struct {
	ctx   context.Context // ends every stall
	key   string          // of the room it happens in
	every int             // a stall at every so many commits of that room
	limit int             // and so many in all

	mu       sync.Mutex
	commits  int
	happened int           // stalls in which another process has updated the room
	frozen   int           // the process, or -1
	over     chan struct{} // closed when the stall may end; nil without one
	sent     map[int]bool  // processes that have sent a commit of the room since then
	active   map[int]int   // writers, and updates of the room in the background, by process
}

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
// at a time, and another process that can end it.
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

// stall holds back what p sends, this commit included.
func (s *stalls) stall(p *wire.Process) {
	defer p.Freeze()()
	over := make(chan struct{})
	s.mu.Lock()
	s.over, s.sent = over, map[int]bool{} // from now on: after the lease, others may soon be done
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

// enter says that a process may update the room, until it leaves.
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

// wrote is told of every update that was acknowledged, by its key and its process. A
// stall counts if the commit went out during it: then it was executed between the read
// and the commit of the frozen process.
func (s *stalls) wrote(key string, proc int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over != nil && key == s.key && s.sent[proc] {
		s.happened++
		close(s.over)
		s.over = nil
	}
}

// count returns how many stalls there were in which another process has written.
func (s *stalls) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.happened
}
