// Package wire wraps the connections of a client. It counts round trips and commands, and can
// delay the commands of a process, as a stall does.
//
// It works below the client, so it counts the bytes that are sent, and the client can detect a
// stall only by the clock.
package wire

import (
	"context"
	"net"
	"strings"
	"sync"
	"time"
)

// Dial opens a connection: the Dialer of redis.Options.
type Dial = func(ctx context.Context, network, addr string) (net.Conn, error)

// Command is one sent command.
type Command struct {
	Name string // in upper case
	Key  string // its first key, or ""
	Args int    // number of words after the key
}

// Stats counts the commands of processes. It excludes the handshake of a connection (HELLO,
// CLIENT, AUTH, SELECT), which is not a cost of an update.
type Stats struct {
	RoundTrips int           // a write and the next read on the same connection
	Waited     time.Duration // total time of these reads, without stalls
	Commands   int
	ByName     map[string]int // commands by name
}

// Process represents one process with all its connections.
type Process struct {
	before func(p *Process, sent []Command)

	mu    sync.Mutex
	gate  chan struct{} // if not nil, frozen until it is closed
	stats Stats
	trace [][]Command
}

// NewProcess returns a Process. It calls before, if not nil, with the commands of every write
// before it is sent. before may block.
func NewProcess(before func(p *Process, sent []Command)) *Process {
	return &Process{before: before, stats: Stats{ByName: map[string]int{}}}
}

// Dialer wraps inner, so that p counts and delays its connections.
func (p *Process) Dialer(inner Dial) Dial {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := inner(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return &conn{Conn: c, process: p}, nil
	}
}

// Freeze blocks all writes of the process until thaw is called. Replies to earlier writes still
// arrive. Call thaw before the next Freeze.
func (p *Process) Freeze() (thaw func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	gate := make(chan struct{})
	p.gate = gate
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.gate = nil
		close(gate)
	}
}

// Stats returns the counts so far.
func (p *Process) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.stats
	s.ByName = map[string]int{}
	s.add(p.stats.ByName)
	return s
}

// Trace returns the last writes with their commands, in order, and forgets them.
func (p *Process) Trace() [][]Command {
	p.mu.Lock()
	defer p.mu.Unlock()
	t := p.trace
	p.trace = nil
	return t
}

// Sum adds up the Stats of several processes.
func Sum(processes ...*Process) Stats {
	sum := Stats{ByName: map[string]int{}}
	for _, p := range processes {
		s := p.Stats()
		sum.RoundTrips += s.RoundTrips
		sum.Waited += s.Waited
		sum.Commands += s.Commands
		sum.add(s.ByName)
	}
	return sum
}

func (s *Stats) add(byName map[string]int) {
	for name, n := range byName {
		s.ByName[name] += n
	}
}

const keepTrace = 16

// sending records the commands of one write, and blocks while the process is frozen.
func (p *Process) sending(sent []Command) {
	p.mu.Lock()
	gate := p.gate
	p.mu.Unlock()
	if gate != nil {
		<-gate
	}
	if p.before != nil && len(sent) > 0 {
		p.before(p, sent)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stats.Commands += len(sent)
	for _, c := range sent {
		p.stats.ByName[c.Name]++
	}
	if len(sent) > 0 && len(p.trace) < keepTrace {
		p.trace = append(p.trace, sent)
	}
}

func (p *Process) answered(after time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stats.RoundTrips++
	p.stats.Waited += after
}

// handshake reports whether a command belongs to the handshake.
func handshake(name string) bool {
	switch name {
	case "HELLO", "CLIENT", "AUTH", "SELECT":
		return true
	}
	return false
}

// command parses the words of one command.
func command(words [][]byte) Command {
	c := Command{Name: strings.ToUpper(string(words[0]))}
	key := 1
	switch c.Name {
	case "EVAL", "EVALSHA":
		key = 3 // after the script and the number of keys
	}
	if len(words) > key {
		c.Key, c.Args = string(words[key]), len(words)-key-1
	}
	return c
}
