package mcc

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/unwatch/unwatch/domains"
)

// Agent is a person that serves sessions. The methods that change it are the operations; the methods of
// [Agents] with the same names store the result.
type Agent struct {
	domains.Header
	ID       string `json:"id"`
	TenantID string `json:"tenant_id,omitempty"`
	Status   Status `json:"status"`
	// Accepting permits new sessions while the agent is online.
	Accepting bool `json:"accepting,omitempty"`
	// Max is the limit of slots that are not forced. 0 uses the limit of the groups, else Config.Max;
	// [Unlimited] is no limit.
	Max int `json:"max,omitempty"`
	// Groups holds the agent's groups, the most important first, at most 64.
	Groups []string `json:"groups,omitempty"`
	// Slots holds the agent's slots by session id, at most 10,000.
	Slots map[string]Slot `json:"slots,omitempty" hash:"slot:"`
	// LastAssignedAt is the time of the last reservation, for routing to the agent that has waited longest.
	LastAssignedAt domains.Time `json:"last_assigned_at,omitempty"`
	// StatusAt is the last change of the status, UpdatedAt the last operation of this package.
	StatusAt  domains.Time `json:"status_at,omitempty"`
	UpdatedAt domains.Time `json:"updated_at,omitempty"`

	Unknown domains.Unknown `json:"-"`
}

// Status is the status that an agent has set.
type Status string

// The states of an agent.
const (
	Online  Status = "online"
	Busy    Status = "busy" // present, without new sessions
	Away    Status = "away"
	Offline Status = "offline"
)

// Unlimited, as a limit, is no limit.
const Unlimited = -1

// Slot is an agent's capacity for one session.
type Slot struct {
	// Epoch is an epoch of the session. A reserved slot permits to give the session to the agent at that epoch.
	// For a held slot, the agent has the session since that epoch.
	Epoch uint64    `json:"epoch"`
	State SlotState `json:"state"`
	// Since is the time of the reservation.
	Since domains.Time `json:"since,omitempty"`
	// Until ends the reservation. Other processes wait until then before they clear it; safety does not depend
	// on the clock. Zero if held.
	Until domains.Time `json:"until,omitempty"`
	// Forced exempts the slot from the limit.
	Forced bool `json:"forced,omitempty"`

	Unknown domains.Unknown `json:"-"`
}

// SlotState is the state of a slot.
type SlotState string

// The states of a slot.
const (
	Reserved SlotState = "reserved" // before the session is given to the agent
	Held     SlotState = "held"     // after the session was given to the agent
)

const (
	maxGroups = 64
	maxSlots  = 10_000
	// maxEpoch is the last epoch: the largest integer that a JSON number holds in every language.
	maxEpoch = 1<<53 - 1
)

// Load returns the number of slots that count against the limit.
func (a *Agent) Load() int {
	n := 0
	for _, s := range a.Slots {
		if !s.Forced {
			n++
		}
	}
	return n
}

// Takes reports whether the agent is online and accepting.
func (a *Agent) Takes() bool { return a.Status == Online && a.Accepting }

// Check returns an error for the first rule that the agent breaks. It implements [domains.Entity].
func (a *Agent) Check() error {
	if err := cmp.Or(domains.CheckID("agent", a.ID), domains.CheckIDs(map[string]string{"tenant": a.TenantID})); err != nil {
		return err
	}
	switch {
	case !slices.Contains(statuses, string(a.Status)):
		return errors.New("the status is unknown")
	case a.Max < Unlimited:
		return fmt.Errorf("max is below %d, which is no limit", Unlimited)
	case len(a.Groups) > maxGroups:
		return fmt.Errorf("%d groups, at most %d are stored", len(a.Groups), maxGroups)
	case len(a.Slots) > maxSlots:
		return fmt.Errorf("%d slots, at most %d are stored", len(a.Slots), maxSlots)
	case !a.LastAssignedAt.Valid() || !a.StatusAt.Valid() || !a.UpdatedAt.Valid():
		return errNoTime
	}
	for _, g := range a.Groups {
		if err := domains.CheckID("group", g); err != nil {
			return err
		}
	}
	for id, s := range a.Slots {
		if err := cmp.Or(domains.CheckID("session", id), s.check()); err != nil {
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
	case s.Epoch > maxEpoch:
		return fmt.Errorf("the epoch of a slot is above %d", uint64(maxEpoch))
	case !s.Since.Valid() || !s.Until.Valid():
		return errNoTime
	}
	return nil
}
