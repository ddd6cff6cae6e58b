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

// Call is one command that the proxy received. Calls are in the order of completion.
type Call struct {
	Conn    int                 // which client connection, counted from 1
	Args    []string            // as received
	Backend int                 // the index of the executing backend, or Local or Several
	Verdict proxycompat.Verdict // of the profile for the command
	Fault   Action              // the fault applied to it, or None
	Reply   string              // the kind of reply, errors with their text; "" if the client got none
}

// Command returns the command's name in upper case.
func (c Call) Command() string { return strings.ToUpper(c.Args[0]) }

// Calls returns the commands received since the start or [Proxy.ResetCalls]. It does not include commands
// that are in flight or hang on purpose.
func (p *Proxy) Calls() []Call {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.calls)
}

// ResetCalls clears the result of [Proxy.Calls].
func (p *Proxy) ResetCalls() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls = nil
}

// Count returns the number of completed calls by command name in upper case, as [Proxy.Calls] would list
// them.
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

// replyKind describes a reply without its content.
func replyKind(r resp.Reply) string {
	if text, ok := r.ErrorText(); ok {
		return "error " + text
	}
	return r.Kind()
}
