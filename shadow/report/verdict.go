package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// State is where a gate, or all of them together, stand.
type State string

// The states.
const (
	Ready         State = "ready"           // proved, as far as a sample can
	NotReady      State = "not ready"       // something stands against it
	NotEnoughData State = "not enough data" // nothing does, but the sample is too small
)

// ExitCode is what a program returns for it: 0 ready, 1 not ready, 2 not enough data.
func (s State) ExitCode() int {
	switch s {
	case Ready:
		return 0
	case NotReady:
		return 1
	default:
		return 2
	}
}

// Gate is one condition for a cut-over.
type Gate struct {
	Name      string `json:"name"`                // "divergence", "coverage", "audit", "end state", "latency", "health", …
	Domain    string `json:"domain,omitempty"`    // empty: it is about all of them
	Operation string `json:"operation,omitempty"` // likewise
	State     State  `json:"state"`
	Have      string `json:"have"`          // what was measured
	Need      string `json:"need"`          // what is wanted
	Why       string `json:"why,omitempty"` // the bound that this supports, or what to do
}

// Verdict is what all gates come to.
type Verdict struct {
	State    State  `json:"state"`
	Headline string `json:"headline"` // the state and its single most likely cause, in a line
	Cause    string `json:"cause,omitempty"`
	Gates    []Gate `json:"gates"`
}

// String returns the Headline, or the State if there is none.
func (v Verdict) String() string { return cmp.Or(v.Headline, string(v.State)) }

// in returns the gates of a state.
func (v Verdict) in(state State) (found []Gate) {
	for _, g := range v.Gates {
		if g.State == state {
			found = append(found, g)
		}
	}
	return found
}

// gateNames lists each name once, in their order, and counts them.
func gateNames(gates []Gate) (names []string, counts map[string]int) {
	counts = map[string]int{}
	for _, g := range gates {
		if counts[g.Name]++; counts[g.Name] == 1 {
			names = append(names, g.Name)
		}
	}
	return names, counts
}

func stateOrder(s State) int { return slices.Index([]State{NotReady, NotEnoughData, Ready, ""}, s) }

// of is what the gates of an operation come to.
func (v Verdict) of(o Operation) (state State, missing string) {
	var lacks []string
	for _, g := range v.Gates {
		if g.Domain != o.Domain || g.Operation != o.Name {
			continue
		}
		if stateOrder(g.State) < stateOrder(state) {
			state = g.State
		}
		if g.State != Ready {
			lacks = append(lacks, fmt.Sprintf("%s: %s, need %s", g.Name, g.Have, g.Need))
		}
	}
	return state, strings.Join(lacks, "; ")
}
