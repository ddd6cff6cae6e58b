package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// State is the state of a gate, or of a Verdict.
type State string

// The states.
const (
	Ready         State = "ready"           // the sample supports a cut-over
	NotReady      State = "not ready"       // a condition is violated
	NotEnoughData State = "not enough data" // no condition is violated, but the sample is too small
)

// ExitCode returns the exit code for a program: 0 ready, 1 not ready, 2 not enough data.
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

// Gate is a condition for a cut-over.
type Gate struct {
	Name      string `json:"name"`                // "divergence", "coverage", "audit", "end state", "latency", "health", …
	Domain    string `json:"domain,omitempty"`    // empty for a gate over all operations
	Operation string `json:"operation,omitempty"` // empty for a gate over all operations
	State     State  `json:"state"`
	Have      string `json:"have"`          // the measurement
	Need      string `json:"need"`          // the condition
	Why       string `json:"why,omitempty"` // the bound that the sample supports, or a remedy
}

// Verdict summarises all gates.
type Verdict struct {
	State    State  `json:"state"`
	Headline string `json:"headline"` // the state and its single most likely cause, in a line
	Cause    string `json:"cause,omitempty"`
	Gates    []Gate `json:"gates"`
}

// String returns the Headline, or the State if the Headline is empty.
func (v Verdict) String() string { return cmp.Or(v.Headline, string(v.State)) }

// in returns the gates of a state.
func (v Verdict) in(state State) []Gate {
	return slices.DeleteFunc(slices.Clone(v.Gates), func(g Gate) bool { return g.State != state })
}

func stateOrder(s State) int { return slices.Index([]State{NotReady, NotEnoughData, Ready, ""}, s) }

// of returns the worst state of an operation's gates, and lists the gates that are closed.
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
