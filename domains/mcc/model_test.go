package mcc_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/domains/mcc"
	"github.com/unwatch/unwatch/internal/testing/entities"
)

// model implements the package's document once more, as simply as possible. The zero model is no agent.
type model struct {
	exists                     bool
	version                    uint64
	tenant, status             string
	accepting                  bool
	limit                      int // the agent's own
	groups, applied            []string
	slots                      map[string]mcc.Slot
	statusAt, assignedAt, seen domains.Time
}

// seen returns the model of a stored agent.
func seen(a mcc.Agent) model {
	m := model{
		exists: true, version: a.Version, tenant: a.TenantID, status: string(a.Status), accepting: a.Accepting, limit: a.Max,
		groups: a.Groups, slots: map[string]mcc.Slot{}, statusAt: a.StatusAt, assignedAt: a.LastAssignedAt, seen: a.UpdatedAt,
	}
	maps.Copy(m.slots, a.Slots)
	for _, op := range a.Applied {
		m.applied = append(m.applied, op.ID+" "+op.Op)
	}
	return m
}

// step is one operation with its arguments; not all use all.
type step struct {
	op, id    string
	at, until domains.Time
	status    string
	accepting bool // or forced
	limit     int
	groups    []string
	session   string
	epoch     uint64
	slots     []mcc.Settlement
}

// The outcomes of a step; the others are the codes of refusals, with details.
const done, kept, invalid = entities.Changed, entities.Kept, entities.Invalid

// ofSlots tells the operations that concern slots, and need no id.
func (s step) ofSlots() bool {
	return slices.Contains([]string{"Reserve", "Confirm", "Release", "Settle"}, s.op)
}

// do runs a step, and returns its outcome.
func (m *model) do(s step, cfg mcc.Config) string {
	switch {
	case !s.ofSlots() && slices.Contains(m.applied, s.id+" "+s.op):
		return kept
	case s.op == "Create" && m.exists:
		return "agent_exists"
	case s.op != "Create" && !m.exists:
		return "no_agent"
	}
	next := *m
	next.slots = maps.Clone(m.slots)
	next.seen = max(m.seen, m.statusAt, m.assignedAt, s.at)
	for _, slot := range m.slots {
		next.seen = max(next.seen, slot.Since)
	}
	var outcome string
	switch s.op {
	case "Reserve":
		outcome = next.reserve(s, m.most(cfg))
	case "Confirm", "Release":
		outcome = next.settle([]mcc.Settlement{{SessionID: s.session, Has: s.op == "Confirm", Epoch: s.epoch}})
	case "Settle":
		outcome = next.settle(s.slots)
	default:
		outcome = next.set(s)
	}
	if outcome != done {
		return outcome
	}
	next.version++
	if !s.ofSlots() {
		next.applied = append(slices.Clone(m.applied), s.id+" "+s.op)
		next.applied = next.applied[max(0, len(next.applied)-domains.Remembered):]
	}
	*m = next
	return done
}

// most is the agent's limit; -1 is none.
func (m *model) most(cfg mcc.Config) int {
	if m.limit != 0 {
		return m.limit
	}
	for _, g := range m.groups {
		if n := cfg.GroupMax[g]; n != 0 {
			return n
		}
	}
	return cmp.Or(cfg.Max, -1)
}

// badID reports an id that cannot be stored.
func badID(id string) bool { return id == "" || len(id) > domains.MaxID || id == garbled }

func badGroups(groups []string) bool {
	return len(groups) > mcc.MaxGroups || slices.ContainsFunc(groups, badID)
}

func (m *model) set(s step) string {
	become := func(status string) {
		if m.status != status {
			m.status, m.statusAt = status, m.seen
		}
	}
	switch s.op {
	case "Create":
		if s.limit < -1 || badGroups(s.groups) {
			return invalid
		}
		*m = model{exists: true, tenant: "t", limit: s.limit, groups: s.groups, slots: map[string]mcc.Slot{}, seen: s.at}
		become("offline")
	case "Edit":
		m.seen, m.assignedAt = 0, s.until
	case "SetStatus":
		if !slices.Contains([]string{"online", "busy", "away", "offline"}, s.status) {
			return "status"
		}
		if m.status == s.status && (s.status != "online" || m.accepting) {
			return kept
		}
		become(s.status)
		if s.status == "online" {
			m.accepting = true
		}
		if s.status == "offline" {
			m.accepting = false
		}
	case "SignOff":
		if m.status == "offline" && !m.accepting {
			return kept
		}
		become("offline")
		m.accepting = false
	case "SetAccepting":
		if m.accepting == s.accepting {
			return kept
		}
		m.accepting = s.accepting
	case "SetMax":
		if s.limit < -1 {
			return invalid
		}
		if m.limit == s.limit {
			return kept
		}
		m.limit = s.limit
	case "SetGroups":
		if badGroups(s.groups) {
			return invalid
		}
		if slices.Equal(m.groups, s.groups) {
			return kept
		}
		m.groups = s.groups
	}
	return done
}

// settle applies one settlement after the other.
func (m *model) settle(all []mcc.Settlement) string {
	outcome := kept
	for _, s := range all {
		old, there := m.slots[s.SessionID]
		switch {
		case !there || s.Seen != nil && *s.Seen != old || old.Epoch > s.Epoch:
		case s.Has && (old.Epoch < s.Epoch || old.State == "reserved"):
			m.slots[s.SessionID] = mcc.Slot{Epoch: s.Epoch, State: "held", Forced: old.Forced, Since: old.Since}
			outcome = done
		case !s.Has && old.Epoch < s.Epoch:
			delete(m.slots, s.SessionID)
			outcome = done
		}
	}
	return outcome
}

func (m *model) reserve(s step, most int) string {
	old, there := m.slots[s.session]
	forced := s.accepting
	switch {
	case badID(s.session):
		return invalid
	case there && old.Epoch > s.epoch:
		return "slot_moved_on"
	case m.status != "online" || !m.accepting:
		return "not_accepting: the agent is " + m.status
	case there && old.Epoch == s.epoch && old.State == "held":
		return kept
	case there && old.Epoch == s.epoch && (forced || !old.Forced):
		if s.until <= old.Until {
			return kept
		}
		old.Until = s.until
		m.slots[s.session] = old
		return done
	}
	others := 0
	for id, o := range m.slots {
		if id != s.session && !o.Forced {
			others++
		}
	}
	if !forced && most != -1 && others >= most {
		return fmt.Sprintf("agent_full: %d of %d", others, most)
	}
	m.slots[s.session] = mcc.Slot{Epoch: s.epoch, State: "reserved", Forced: forced, Since: m.seen, Until: s.until}
	m.assignedAt = m.seen
	return done
}
