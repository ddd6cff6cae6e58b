package main

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
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
	frozen   *traffic      // the process of the present stall
	over     chan struct{} // closed at its end; nil without a stall
}

// alone ends a stall that no other process ends, since none has anything left to write.
const alone = 10 * time.Second

// sending is called before a process sends commands, and waits while that process is frozen. If
// they overtake a stall of another process, it returns that stall.
func (s *stalls) sending(t *traffic, sent []command) (overtaking chan struct{}) {
	if s == nil {
		return nil
	}
	commit := slices.ContainsFunc(sent, s.isCommit)
	s.mu.Lock()
	over := s.over
	switch {
	case over != nil && s.frozen == t:
		s.mu.Unlock()
		<-over
		return nil
	case over != nil && commit:
		overtaking = over
	case over == nil && commit && s.happened < s.limit:
		if s.commits++; s.commits%s.every == 0 {
			over = make(chan struct{})
			s.frozen, s.over = t, over
			s.mu.Unlock()
			select {
			case <-over:
			case <-s.ctx.Done():
			case <-time.After(alone):
			}
			s.end(over, 0)
			return nil
		}
	}
	s.mu.Unlock()
	return overtaking
}

// isCommit distinguishes a commit from a read: a SET of the key, or a script on it with more
// arguments than the expected type.
func (s *stalls) isCommit(c command) bool {
	return c.key == s.key && (c.name == "SET" || c.args > 1 && strings.HasPrefix(c.name, "EVAL"))
}

// end ends a stall, unless it has ended. overtaken is 1 if another process has sent a commit during
// it, and got its reply. After a stall without, there is no further one.
func (s *stalls) end(stall chan struct{}, overtaken int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over == stall {
		if s.happened += overtaken; overtaken == 0 {
			s.limit = s.happened
		}
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

// traffic counts the commands of one process's client. It is the innermost hook of the client, so
// it sees no command that another hook has refused. It excludes the handshake of a connection,
// which is not a cost of an update.
type traffic struct {
	stalls *stalls   // may be nil; can stop the process
	keys   *sync.Map // every key that was sent

	mu       sync.Mutex
	trips    int // a write and its reply, whether of one command or a pipeline
	commands int
	trace    [][]command // the first 16 writes
}

// command is one command that was sent.
type command struct {
	name string // in upper case
	key  string // its first key, or ""
	args int    // number of words after the key
}

// DialHook implements redis.Hook.
func (t *traffic) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook implements redis.Hook.
func (t *traffic) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		return t.write([]redis.Cmder{cmd}, func() error { return next(ctx, cmd) })
	}
}

// ProcessPipelineHook implements redis.Hook.
func (t *traffic) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		return t.write(cmds, func() error { return next(ctx, cmds) })
	}
}

// write sends commands, and waits before while the process is frozen.
func (t *traffic) write(cmds []redis.Cmder, send func() error) error {
	sent := make([]command, 0, len(cmds))
	for _, cmd := range cmds {
		switch c := commandOf(cmd); c.name {
		case "HELLO", "CLIENT", "AUTH", "SELECT":
		default:
			sent = append(sent, c)
			t.keys.Store(c.key, true)
		}
	}
	overtaking := t.stalls.sending(t, sent)
	if len(sent) > 0 {
		t.mu.Lock()
		t.trips++
		t.commands += len(sent)
		if len(t.trace) < 16 {
			t.trace = append(t.trace, sent)
		}
		t.mu.Unlock()
	}
	err := send()
	if overtaking != nil && err == nil {
		t.stalls.end(overtaking, 1)
	}
	return err
}

func commandOf(cmd redis.Cmder) command {
	c, words, key := command{name: strings.ToUpper(cmd.Name())}, cmd.Args(), 1
	if strings.HasPrefix(c.name, "EVAL") {
		key = 3 // after the script and the number of keys
	}
	if len(words) > key {
		c.key, _ = words[key].(string)
		c.args = len(words) - key - 1
	}
	return c
}
