// Package wire sits between a client and its connections: it counts round trips
// and commands, and can hold back what a process sends, as a stall would.
//
// It wraps the connection below the client, so what it counts is what went out,
// whatever the client believes, and a stall is something the client can notice
// only by the clock.
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

// Command is one command on its way out.
type Command struct {
	Name string // in upper case
	Key  string // its first key, or ""
	Args int    // how many words follow the key
}

// Stats are what one or several processes sent. The handshake of a connection
// (HELLO, CLIENT, AUTH, SELECT) is not counted: it is paid once, not per update.
type Stats struct {
	RoundTrips int            // a write and the read that follows it on the same connection
	Waited     time.Duration  // for these reads, in all; a stall does not count
	Commands   int            //
	ByName     map[string]int // commands by name
}

// Process stands for one process with all its connections.
type Process struct {
	before func(p *Process, sent []Command)

	mu    sync.Mutex
	gate  chan struct{} // not nil: frozen until it is closed
	stats Stats
	trace [][]Command
}

// NewProcess returns a Process. before, if not nil, is called with the commands
// of every write, just before it goes out, and may take its time.
func NewProcess(before func(p *Process, sent []Command)) *Process {
	return &Process{before: before, stats: Stats{ByName: map[string]int{}}}
}

// Dialer returns inner with every connection counted and held back.
func (p *Process) Dialer(inner Dial) Dial {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := inner(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return &conn{Conn: c, process: p}, nil
	}
}

// Freeze stops everything that the process sends, until thaw is called. What it
// sent before is answered. A process must be thawed before it is frozen again.
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

// Stats returns what was counted so far.
func (p *Process) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.stats
	s.ByName = map[string]int{}
	s.add(p.stats.ByName)
	return s
}

// Trace returns the writes so far, each with its commands, in order, and forgets
// them. It keeps the last few only.
func (p *Process) Trace() [][]Command {
	p.mu.Lock()
	defer p.mu.Unlock()
	t := p.trace
	p.trace = nil
	return t
}

// Sum adds up what several processes sent.
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

// sending notes the commands of one write and lets it pass when it may.
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

// handshake reports whether a command belongs to the opening of a connection.
func handshake(name string) bool {
	switch name {
	case "HELLO", "CLIENT", "AUTH", "SELECT":
		return true
	}
	return false
}

// command describes the words of one command.
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
