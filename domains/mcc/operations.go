package mcc

import (
	"fmt"
	"slices"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/rmw"
)

// The operations below have no side effects besides the change of the Agent. They return [rmw.Keep] if nothing
// changes, or a Refusal; both leave the Agent as it was. A function for [Agents.Edit] may call several: see
// [domains.Steps].

// SetStatus sets the status. Online also sets Accepting, and Offline clears it.
func (a *Agent) SetStatus(at domains.Time, status Status) error {
	if status == "" { // the table would match any status
		return ErrStatus
	}
	if a.Status == status && (status != Online || a.Accepting) {
		return rmw.Keep
	}
	return a.move("SetStatus", at, status, status == Online || a.Accepting && status != Offline)
}

// SignOff takes the agent offline and keeps the slots, which name the sessions left to requeue.
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

// SetAccepting permits or stops new sessions.
func (a *Agent) SetAccepting(at domains.Time, accepting bool) error {
	if a.Accepting == accepting {
		return rmw.Keep
	}
	a.Accepting = accepting
	a.touch(at)
	return nil
}

// SetMax sets the agent's own limit; 0 uses the limit of the groups, else Config.Max, and [Unlimited] is no
// limit.
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

// SetGroups sets the agent's groups, the most important first, at most 64.
func (a *Agent) SetGroups(at domains.Time, groups []string) error {
	if slices.Equal(a.Groups, groups) {
		return rmw.Keep
	}
	if len(groups) > maxGroups {
		return fmt.Errorf("%w: %d groups, at most %d are stored", rmw.ErrInvalid, len(groups), maxGroups)
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

// Reserve takes a slot, which permits to give the session to the agent at the given epoch. limit is the number
// of slots that may count, or [Unlimited]. A forced slot is exempt from the limit.
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
	// A forced slot did not count: without force, it must now fit the limit.
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
	case !there && len(a.Slots) >= maxSlots:
		return fmt.Errorf("%w: %d slots are the most that are stored", ErrFull, maxSlots)
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

// extend prolongs a reservation.
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

// Confirm records that the agent has the session at the given epoch. It does not create a slot, and keeps a
// slot for a later epoch.
func (a *Agent) Confirm(at domains.Time, sessionID string, epoch uint64) error {
	return a.Settle(at, []Settlement{{SessionID: sessionID, Has: true, Epoch: epoch}})
}

// Release removes the slot of a session that the agent does not have at the given epoch. It keeps a slot for
// that epoch or a later one: the session may be about to be given to the agent again.
func (a *Agent) Release(at domains.Time, sessionID string, epoch uint64) error {
	return a.Settle(at, []Settlement{{SessionID: sessionID, Epoch: epoch}})
}

// touch advances UpdatedAt to at, or to the latest time of the agent, and returns it. UpdatedAt alone is not
// enough: a service that does not know it may have written last.
func (a *Agent) touch(at domains.Time) domains.Time {
	a.UpdatedAt = max(a.UpdatedAt, a.LastAssignedAt, a.StatusAt, at)
	for _, s := range a.Slots {
		a.UpdatedAt = max(a.UpdatedAt, s.Since)
	}
	return a.UpdatedAt
}
