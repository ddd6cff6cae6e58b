package main

import (
	"context"
	"strings"
	"sync"
	"time"
)

// stalls freezes a process just before it sends a commit, like a garbage collection or a paused
// virtual machine. The stall ends when another process has written the same key, for which it needs
// the lease of the frozen process to end. The process does not detect the stall, and sends its
// commit. A stall waits for that event, not for a time, so it works on slow and fast machines.
type stalls struct {
	ctx   context.Context // its end ends every stall
	key   string
	every int // number of commits of that key per stall
	limit int // maximal number of stalls

	mu       sync.Mutex
	commits  int
	happened int           // stalls with a write by another process
	frozen   *traffic      // the frozen process, or nil
	over     chan struct{} // closed when the stall may end; nil without a stall
}

// alone ends a stall that no other process ends, since none has anything left to write.
const alone = 10 * time.Second

// sending is called before a process sends commands, and may freeze it. It returns the stall of
// another process that one of the commands overtakes, or nil.
func (s *stalls) sending(t *traffic, sent []command) (overtaking chan struct{}) {
	if s == nil {
		return nil
	}
	for _, c := range sent {
		if !s.isCommit(c) {
			continue
		}
		stall, mine := s.commit(t)
		if mine {
			s.stall(t, stall)
		} else {
			overtaking = stall
		}
	}
	return overtaking
}

// isCommit distinguishes a commit from a read: a SET of the key, or a script on it with more
// arguments than the expected type.
func (s *stalls) isCommit(c command) bool {
	return c.key == s.key && (c.name == "SET" || c.args > 1 && strings.HasPrefix(c.name, "EVAL"))
}

// commit counts a commit. It begins a stall there if one is due, and otherwise returns the present
// one of another process. There is one stall at a time.
func (s *stalls) commit(t *traffic) (stall chan struct{}, mine bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.frozen != nil || s.happened >= s.limit {
		if s.frozen == t {
			return nil, false
		}
		return s.over, false
	}
	if s.commits++; s.commits%s.every != 0 {
		return nil, false
	}
	s.frozen, s.over = t, make(chan struct{})
	return s.over, true
}

// stall blocks all writes of the process, including this commit.
func (s *stalls) stall(t *traffic, over chan struct{}) {
	defer t.freeze()()
	select {
	case <-over:
	case <-s.ctx.Done():
	case <-time.After(alone):
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over == over { // nobody has overtaken it, so no further stall either
		s.limit = s.happened
	}
	s.frozen, s.over = nil, nil
}

// overtaken ends a stall: another process has sent a commit during it, and got its reply.
func (s *stalls) overtaken(stall chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over == stall {
		s.happened++
		s.over = nil
		close(stall)
	}
}

// count returns the number of stalls with a write by another process.
func (s *stalls) count() int {
	if s == nil {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.happened
}
