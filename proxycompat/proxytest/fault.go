package proxytest

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// Action is the effect of a [Fault].
type Action uint8

// The actions. "Cut" closes the client's connection after the replies to earlier commands of the same
// pipeline.
const (
	None         Action = iota // execute and answer; for use with Do
	DropReply                  // execute, drop the reply but for its first Keep bytes, cut
	DropRequest                // do not execute, cut
	HangReply                  // execute, never answer; with a Delay, cut after it
	HangRequest                // do not execute, never answer; with a Delay, cut after it
	Delay                      // wait for Delay, then execute and answer; also if the client has disconnected by then
	DelayReply                 // execute, wait for Delay, then answer
	RefuseWith                 // do not execute, answer the error Text
	ExecuteLater               // answer the error Text, or cut if it is empty; execute after Delay
)

// String names the action.
func (a Action) String() string {
	names := [...]string{"None", "DropReply", "DropRequest", "HangReply", "HangRequest",
		"Delay", "DelayReply", "RefuseWith", "ExecuteLater"}
	if int(a) < len(names) {
		return names[a]
	}
	return fmt.Sprintf("Action(%d)", uint8(a))
}

// Fault makes the proxy misbehave for some commands.
type Fault struct {
	// Command is the name of the command in upper case; empty means any.
	Command string

	// Match, if set, must also return true. It must not change args.
	Match func(args []string) bool

	Skip  int // the number of matching commands that pass first
	Times int // the number of commands affected after them: 0 means one, -1 all

	Action Action
	Delay  time.Duration // for Delay, DelayReply, ExecuteLater, and, if not 0, the Hang actions
	Text   string        // for RefuseWith and ExecuteLater: the error, with its code
	Keep   int           // for DropReply: bytes of the reply that still reach the client

	// Do, if set, runs just before the action, for instance to change stored data. With DropReply,
	// HangReply and DelayReply it runs after the execution of the command, with the others before it.
	Do func()
}

// armed is a fault with its counters.
type armed struct {
	Fault
	mu            sync.Mutex
	skipped, done int
}

// Inject arms a fault. If several faults match a command, the first one injected applies. remove disarms
// it; a second call has no effect. Handshake commands of a client are matched, too.
func (p *Proxy) Inject(f Fault) (remove func()) {
	a := &armed{Fault: f}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults = append(p.faults, a)
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.faults = slices.DeleteFunc(p.faults, func(other *armed) bool { return other == a })
	}
}

// fault returns the fault for this command, or nil.
func (p *Proxy) fault(args []string) *Fault {
	p.mu.Lock()
	faults := slices.Clone(p.faults)
	p.mu.Unlock()
	for _, a := range faults {
		if a.acts(args) {
			return &a.Fault
		}
	}
	return nil
}

func (a *armed) acts(args []string) bool {
	if a.Command != "" && !strings.EqualFold(a.Command, args[0]) {
		return false
	}
	if a.Match != nil && !a.Match(args) {
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.Times >= 0 && a.done >= max(a.Times, 1) {
		return false
	}
	if a.skipped < a.Skip {
		a.skipped++
		return false
	}
	a.done++
	return true
}
