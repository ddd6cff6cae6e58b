package mcc

import (
	"errors"
	"fmt"
	"slices"

	"github.com/unwatch/unwatch/domains"
)

// Agent is somebody who serves sessions. Its exported methods that change it are the
// operations; an [Agents] stores what they do.
type Agent struct {
	domains.Header
	ID       string `json:"id"`
	TenantID string `json:"tenant_id,omitempty"`
	Status   Status `json:"status"`
	// Accepting is whether new sessions may come.
	Accepting bool `json:"accepting,omitempty"`
	// Max is how many sessions the agent may have; 0 is what the groups, or all, may,
	// and [Unlimited] is no limit.
	Max int `json:"max,omitempty"`
	// Groups are those the agent belongs to.
	Groups []string `json:"groups,omitempty"`
	// Slots are the sessions, by id.
	Slots map[string]Slot `json:"slots,omitempty" hash:"slot:"`
	// LastAssignedAt is when the agent last got a session: who got one longest ago
	// may be next.
	LastAssignedAt domains.Time `json:"last_assigned_at,omitempty"`
	// StatusAt is when the status last changed, UpdatedAt the latest time that an
	// operation of this package has seen.
	StatusAt  domains.Time `json:"status_at,omitempty"`
	UpdatedAt domains.Time `json:"updated_at,omitempty"`

	Unknown domains.Unknown `json:"-"`
}

// Status is what an agent wants to be.
type Status string

// The states of an agent.
const (
	Online  Status = "online"
	Busy    Status = "busy" // there, and not to be given more
	Away    Status = "away"
	Offline Status = "offline"
)

// Unlimited as a Max is no limit.
const Unlimited = -1

// Slot is an agent's place for a session.
type Slot struct {
	// Epoch is the session's: while the slot is reserved, the one at which the session
	// may be given to the agent; once it is held, the one since which it is the agent's.
	Epoch uint64    `json:"epoch"`
	State SlotState `json:"state"`
	// Since is when the slot was reserved.
	Since domains.Time `json:"since,omitempty"`
	// Until is how long whoever reserved it has. Others wait that long before they
	// clear up; nothing but their patience rests on it.
	Until domains.Time `json:"until,omitempty"`
	// Forced is a slot that was taken whatever the limit is, and does not count.
	Forced bool `json:"forced,omitempty"`

	Unknown domains.Unknown `json:"-"`
}

// SlotState says how sure a slot is.
type SlotState string

// The states of a slot.
const (
	Reserved SlotState = "reserved" // the session may be about to come
	Held     SlotState = "held"     // the session came
)

// Limits of what an agent stores.
const (
	MaxGroups = 64
	MaxSlots  = 10_000
	// MaxEpoch is a session's last epoch: what every language reads as a number.
	MaxEpoch = 1<<53 - 1
)

// Load returns how many slots count against the limit.
func (a *Agent) Load() int {
	n := 0
	for _, s := range a.Slots {
		if !s.Forced {
			n++
		}
	}
	return n
}

// Takes reports whether new sessions may come at all.
func (a *Agent) Takes() bool { return a.Status == Online && a.Accepting }

// Check implements [domains.Entity]: it reports the first rule that does not hold.
func (a *Agent) Check() error {
	if err := domains.CheckID("agent", a.ID); err != nil {
		return err
	}
	if err := domains.CheckIDs(map[string]string{"tenant": a.TenantID}); err != nil {
		return err
	}
	switch {
	case !slices.Contains(statuses, string(a.Status)):
		return errors.New("the status is none of an agent's")
	case a.Max < Unlimited:
		return fmt.Errorf("max is below %d, which is no limit", Unlimited)
	case len(a.Groups) > MaxGroups:
		return fmt.Errorf("%d groups, at most %d are stored", len(a.Groups), MaxGroups)
	case len(a.Slots) > MaxSlots:
		return fmt.Errorf("%d slots, at most %d are stored", len(a.Slots), MaxSlots)
	}
	if !a.LastAssignedAt.Valid() || !a.StatusAt.Valid() || !a.UpdatedAt.Valid() {
		return errNoTime
	}
	for _, g := range a.Groups {
		if err := domains.CheckID("group", g); err != nil {
			return err
		}
	}
	for id, s := range a.Slots {
		if err := domains.CheckID("session", id); err != nil {
			return err
		}
		if err := s.check(); err != nil {
			return err
		}
	}
	return nil
}

var errNoTime = errors.New("a time is before 1970 or after 9999")

func (s Slot) check() error {
	switch {
	case s.State != Reserved && s.State != Held:
		return errors.New("a slot is reserved or held")
	case s.State == Held && s.Until != 0:
		return errors.New("a slot that is held has an end")
	case s.Epoch > MaxEpoch:
		return fmt.Errorf("the epoch of a slot is above %d", uint64(MaxEpoch))
	case !s.Since.Valid() || !s.Until.Valid():
		return errNoTime
	}
	return nil
}
