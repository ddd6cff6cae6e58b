package proxytest

import (
	"slices"
	"strings"

	"github.com/unwatch/unwatch/internal/resp"
	"github.com/unwatch/unwatch/proxycompat"
)

// Values of Call.Backend that are not the index of a backend.
const (
	Local   = -1 // answered by the proxy itself, or not executed at all
	Several = -2 // split over several backends
)

// Call is one command that the proxy received, in the order in which it
// finished with them.
type Call struct {
	Conn    int                 // which client connection, counted from 1
	Args    []string            // as received
	Backend int                 // index of the backend that executed it, or Local or Several
	Verdict proxycompat.Verdict // what the profile says about the command
	Fault   Action              // the fault that acted on it, or None
	Reply   string              // kind of the reply, errors with their text; "" when the client got none
}

// Command returns the command's name in upper case.
func (c Call) Command() string { return strings.ToUpper(c.Args[0]) }

// Calls returns what the proxy has received since it started or since
// [Proxy.ResetCalls]. A command that is still being executed, or that hangs on
// purpose, is not in it yet.
func (p *Proxy) Calls() []Call {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.calls)
}

// ResetCalls forgets the calls so far.
func (p *Proxy) ResetCalls() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls = nil
}

// Count returns how often each command was received, by its name in upper
// case. See [Proxy.Calls] for when.
func (p *Proxy) Count() map[string]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	counts := map[string]int{}
	for _, c := range p.calls {
		counts[c.Command()]++
	}
	return counts
}

func (p *Proxy) record(c Call) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls = append(p.calls, c)
}

// replyKind describes a reply without showing what is stored.
func replyKind(r resp.Reply) string {
	if text, ok := r.ErrorText(); ok {
		return "error " + text
	}
	return r.Kind()
}
