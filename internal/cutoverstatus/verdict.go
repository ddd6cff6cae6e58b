package cutoverstatus

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/unwatch/unwatch/cutover"
	"github.com/unwatch/unwatch/cutover/operate"
	"github.com/unwatch/unwatch/internal/wrap"
)

// Verdict is the first answer to an operator: the state, and the next thing to do.
type Verdict struct {
	State string `json:"state"`         // Fine, NotYet, Wrong or Down
	Why   string `json:"why,omitempty"` // empty if fine
	Do    string `json:"do"`            // in the words of the runbook
}

// The states of a Verdict.
const (
	Fine   = "fine"
	NotYet = "not yet"
	Wrong  = "WRONG"
	Down   = "a store is down"
)

// Unreadable is the Verdict if the stage cannot be read.
func Unreadable(stores []Store, err error) Verdict {
	if v, down := away(stores); down {
		return v
	}
	return Verdict{Wrong, "the stage cannot be read: " + err.Error(), "repair what the error names"}
}

// away reports whether a store does not answer.
func away(stores []Store) (Verdict, bool) {
	var sides, why []string
	for _, one := range stores {
		if one.Down != "" {
			sides, why = append(sides, one.Side), append(why, fmt.Sprintf("the %s one: %s", one.Side, one.Down))
		}
	}
	if len(sides) == 0 {
		return Verdict{}, false
	}
	return Verdict{Down, strings.Join(why, "; "),
		fmt.Sprintf("repair the %s store; to stop new moves meanwhile: freeze (step 5)", strings.Join(sides, " and the "))}, true
}

// judge returns the first Verdict that fits.
func (s *Status) judge() Verdict {
	if v, down := away(s.Stores); down {
		return v
	}
	for _, one := range s.Stores {
		if one.Lost && s.Stage.Epoch > 0 {
			return Verdict{Wrong, fmt.Sprintf("the %s store has no stage document", one.Side),
				fmt.Sprintf("check -%s; then repeat the last step that published a stage", one.Side)}
		}
	}
	moves := s.Stage.Phase == cutover.Copying || s.Stage.Phase == cutover.Reverse
	if wrong := s.wrong(); wrong != "" {
		const repair = "verify names the keys; find their writer, then repair (step 12)"
		if moves && !s.Stage.Freeze {
			return Verdict{Wrong, wrong, "freeze (step 5); " + repair}
		}
		return Verdict{Wrong, wrong, repair}
	}
	v := Verdict{State: Fine}
	if len(s.NotYet) > 0 {
		v = Verdict{State: NotYet, Why: s.NotYet[0]}
	}
	switch {
	case len(s.Processes) == 0 && (s.Stage.Phase == cutover.Follow || s.Stage.Phase == cutover.Copying):
		return Verdict{NotYet, "no process has sent a heartbeat", "start the heartbeats (step 2)"}
	case len(s.with(1)) > 0:
		v.Do = "repair the network or the rights of these processes; if a stage is to be published again, repeat its step"
	case len(s.with(0)) > 0:
		v.Do = "wait until every process has seen the stage; one that has stopped is gone after two minutes"
	case moves && s.Stage.Freeze:
		v.Do = "find out why moves are stopped; then freeze -off (step 6)"
	case moves && s.Keys == nil:
		return Verdict{NotYet, "the keys are unknown: " + s.KeysUnknown,
			"repeat status; if the old store refuses SCAN or DBSIZE, permit it, or verify with -passes"}
	case moves && s.Sweep != nil && s.Sweep.Process != "":
		v.Do = "wait for the sweep that runs"
		if s.Sweep.Left > 0 {
			v.Do += "; " + round(s.Sweep.Left) + " left"
		}
	default:
		v.Do = s.step()
	}
	return v
}

// wrong counts the keys in a state that no move makes. Unless all keys were looked at, the last verify knows more.
func (s *Status) wrong() string {
	switch {
	case s.Keys != nil && s.Keys.Wrong > 0:
		return s.Keys.about() + wrap.Counted(s.Keys.Wrong, "key")
	case s.Verify != nil && s.Verify.Wrong > 0 && (s.Keys == nil || s.Keys.Estimate):
		return wrap.Counted(s.Verify.Wrong, "key") + ", by the verify of " + wrap.Ago(s.Verify.Began, s.At)
	}
	return ""
}

// step returns the step of the runbook that follows the stage.
func (s *Status) step() string {
	switch {
	case s.Stage.Phase == cutover.Follow && s.Stage.Epoch == 0:
		return "plan, then advance -to follow (steps 1 and 2)"
	case s.Stage.Phase == cutover.Follow:
		return "advance -percent 1 -labels LABEL (step 3)"
	case s.Stage.Phase == cutover.Reverse:
		return "sweep until a pass moves none, then verify (steps 9 and 9a)"
	case s.Next.Phase == cutover.Copying:
		return "watch the service (step 4); then advance -percent 100 -labels '' (step 7)"
	}
	gate := s.gate()
	complete := s.Stage.Phase == cutover.Complete
	switch {
	case gate == nil && complete:
		return "remove cutover from the service (step 16)"
	case gate == nil:
		return "advance -to complete (step 13)"
	case gate.State == operate.GateUnknown && complete:
		return "sweep, then verify (steps 14 and 15)"
	case gate.State == operate.GateUnknown && gate.Name == "verify":
		return "verify (step 12)"
	case gate.State == operate.GateUnknown:
		return "sweep (step 11), until two passes in a row move none"
	}
	do := gate.Name + ": " + cmp.Or(gate.Do, "not ready")
	if len(gate.Names) > 0 {
		do += ", such as " + strings.Join(gate.Names[:min(len(gate.Names), 3)], " ")
	}
	return do
}

// gate returns the first condition that is not met, or else the first one that is unknown.
func (s *Status) gate() (first *operate.Gate) {
	for i, g := range s.Gates {
		if g.State != operate.GateOpen && (first == nil || first.State == operate.GateUnknown && g.State != operate.GateUnknown) {
			first = &s.Gates[i]
		}
	}
	return first
}
