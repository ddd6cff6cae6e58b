package mcc_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/domains/mcc"
	"github.com/unwatch/unwatch/internal/testing/entities"
	"github.com/unwatch/unwatch/rmw"
)

// model implements the package doc once more, as simply as possible. It calls no method of the Agent. A model without an
// ID is that of an agent that does not exist.
type model struct {
	mcc.Agent
	ttl time.Duration // of the key
}

// step is one operation with its arguments; not all use all.
type step struct {
	entities.Step
	until     domains.Time
	status    mcc.Status
	accepting bool // or forced
	limit     int
	groups    []string
	session   string
	epoch     uint64
	slots     []mcc.Settlement
}

// The outcomes of a step; the others are the codes of refusals, with details.
const changed, kept, invalid = entities.Changed, entities.Kept, entities.Invalid

// ofSlots tells the operations that concern slots, and need no id.
func (s step) ofSlots() bool {
	return slices.Contains([]string{"Reserve", "Confirm", "Release", "Settle"}, s.Op)
}

// do runs a step, and returns its outcome.
func (m *model) do(s step, cfg mcc.Config) string {
	if s.ofSlots() {
		s.ID = "" // the agent does not remember it
	}
	if outcome, _ := entities.Repeated(&m.Header, s.ID, s.Op); outcome != "" {
		return outcome
	}
	next := *m
	next.Slots = map[string]mcc.Slot{}
	next.UpdatedAt = max(m.UpdatedAt, m.StatusAt, m.LastAssignedAt, s.At)
	for id, slot := range m.Slots {
		next.Slots[id] = slot
		next.UpdatedAt = max(next.UpdatedAt, slot.Since)
	}
	outcome := cmp.Or(entities.First(m.checks(s, cfg)), next.follow(s, cfg.Layout))
	if outcome != changed {
		return outcome
	}
	entities.Count(&next.Header, s.ID, s.Op, 0)
	next.ttl = cmp.Or(cfg.TTL, next.ttl)
	*m = next
	return changed
}

// most is the agent's limit; -1 is none.
func (m *model) most(cfg mcc.Config) int {
	for _, g := range m.Groups {
		if n := cmp.Or(m.Max, cfg.GroupMax[g]); n != 0 {
			return n
		}
	}
	return cmp.Or(m.Max, cfg.Max, -1)
}

// badID reports an id that cannot be stored.
func badID(id string) bool { return id == "" || !entities.Fits(128, id) }

// checks returns the checks of the operation, in their order.
func (m *model) checks(s step, cfg mcc.Config) []entities.Check {
	badGroups := entities.Check{len(s.groups) > 64 || slices.ContainsFunc(s.groups, badID), invalid}
	old, there := m.Slots[s.session]
	forced, same, limit, others := s.accepting, there && old.Epoch == s.epoch, m.most(cfg), 0
	for id, o := range m.Slots {
		if id != s.session && !o.Forced {
			others++
		}
	}
	return append([]entities.Check{
		{s.Op == "Create" && m.ID != "", "agent_exists"},
		{s.Op != "Create" && m.ID == "", "no_agent"},
	}, map[string][]entities.Check{
		"Create": {badGroups, {s.limit < -1, invalid}},
		"SetStatus": {
			{!slices.Contains([]mcc.Status{"online", "busy", "away", "offline"}, s.status), "status"},
			{m.Status == s.status && (s.status != "online" || m.Accepting), kept},
		},
		"SignOff":      {{m.Status == "offline" && !m.Accepting, kept}},
		"SetAccepting": {{m.Accepting == s.accepting, kept}},
		"SetMax":       {{s.limit < -1, invalid}, {m.Max == s.limit, kept}},
		"SetGroups":    {badGroups, {slices.Equal(m.Groups, s.groups), kept}},
		"Reserve": {
			{badID(s.session), invalid},
			{there && old.Epoch > s.epoch, "slot_moved_on"},
			{m.Status != "online" || !m.Accepting, "not_accepting: the agent is " + string(m.Status)},
			{same && (old.State == "held" || (forced || !old.Forced) && s.until <= old.Until), kept},
			{!m.extends(s) && !forced && limit != -1 && others >= limit, fmt.Sprintf("agent_full: %d of %d", others, limit)},
		},
	}[s.Op]...)
}

// extends reports whether a Reserve prolongs a slot that counts as much as the new one.
func (m *model) extends(s step) bool {
	old, there := m.Slots[s.session]
	return there && old.Epoch == s.epoch && (s.accepting || !old.Forced)
}

// follow changes the agent by a step that is permitted, and returns the outcome.
func (m *model) follow(s step, layout domains.Layout) string {
	accepting := m.Accepting
	switch s.Op {
	case "Create":
		*m = model{ttl: rmw.NoTTL, Agent: mcc.Agent{
			ID: "a", TenantID: "t", Status: "offline", Max: s.limit, Groups: s.groups, StatusAt: s.At, UpdatedAt: s.At,
			Unknown: unknown(layout),
		}}
	case "Edit":
		m.UpdatedAt, m.LastAssignedAt = 0, s.assignedAt()
	case "SetStatus":
		m.become(s.status, accepting && s.status != "offline" || s.status == "online")
	case "SignOff":
		m.become("offline", false)
	case "SetAccepting":
		m.Accepting = s.accepting
	case "SetMax":
		m.Max = s.limit
	case "SetGroups":
		m.Groups = s.groups
	case "Reserve":
		old := m.Slots[s.session]
		slot := mcc.Slot{
			Epoch: s.epoch, State: "reserved", Forced: s.accepting, Since: m.UpdatedAt, Until: s.until, Unknown: old.Unknown,
		}
		if m.extends(s) {
			slot.Forced, slot.Since = old.Forced, old.Since
		} else {
			m.LastAssignedAt = m.UpdatedAt
		}
		m.Slots[s.session] = slot
	case "Confirm", "Release":
		return m.settle([]mcc.Settlement{{SessionID: s.session, Has: s.Op == "Confirm", Epoch: s.epoch}})
	case "Settle":
		return m.settle(s.slots)
	}
	return changed
}

func (m *model) become(status mcc.Status, accepting bool) {
	if m.Status != status {
		m.Status, m.StatusAt = status, m.UpdatedAt
	}
	m.Accepting = accepting
}

// settle applies one settlement after the other.
func (m *model) settle(all []mcc.Settlement) string {
	outcome := kept
	for _, s := range all {
		old, there := m.Slots[s.SessionID]
		switch {
		case !there || s.Seen != nil && *s.Seen != old || old.Epoch > s.Epoch:
		case s.Has && (old.Epoch < s.Epoch || old.State == "reserved"):
			m.Slots[s.SessionID] = mcc.Slot{Epoch: s.Epoch, State: "held", Forced: old.Forced, Since: old.Since, Unknown: old.Unknown}
			outcome = changed
		case !s.Has && old.Epoch < s.Epoch:
			delete(m.Slots, s.SessionID)
			outcome = changed
		}
	}
	return outcome
}

// tidy is the agent without the difference between no map and an empty one, and shares nothing with it.
func tidy(a mcc.Agent) mcc.Agent {
	a.Slots = maps.Clone(a.Slots)
	if len(a.Slots) == 0 {
		a.Slots = nil
	}
	return a
}
