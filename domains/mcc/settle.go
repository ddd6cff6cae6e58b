package mcc

import (
	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/rmw"
)

// Settlement is what an agent's slot for a session comes to, as somebody has decided who
// has looked at the session.
type Settlement struct {
	SessionID string
	// Has says that the agent has the session: the slot is confirmed. Otherwise it is
	// released.
	Has bool
	// Epoch is the session's. See [Agent.Confirm] and [Agent.Release] for the slots that
	// stay as they are.
	Epoch uint64
	// Seen, if not nil, is the slot that was decided about: any other stays, too. It is for
	// a session that does not exist, and so has no epoch that could tell.
	Seen *Slot
}

// Settle brings any number of slots in line with their sessions, as one change: to each it
// does what [Agent.Confirm] or [Agent.Release] does. It asks of each slot as it is now
// whether the decision still applies, and leaves alone those to which it does not. Its
// time grows with the number of slots plus that of settlements, not with their product.
//
// It returns [rmw.Keep] if none changes, and nothing else but nil.
func (a *Agent) Settle(at domains.Time, slots []Settlement) error {
	touched := false
	for _, s := range slots {
		slot, there := a.Slots[s.SessionID]
		if !there || !s.applies(slot) {
			continue
		}
		if !touched { // once: it looks at all slots
			a.touch(at)
			touched = true
		}
		if !s.Has {
			delete(a.Slots, s.SessionID)
			continue
		}
		to, _ := slotTransitions.Next("Confirm", string(slot.State), "")
		slot.State, slot.Epoch, slot.Until = SlotState(to), s.Epoch, 0
		a.Slots[s.SessionID] = slot
	}
	if !touched {
		return rmw.Keep
	}
	return nil
}

// applies reports whether s would change the slot.
func (s Settlement) applies(slot Slot) bool {
	switch {
	case s.Seen != nil && *s.Seen != slot:
		return false
	case s.Has && slot.State == Reserved:
		return slot.Epoch <= s.Epoch
	}
	return slot.Epoch < s.Epoch
}
