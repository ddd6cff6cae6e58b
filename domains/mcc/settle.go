package mcc

import (
	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/rmw"
)

// Settlement is a decision about an agent's slot, made from a read of the session.
type Settlement struct {
	SessionID string
	// Has confirms the slot, because the agent has the session. Otherwise the slot is released.
	Has bool
	// Epoch is the session's epoch at the read. A slot for a later epoch is kept, and a slot for that epoch is
	// not released.
	Epoch uint64
	// Seen, if not nil, is the slot at the decision; a slot that has changed since is kept. It replaces the
	// epoch of a session that does not exist.
	Seen *Slot
}

// Settle confirms or releases any number of slots as one change. It keeps each slot to which its decision no
// longer applies. It takes linear time in the slots plus the settlements, and returns nil, or [rmw.Keep] if no
// slot changes.
func (a *Agent) Settle(at domains.Time, slots []Settlement) error {
	touched := false
	for _, s := range slots {
		slot, there := a.Slots[s.SessionID]
		if !there || !s.applies(slot) {
			continue
		}
		if !touched { // touch reads all slots
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
