package mcc_test

import (
	"fmt"
	"maps"
	"slices"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/domains/mcc"
)

// model implements the package's document once more, as simply as possible.
type model struct {
	version                    uint64
	status                     string
	accepting                  bool
	limit                      int // the agent's own
	groups, applied            []string
	slots                      map[string]slot
	statusAt, assignedAt, seen int64
}

type slot struct {
	epoch        uint64
	held, forced bool
	since, until int64
}

// seen returns the model of a stored agent.
func seen(a mcc.Agent) model {
	m := model{
		version: a.Version, status: string(a.Status), accepting: a.Accepting, limit: a.Max, groups: a.Groups,
		slots: map[string]slot{}, statusAt: int64(a.StatusAt), assignedAt: int64(a.LastAssignedAt), seen: int64(a.UpdatedAt),
	}
	for id, s := range a.Slots {
		m.slots[id] = slot{s.Epoch, s.State == mcc.Held, s.Forced, int64(s.Since), int64(s.Until)}
	}
	for _, op := range a.Applied {
		m.applied = append(m.applied, op.ID+" "+op.Op)
	}
	return m
}

// step is one operation with its arguments; not all use all.
type step struct {
	op, id    string
	at, until int64
	status    string
	accepting bool // or forced
	limit     int
	groups    []string
	session   string
	epoch     uint64
}

func (s step) String() string {
	return fmt.Sprintf("%s %s at %d: %q %t %d %v, %s at %d until %d",
		s.op, s.id, s.at, s.status, s.accepting, s.limit, s.groups, s.session, s.epoch, s.until)
}

const (
	done    = ""
	kept    = "keep"
	invalid = "invalid"
)

// ofSlot tells the operations that concern one slot, and need no id.
func (s step) ofSlot() bool { return s.op == "Reserve" || s.op == "Confirm" || s.op == "Release" }

// do runs a step, and returns its outcome: done, kept, invalid or a refusal's code.
func (m *model) do(s step, limits map[string]int, general int) string {
	if !s.ofSlot() && slices.Contains(m.applied, s.id+" "+s.op) {
		return kept
	}
	next := *m
	next.slots = maps.Clone(m.slots)
	now := max(m.seen, s.at)
	outcome := next.set(s, now)
	if s.ofSlot() {
		outcome = next.place(s, now, m.most(limits, general))
	}
	if outcome != done {
		return outcome
	}
	next.version++
	next.seen = now
	if !s.ofSlot() {
		next.applied = append(slices.Clone(m.applied), s.id+" "+s.op)
		next.applied = next.applied[max(0, len(next.applied)-32):]
	}
	*m = next
	return done
}

// most is the agent's limit; -1 is none.
func (m *model) most(limits map[string]int, general int) int {
	if m.limit != 0 {
		return m.limit
	}
	for _, g := range m.groups {
		if n := limits[g]; n != 0 {
			return n
		}
	}
	if general == 0 {
		return -1
	}
	return general
}

func (m *model) set(s step, now int64) string {
	switch s.op {
	case "SetStatus":
		if !slices.Contains([]string{"online", "busy", "away", "offline"}, s.status) {
			return "status"
		}
		if m.status == s.status && (s.status != "online" || m.accepting) {
			return kept
		}
		if m.status != s.status {
			m.status, m.statusAt = s.status, now
		}
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
		if m.status != "offline" {
			m.status, m.statusAt = "offline", now
		}
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
		if slices.Equal(m.groups, s.groups) {
			return kept
		}
		m.groups = s.groups
	}
	return done
}

// place does what concerns one slot.
func (m *model) place(s step, now int64, most int) string {
	old, there := m.slots[s.session]
	switch s.op {
	case "Confirm":
		if !there || old.epoch > s.epoch || old.epoch == s.epoch && old.held {
			return kept
		}
		m.slots[s.session] = slot{epoch: s.epoch, held: true, forced: old.forced, since: old.since}
		return done
	case "Release":
		if !there || old.epoch >= s.epoch {
			return kept
		}
		delete(m.slots, s.session)
		return done
	}
	forced := s.accepting
	if there && old.epoch > s.epoch {
		return "slot_moved_on"
	}
	if m.status != "online" || !m.accepting {
		return "not_accepting"
	}
	if there && old.epoch == s.epoch && old.held {
		return kept
	}
	if there && old.epoch == s.epoch && (forced || !old.forced) {
		if s.until <= old.until {
			return kept
		}
		old.until = s.until
		m.slots[s.session] = old
		return done
	}
	others := 0
	for id, o := range m.slots {
		if id != s.session && !o.forced {
			others++
		}
	}
	if !forced && most != -1 && others >= most {
		return "agent_full"
	}
	m.slots[s.session] = slot{epoch: s.epoch, forced: forced, since: now, until: s.until}
	m.assignedAt = now
	return done
}

// run runs the step on the stored agent, except the steps of slots.
func (s step) run(a *mcc.Agent) error {
	at := domains.Time(s.at)
	switch s.op {
	case "SetStatus":
		return a.SetStatus(at, mcc.Status(s.status))
	case "SignOff":
		return a.SignOff(at)
	case "SetAccepting":
		return a.SetAccepting(at, s.accepting)
	case "SetMax":
		return a.SetMax(at, s.limit)
	case "SetGroups":
		return a.SetGroups(at, s.groups)
	case "Confirm":
		return a.Confirm(at, s.session, s.epoch)
	case "Release":
		return a.Release(at, s.session, s.epoch)
	}
	return a.Reserve(at, s.session, s.epoch, domains.Time(s.until), s.limit, s.accepting)
}

// broken names the first rule of the package doc that an operation breaks. It looks at two states only, and
// asks neither the model nor Agent.Check. limit was the agent's.
func broken(op string, before, after mcc.Agent, limit int) string {
	counts := func(a mcc.Agent) (n int) {
		for _, s := range a.Slots {
			if !s.Forced {
				n++
			}
		}
		return n
	}
	if limit != mcc.Unlimited && counts(after) > max(limit, counts(before)) {
		return "no more slots than the limit"
	}
	for id, s := range after.Slots {
		old, there := before.Slots[id]
		switch fresh := !there || s.Epoch > old.Epoch && s.State == "reserved"; {
		case fresh && (op != "Reserve" || before.Status != "online" || !before.Accepting):
			return "nothing is reserved with an agent who takes nothing"
		case s.Epoch < old.Epoch:
			return "an earlier epoch changes no slot"
		}
	}
	for id := range before.Slots {
		if _, stays := after.Slots[id]; !stays && op != "Release" {
			return "only Release takes a slot away"
		}
	}
	if after.UpdatedAt < before.UpdatedAt || after.StatusAt < before.StatusAt || after.LastAssignedAt < before.LastAssignedAt {
		return "times do not run backwards"
	}
	return ""
}
