package cutover

import (
	"fmt"
	"slices"
	"strings"

	"github.com/unwatch/unwatch/rmw"
)

// Gate is one condition of an advance.
type Gate struct {
	Name  string    `json:"name"`
	Have  string    `json:"have"`         // the measurement
	Need  string    `json:"need"`         // the condition
	Do    string    `json:"do,omitempty"` // what to do about it, unless the State is GateOpen
	State GateState `json:"state"`
}

// GateState is the state of a [Gate].
type GateState string

// The states of a Gate.
const (
	GateOpen    GateState = "ready"
	GateClosed  GateState = "not ready"
	GateUnknown GateState = "not enough data"
)

// Ready returns the conditions for the advance from the present stage to another one. passes are
// those of the sweeper, the latest one last; only an advance to Complete needs them. A Copying that
// moves no more keys than before, Reverse and Freeze have no conditions but the first one, which
// says whether [Publish] permits the step: the way back is always open.
//
// The conditions keep an operator from a stage at which processes would be slow or fail. Only
// Complete depends on them for its safety.
func Ready(present, next Stage, census []Process, passes []Pass) []Gate {
	gates := []Gate{legal(present, next)}
	if next.Phase == Complete || next.Phase == Copying && !next.Freeze && !less(next, present) {
		gates = append(gates, seen(present, census), healthy(census))
	}
	if next.Phase == Complete {
		gates = append(gates, swept(present, passes)...)
	}
	return gates
}

// less says whether b moves every key that a moves.
func less(a, b Stage) bool {
	return b.Phase == Copying && a.Percent <= b.Percent && (len(b.Labels) == 0 || len(a.Labels) > 0 &&
		!slices.ContainsFunc(a.Labels, func(label string) bool { return !slices.Contains(b.Labels, label) }))
}

func legal(present, next Stage) Gate {
	g := Gate{Name: "step", Have: present.String(), Need: "a step to " + next.String(), State: GateOpen}
	if err := advance(present, next); err != nil {
		g.State, g.Do = GateClosed, strings.TrimPrefix(err.Error(), rmw.ErrInvalid.Error()+": ")
	}
	return g
}

func seen(present Stage, census []Process) Gate {
	g := Gate{Name: "processes", Need: fmt.Sprintf("all have seen epoch %d", present.Epoch), State: GateOpen}
	var behind []string
	for _, p := range census {
		if p.Epoch < present.Epoch {
			behind = append(behind, fmt.Sprintf("%s (epoch %d)", p.Name, p.Epoch))
		}
	}
	g.Have = fmt.Sprintf("%d of %d", len(census)-len(behind), len(census))
	switch {
	case len(census) == 0:
		g.State, g.Have = GateUnknown, "no heartbeats"
		g.Do = "start a Heartbeat in each process, under the name of this cut-over"
	case len(behind) > 0:
		g.State = GateClosed
		g.Do = "wait; a process that has stopped is gone after two minutes; behind: " + some(behind)
	}
	return g
}

func healthy(census []Process) Gate {
	g := Gate{Name: "errors", Need: "every process reads the stage from every store", State: GateOpen}
	var failing []string
	for _, p := range census {
		if p.Error != "" {
			failing = append(failing, p.Name+": "+p.Error)
		}
	}
	g.Have = fmt.Sprintf("%d of %d fail", len(failing), len(census))
	switch {
	case len(census) == 0:
		g.State, g.Have, g.Do = GateUnknown, "no heartbeats", "as above"
	case len(failing) > 0:
		g.State, g.Do = GateClosed, "repair the network or the rights of: "+some(failing)
	}
	return g
}

// some lists the first few.
func some(names []string) string {
	const few = 3
	if len(names) <= few {
		return strings.Join(names, "; ")
	}
	return strings.Join(names[:few], "; ") + fmt.Sprintf("; and %d more", len(names)-few)
}

// passesNeeded is the number of passes in a row that must find nothing: a key that is created behind
// the cursor of one pass is seen by the next.
const passesNeeded = 2

// swept returns a gate for each figure of the last passes at the present epoch.
func swept(present Stage, passes []Pass) []Gate {
	last := len(passes)
	for last > 0 && passes[last-1].Epoch == present.Epoch && len(passes)-last < passesNeeded {
		last--
	}
	passes = passes[last:]
	count := Gate{
		Name: "passes", Have: fmt.Sprintf("%d at epoch %d", len(passes), present.Epoch), Need: fmt.Sprintf("%d in a row", passesNeeded),
		State: GateOpen,
	}
	if len(passes) < passesNeeded {
		count.State, count.Do = GateUnknown, "sweep again at this epoch"
	}
	gates := []Gate{count}
	for _, figure := range []struct {
		name string
		of   func(Pass) int
		do   string
	}{
		{"open keys", func(p Pass) int { return p.Moved + p.Kept }, "sweep again; if some stay, old code writes them"},
		{"keys in transit", func(p Pass) int { return p.Completed + p.Failed.Count }, "sweep again; if some stay, look at the new store"},
		{"keys too large", func(p Pass) int { return p.TooLarge.Count }, "raise Config.MaxSeal, or make them smaller"},
		{"keys of other types", func(p Pass) int { return p.OtherType.Count }, "copy them behind a fence, and delete the old ones"},
		{"keys with two values", func(p Pass) int { return p.Refused.Count }, "delete the new store's values that did not come by a move"},
	} {
		g := Gate{Name: figure.name, Need: fmt.Sprintf("0 in %d passes", passesNeeded), State: count.State}
		most := 0
		for _, p := range passes {
			most = max(most, figure.of(p))
		}
		g.Have = fmt.Sprint(most)
		switch {
		case most > 0:
			g.State, g.Do = GateClosed, figure.do
		case g.State == GateUnknown:
			g.Do = count.Do
		}
		gates = append(gates, g)
	}
	return gates
}
