package report

import "cmp"

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
