package mcc_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/domains/mcc"
	"github.com/unwatch/unwatch/internal/testing/entities"
	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/rmwtest"
)

// The limits of a stored agent, as the package documents them.
const (
	maxSlots = 10_000
	maxEpoch = 1<<53 - 1
)

// at is n minutes after the first time of these tests.
func at(n int) domains.Time {
	return domains.At(time.Date(2026, 11, 20, 9, n, 0, 0, time.UTC))
}

// Invalid ids.
var (
	long    = strings.Repeat("x", 5000)
	garbled = "\xff"
)

// manyGroups are too many groups for an agent.
func manyGroups() []string { return strings.Fields(strings.Repeat("g ", 65)) }

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
			Unknown: entities.Unknown(layout),
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
	a.Slots = entities.Tidy(a.Slots)
	return a
}

// assignedAt is the time that an Edit sets, or none.
func (s step) assignedAt() domains.Time {
	if s.accepting {
		return 0
	}
	return s.until
}

// args returns the arguments of the operation, after the time or the id.
func (s step) args() []any {
	return map[string][]any{
		"SetStatus":    {s.status},
		"SetAccepting": {s.accepting},
		"SetMax":       {s.limit},
		"SetGroups":    {s.groups},
		"Reserve":      {s.session, s.epoch, s.until, s.limit, s.accepting},
		"Confirm":      {s.session, s.epoch},
		"Release":      {s.session, s.epoch},
		"Settle":       {s.slots},
	}[s.Op]
}

// run runs the step on an agent. A Reserve has the step's limit.
func (s step) run(a *mcc.Agent) error {
	err, _ := entities.Call(a, s.Op, append([]any{s.At}, s.args()...)...)[0].(error)
	return err
}

// send runs the step on the stored agent "a".
func (s step) send(agents mcc.Agents, layout domains.Layout) (mcc.Agent, error) {
	ctx, when := context.Background(), s.At.Time()
	op := domains.Op{ID: s.ID, At: when}
	switch s.Op {
	case "Create": // uses the documented fields of info only
		return agents.Create(ctx, "a", op, mcc.Agent{
			ID: "other", TenantID: "t", Max: s.limit, Groups: s.groups, Status: mcc.Online, Accepting: true,
			Slots: map[string]mcc.Slot{"s": {State: mcc.Held}}, LastAssignedAt: 1, Unknown: entities.Unknown(layout),
		})
	case "Edit": // as a service that does not know updated_at
		return agents.Edit(ctx, "a", op, func(a *mcc.Agent) error {
			a.UpdatedAt, a.LastAssignedAt = 0, s.assignedAt()
			return nil
		})
	case "SetGroups":
		groups := slices.Clone(s.groups)
		defer clear(groups) // the agent has a copy
		return agents.SetGroups(ctx, "a", op, groups...)
	case "Reserve":
		return agents.Reserve(ctx, "a", when, s.session, s.epoch, s.until.Time(), s.accepting)
	case "Confirm", "Release", "Settle":
		return entities.CallFor[mcc.Agent](agents, s.Op, append([]any{ctx, "a", when}, s.args()...)...)
	}
	return entities.CallFor[mcc.Agent](agents, s.Op, append([]any{ctx, "a", op}, s.args()...)...)
}

type run = entities.Run[mcc.Agent, *mcc.Agent, step]

// newRun begins with the stored agent of the model, or with none. slotRows counts the rows of the slots' table.
func newRun(t *rapid.T, cfg mcc.Config, m model, slotRows map[string]int) *run {
	store, key := rmwtest.NewMemory(), cmp.Or(cfg.Prefix, "agent:")+"a"
	codec, own := domains.CodecOf[mcc.Agent, *mcc.Agent](cfg.Layout, nil), cfg
	if rapid.Bool().Draw(t, "codec") { // which replaces the layout
		own.Layout, own.Codec = domains.Hash, codec
	}
	agents := mcc.New(store, own)
	if m.ID != "" {
		v, err := codec.Encode(&m.Agent, rmw.Value{})
		require.NoError(t, err)
		require.NoError(t, store.Set(context.Background(), key, v, m.ttl))
	}
	return &run{
		Subject: `agent "a"`, Key: key, Store: store, Layout: cfg.Layout, Prev: m.Agent,
		Do: func(s step) (string, mcc.Agent, time.Duration) { return m.do(s, cfg), tidy(m.Agent), m.ttl },
		Send: func(s step) (mcc.Agent, error) {
			a, err := s.send(agents, cfg.Layout)
			return tidy(a), err
		},
		Status: func(a mcc.Agent) string { return string(a.Status) },
		Get:    func() (mcc.Agent, error) { return agents.Get(context.Background(), "a") },
		Also: func(s step, prev, next mcc.Agent) error {
			if prev.Version != next.Version && s.ofSlots() && s.Op != "Settle" {
				slotRows[s.Op+" "+string(prev.Slots[s.session].State)+" "+string(next.Slots[s.session].State)]++
			}
			if next.Takes() != (m.Status == "online" && m.Accepting) || agents.Limit(next) != m.most(cfg) {
				return fmt.Errorf("takes sessions: %v, limit: %d", next.Takes(), agents.Limit(next))
			}
			return nil
		},
	}
}

// someSteps draws steps that suit the state of the model. Clocks are sometimes behind, and mostly run on.
func someSteps(t *rapid.T, m model, cfg mcc.Config) []step {
	now := at(0)
	steps := make([]step, rapid.IntRange(100, 130).Draw(t, "steps"))
	for i := range steps {
		now = now.Add(time.Duration(rapid.IntRange(-3, 5).Draw(t, "minutes")) * time.Minute)
		if i > 0 && rapid.IntRange(0, 9).Draw(t, "again") == 0 {
			steps[i] = rapid.SampledFrom(steps[max(0, i-3):i]).Draw(t, "the same")
		} else {
			steps[i] = aStep(t, m, now, fmt.Sprint("op-", i))
		}
		m.do(steps[i], cfg)
	}
	return steps
}

func aStep(t *rapid.T, m model, now domains.Time, id string) step {
	ops := []string{
		"Reserve", "Reserve", "Reserve", "Reserve", "Reserve", "Confirm", "Confirm", "Release", "Release", "Settle", "Settle",
		"SetStatus", "SetStatus", "SetStatus", "SetStatus", "SignOff", "SetAccepting", "SetMax", "SetGroups", "Edit", "Create",
	}
	if m.ID == "" {
		ops = append(ops, slices.Repeat([]string{"Create"}, len(ops))...)
	}
	ids := []string{"s0", "s1", "s2", "s3", "s4"}
	s := step{
		Step:      entities.Step{Op: rapid.SampledFrom(ops).Draw(t, "op"), ID: id, At: now},
		until:     now.Add(time.Duration(rapid.IntRange(0, 3).Draw(t, "until")) * time.Minute),
		status:    rapid.SampledFrom([]mcc.Status{"online", "online", "busy", "away", "offline", "", "ONLINE"}).Draw(t, "status"),
		accepting: rapid.IntRange(0, 3).Draw(t, "accepting") == 0,
		limit:     rapid.IntRange(-2, 3).Draw(t, "limit"),
		groups: rapid.SampledFrom([][]string{
			nil, {"one"}, {"none", "two"}, {"any", "one"}, {"else"}, {"two", "any"},
			{"g", ""}, {long}, {garbled}, manyGroups(), manyGroups()[:64],
		}).Draw(t, "groups"),
		session: rapid.SampledFrom(slices.Concat(ids, ids, []string{"", long})).Draw(t, "session"),
	}
	if s.Op == "SetAccepting" || s.Op == "Edit" {
		s.accepting = rapid.IntRange(0, 2).Draw(t, "whether") > 0
	}
	s.epoch = near(t, m, s.session)
	if s.Op == "Settle" {
		for range rapid.IntRange(0, 5).Draw(t, "settlements") {
			id := rapid.SampledFrom(ids).Draw(t, "of")
			one := mcc.Settlement{SessionID: id, Has: rapid.Bool().Draw(t, "has"), Epoch: near(t, m, id)}
			if rapid.IntRange(0, 3).Draw(t, "compared") == 0 {
				slot := m.Slots[id]
				slot.Until += domains.Time(rapid.IntRange(0, 1).Draw(t, "changed"))
				one.Seen = &slot
			}
			s.slots = append(s.slots, one)
		}
	}
	return s
}

// near draws an epoch that is too low for the slot, just right or later.
func near(t *rapid.T, m model, sessionID string) uint64 {
	return uint64(max(0, int64(m.Slots[sessionID].Epoch)+rapid.SampledFrom([]int64{-1, 0, 0, 1, 1, 2}).Draw(t, "epoch")))
}

// Any sequence of operations, with any clocks, matches the model in all layouts: the stored and returned agent, its expiry
// and limit, and the codes and texts of refusals. A refusal writes nothing, and each row of the tables occurs. The first
// agent may be one of an older service.
func TestAgentMatchesModel(t *testing.T) {
	rows, slotRows := map[string]int{}, map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		cfg := mcc.Config{
			Prefix:   rapid.SampledFrom([]string{"", "staff:"}).Draw(t, "prefix"),
			Layout:   rapid.SampledFrom(entities.Layouts()).Draw(t, "layout"),
			TTL:      rapid.SampledFrom([]time.Duration{0, time.Hour, rmw.NoTTL}).Draw(t, "TTL"),
			Max:      rapid.SampledFrom([]int{3, 3, 0, mcc.Unlimited}).Draw(t, "max"),
			GroupMax: map[string]int{"one": 1, "two": 2, "any": mcc.Unlimited, "none": 0},
		}
		var m model
		older := rapid.SampledFrom([]mcc.Status{"", "", "", mcc.Online, mcc.Busy, mcc.Away, mcc.Offline})
		if status := older.Draw(t, "older"); status != "" {
			m.ID, m.Status, m.ttl = "a", status, 30*time.Minute
			m.Unknown = entities.Unknown(cfg.Layout)
			m.Slots = map[string]mcc.Slot{"s0": {State: mcc.Reserved, Unknown: entities.Unknown(domains.JSON)}}
		}
		q := newRun(t, cfg, m, slotRows)
		q.Rows = rows
		require.NoError(t, q.Play(someSteps(t, m, cfg)))
	})
	want := slices.DeleteFunc(entities.Rows(mcc.Transitions), func(row string) bool {
		f := strings.Fields(row) // only an online agent may get the same status again, and accept again
		return f[0] == "SetStatus" && f[1] == f[2] && f[2] != "online"
	})
	for _, status := range mcc.Transitions().States() { // no row has these operations
		want = append(want, "Edit "+status+" "+status, "Settle "+status+" "+status)
	}
	entities.AssertOccurred(t, want, rows)
	want = entities.Rows(mcc.SlotTransitions)
	for i, row := range want {
		if f := strings.Fields(row); f[0] == "Release" { // the slot is gone
			want[i] = "Release " + f[1] + " "
		}
	}
	entities.AssertOccurred(t, want, slotRows)
}

// There is an end even without a limit, and by force.
func TestMaxSlots(t *testing.T) {
	a := mcc.Agent{ID: "a", Status: mcc.Online, Accepting: true, Slots: map[string]mcc.Slot{}}
	for i := range maxSlots {
		a.Slots[fmt.Sprint("s", i)] = mcc.Slot{Epoch: 1, State: mcc.Held}
	}
	require.ErrorIs(t, a.Reserve(at(1), "one more", 1, at(2), mcc.Unlimited, true), mcc.ErrFull)
	require.NoError(t, a.Reserve(at(1), "s7", 2, at(2), mcc.Unlimited, false), "it is there already")
	require.NoError(t, a.Check())
	a.Slots["one more"] = a.Slots["s7"]
	require.ErrorContains(t, a.Check(), "10001 slots, at most 10000")
}
