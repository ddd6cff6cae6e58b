package mcc

import (
	"fmt"
	"slices"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/rmw"
)

// The operations below compute on the Agent they are given, and nothing else. They
// return [rmw.Keep] when there is nothing to change, or a Refusal, and leave the
// Agent as it was then. One function given to [Agents.Edit] may use several; see
// [domains.Steps].

// SetStatus says what the agent wants. Whoever comes online accepts sessions.
func (a *Agent) SetStatus(at domains.Time, status Status) error {
	if status == "" { // the table would take it for any
		return ErrStatus
	}
	if a.Status == status && (status != Online || a.Accepting) {
		return rmw.Keep
	}
	return a.move("SetStatus", at, status, status == Online || a.Accepting && status != Offline)
}

// SignOff takes the agent offline. The slots stay: they say what is left to clear.
func (a *Agent) SignOff(at domains.Time) error {
	if a.Status == Offline && !a.Accepting {
		return rmw.Keep
	}
	return a.move("SignOff", at, Offline, false)
}

func (a *Agent) move(op string, at domains.Time, status Status, accepting bool) error {
	to, ok := agentTransitions.Next(op, string(a.Status), string(status))
	if !ok {
		return ErrStatus
	}
	now := a.touch(at)
	if to != string(a.Status) {
		a.Status, a.StatusAt = Status(to), now
	}
	a.Accepting = accepting
	return nil
}

// SetAccepting says whether new sessions may come.
func (a *Agent) SetAccepting(at domains.Time, accepting bool) error {
	if a.Accepting == accepting {
		return rmw.Keep
	}
	a.Accepting = accepting
	a.touch(at)
	return nil
}

// SetMax sets how many sessions the agent may have; 0 is what the groups, or all,
// may, and [Unlimited] is no limit.
func (a *Agent) SetMax(at domains.Time, limit int) error {
	switch {
	case limit < Unlimited:
		return fmt.Errorf("%w: a limit of %d: %d is no limit", rmw.ErrInvalid, limit, Unlimited)
	case a.Max == limit:
		return rmw.Keep
	}
	a.Max = limit
	a.touch(at)
	return nil
}

// SetGroups says which groups the agent belongs to, the most important first.
func (a *Agent) SetGroups(at domains.Time, groups []string) error {
	if slices.Equal(a.Groups, groups) {
		return rmw.Keep
	}
	if len(groups) > MaxGroups {
		return fmt.Errorf("%w: %d groups, at most %d are stored", rmw.ErrInvalid, len(groups), MaxGroups)
	}
	for _, g := range groups {
		if err := domains.CheckID("group", g); err != nil {
			return err
		}
	}
	a.Groups = slices.Clone(groups)
	a.touch(at)
	return nil
}

// Reserve takes a slot for a session that may be given to the agent while it has
// epoch. limit is how many may count, [Unlimited] if any number may. A forced slot is
// taken whatever the limit is, and does not count.
func (a *Agent) Reserve(at domains.Time, sessionID string, epoch uint64, until domains.Time, limit int, forced bool) error {
	if err := domains.CheckID("session", sessionID); err != nil {
		return err
	}
	old, there := a.Slots[sessionID]
	if there && old.Epoch > epoch {
		return ErrMovedOn
	}
	if _, ok := agentTransitions.Next("Reserve", string(a.Status), ""); !ok || !a.Accepting {
		return fmt.Errorf("%w: the agent is %s", ErrNotAccepting, a.Status)
	}
	// One that was forced has not been counted: whoever does not force it must fit in.
	if there && old.Epoch == epoch && (old.State == Held || !old.Forced || forced) {
		return a.extend(at, sessionID, until)
	}
	load := a.Load()
	if there && !old.Forced {
		load--
	}
	switch {
	case !forced && limit != Unlimited && load >= limit:
		return fmt.Errorf("%w: %d of %d", ErrFull, load, limit)
	case !there && len(a.Slots) >= MaxSlots:
		return fmt.Errorf("%w: %d slots are the most that are stored", ErrFull, MaxSlots)
	}
	if a.Slots == nil {
		a.Slots = map[string]Slot{}
	}
	a.LastAssignedAt = a.touch(at)
	a.Slots[sessionID] = Slot{
		Epoch: epoch, State: Reserved, Since: a.LastAssignedAt, Until: until, Forced: forced, Unknown: old.Unknown,
	}
	return nil
}

// extend gives whoever has reserved the slot more time.
func (a *Agent) extend(at domains.Time, sessionID string, until domains.Time) error {
	s := a.Slots[sessionID]
	if s.State == Held || until <= s.Until {
		return rmw.Keep
	}
	s.Until = until
	a.Slots[sessionID] = s
	a.touch(at)
	return nil
}

// Confirm notes that the session is the agent's, and has epoch since or again. A slot
// that is gone, or is for a later epoch, stays as it is.
func (a *Agent) Confirm(at domains.Time, sessionID string, epoch uint64) error {
	return a.Settle(at, []Settlement{{SessionID: sessionID, Has: true, Epoch: epoch}})
}

// Release gives up the slot of a session that has epoch, and is not the agent's any
// more. A slot for that epoch, or a later one, stays: the session may be about to
// come back.
func (a *Agent) Release(at domains.Time, sessionID string, epoch uint64) error {
	return a.Settle(at, []Settlement{{SessionID: sessionID, Epoch: epoch}})
}

// touch notes the time, unless the agent has seen a later one, and returns which it
// is. It does not rely on UpdatedAt: who has written last may not know that field.
func (a *Agent) touch(at domains.Time) domains.Time {
	a.UpdatedAt = max(a.UpdatedAt, a.LastAssignedAt, a.StatusAt, at)
	for _, s := range a.Slots {
		a.UpdatedAt = max(a.UpdatedAt, s.Since)
	}
	return a.UpdatedAt
}
