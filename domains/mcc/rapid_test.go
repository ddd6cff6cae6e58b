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
			Slots: map[string]mcc.Slot{"s": {State: mcc.Held}}, LastAssignedAt: 1, Unknown: unknown(layout),
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
		Subject: `agent "a"`, Key: key, Store: store, Prev: m.Agent,
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
			if v, _, _ := store.Get(context.Background(), key); v.Exists() && v.Kind() != codec.Kind() {
				return fmt.Errorf("stored as %v", v)
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
			m.Unknown = unknown(cfg.Layout)
			m.Slots = map[string]mcc.Slot{"s0": {State: mcc.Reserved, Unknown: unknown(domains.JSON)}}
		}
		q := newRun(t, cfg, m, slotRows)
		q.Rows = rows
		require.NoError(t, q.Play(someSteps(t, m, cfg)))
	})
	want := slices.DeleteFunc(entities.Rows(mcc.Transitions()), func(row string) bool {
		f := strings.Fields(row) // only an online agent may get the same status again, and accept again
		return f[0] == "SetStatus" && f[1] == f[2] && f[2] != "online"
	})
	for _, status := range mcc.Transitions().States() { // no row has these operations
		want = append(want, "Edit "+status+" "+status, "Settle "+status+" "+status)
	}
	entities.AssertOccurred(t, want, rows)
	want = entities.Rows(mcc.SlotTransitions())
	for i, row := range want {
		if f := strings.Fields(row); f[0] == "Release" { // the slot is gone
			want[i] = "Release " + f[1] + " "
		}
	}
	entities.AssertOccurred(t, want, slotRows)
}
