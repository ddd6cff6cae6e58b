package operate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/unwatch/unwatch/cutover"
	"github.com/unwatch/unwatch/rmw"
)

// Gate is one condition of an advance.
type Gate struct {
	Name  string    `json:"name"`
	Have  string    `json:"have"`         // the measurement
	Need  string    `json:"need"`         // the condition
	Do    string    `json:"do,omitempty"` // what to do about it, unless the State is GateOpen
	State GateState `json:"state"`
	// Warning is a weakness that does not close the gate.
	Warning string `json:"warning,omitempty"`
	// Names are the first of the keys that Have counts, at most SweepConfig.Names.
	Names []string `json:"names,omitempty"`
}

// GateState is the state of a [Gate].
type GateState string

// The states of a Gate.
const (
	GateOpen    GateState = "ready"
	GateClosed  GateState = "not ready"
	GateUnknown GateState = "not enough data"
	// GateLater is a condition of Complete that is not met. It does not keep [Publish] from the first Copying.
	GateLater GateState = "not yet"
)

// Evidence is what [Ready] judges.
type Evidence struct {
	// Name of the cut-over, as in [cutover.FromKey]; empty for another Source. The results of other cut-overs do
	// not count.
	Name string
	// Census is what [Census] returns.
	Census []Process
	// Passes and Reports are the results of Sweep and Verify, the latest ones last. Only Complete needs
	// them.
	Passes  []Pass
	Reports []Report
}

// Ready returns the conditions for the advance from the present stage to another one. A Copying that
// moves no more keys than before, Reverse and Freeze have no conditions but the first one, which
// says whether [Publish] permits the step: the way back is always open.
//
// The conditions keep an operator from a stage at which processes would be slow or fail. Only
// Complete depends on them for its safety. It needs the last two passes of Sweep and a Verify, each over
// all names of all masters and at the present epoch. From Complete to Complete, they are the conditions
// to remove this package from the service.
func Ready(present, next cutover.Stage, e Evidence) []Gate {
	gates := []Gate{legal(present, next)}
	if next.Phase == cutover.Complete || next.Phase == cutover.Copying && !next.Freeze && !less(next, present) {
		gates = append(gates, observed(present, e.Census)...)
	}
	if next.Phase == cutover.Complete && present.Phase != cutover.Complete {
		gates = append(gates, swept(present, e)...)
	}
	if next.Phase == cutover.Complete {
		gates = append(gates, verified(present, e)...)
	}
	return gates
}

// less says whether b moves every key that a moves.
func less(a, b cutover.Stage) bool {
	return b.Phase == cutover.Copying && a.Percent <= b.Percent && (len(b.Labels) == 0 || len(a.Labels) > 0 &&
		!slices.ContainsFunc(a.Labels, func(label string) bool { return !slices.Contains(b.Labels, label) }))
}

func legal(present, next cutover.Stage) Gate {
	g := Gate{Name: "step", Have: present.String(), Need: "a step to " + next.String(), State: GateOpen}
	if err := advance(present, next); err != nil {
		g.State, g.Do = GateClosed, strings.TrimPrefix(err.Error(), rmw.ErrInvalid.Error()+": ")
	}
	return g
}

// observed returns the conditions of the processes: each has seen the present stage, and can read the next one.
func observed(present cutover.Stage, census []Process) []Gate {
	var behind, failing []string
	for _, p := range census {
		if p.Epoch < present.Epoch {
			behind = append(behind, fmt.Sprintf("%s (epoch %d)", p.Name, p.Epoch))
		}
		if p.Error != "" {
			failing = append(failing, p.Name+": "+p.Error)
		}
	}
	seen := Gate{
		Name: "processes", Have: fmt.Sprintf("%d of %d", len(census)-len(behind), len(census)),
		Need: fmt.Sprintf("all have seen epoch %d", present.Epoch), State: GateOpen,
	}
	healthy := Gate{
		Name: "errors", Have: fmt.Sprintf("%d of %d fail", len(failing), len(census)),
		Need: "every process reads the stage from every store", State: GateOpen,
	}
	if len(census) == 0 {
		seen.State, seen.Have = GateUnknown, "no heartbeats"
		seen.Do = "start a Heartbeat in each process, under the name of this cut-over"
		healthy.State, healthy.Have, healthy.Do = GateUnknown, "no heartbeats", "as above"
	}
	if len(behind) > 0 {
		seen.State, seen.Do = GateClosed, "wait; a process that has stopped is gone after two minutes; behind: "+some(behind)
	}
	if len(failing) > 0 {
		healthy.State, healthy.Do = GateClosed, "repair the network or the rights of: "+some(failing)
	}
	return []Gate{seen, healthy}
}

// some lists the first few.
func some(names []string) string {
	const few = 3
	if len(names) <= few {
		return strings.Join(names, "; ")
	}
	return strings.Join(names[:few], "; ") + fmt.Sprintf("; and %d more", len(names)-few)
}
