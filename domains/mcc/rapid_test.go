package mcc_test

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/domains/mcc"
	"github.com/unwatch/unwatch/internal/testing/entities"
	"github.com/unwatch/unwatch/internal/testing/paths"
	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/rmwtest"
)

// run runs the step on an agent. A Reserve has the step's limit.
func (s step) run(a *mcc.Agent) error {
	switch s.op {
	case "SetStatus":
		return a.SetStatus(s.at, mcc.Status(s.status))
	case "SignOff":
		return a.SignOff(s.at)
	case "SetAccepting":
		return a.SetAccepting(s.at, s.accepting)
	case "SetMax":
		return a.SetMax(s.at, s.limit)
	case "SetGroups":
		return a.SetGroups(s.at, s.groups)
	case "Confirm":
		return a.Confirm(s.at, s.session, s.epoch)
	case "Release":
		return a.Release(s.at, s.session, s.epoch)
	}
	return a.Reserve(s.at, s.session, s.epoch, s.until, s.limit, s.accepting)
}

// send runs the step on the stored agent "a".
func (s step) send(agents mcc.Agents) (mcc.Agent, error) {
	ctx, when := context.Background(), s.at.Time()
	op := domains.Op{ID: s.id, At: when}
	switch s.op {
	case "Create": // uses the documented fields of info only
		return agents.Create(ctx, "a", op, mcc.Agent{
			ID: "other", TenantID: "t", Max: s.limit, Groups: s.groups, Status: mcc.Online, Accepting: true,
			Slots: map[string]mcc.Slot{"s": {State: mcc.Held}}, LastAssignedAt: 1,
		})
	case "Edit": // as a service that does not know updated_at
		return agents.Edit(ctx, "a", op, func(a *mcc.Agent) error {
			a.UpdatedAt, a.LastAssignedAt = 0, s.until
			return nil
		})
	case "SetStatus":
		return agents.SetStatus(ctx, "a", op, mcc.Status(s.status))
	case "SignOff":
		return agents.SignOff(ctx, "a", op)
	case "SetAccepting":
		return agents.SetAccepting(ctx, "a", op, s.accepting)
	case "SetMax":
		return agents.SetMax(ctx, "a", op, s.limit)
	case "SetGroups":
		groups := slices.Clone(s.groups)
		defer clear(groups) // the agent has a copy
		return agents.SetGroups(ctx, "a", op, groups...)
	case "Confirm":
		return agents.Confirm(ctx, "a", when, s.session, s.epoch)
	case "Release":
		return agents.Release(ctx, "a", when, s.session, s.epoch)
	case "Settle":
		return agents.Settle(ctx, "a", when, s.slots)
	}
	return agents.Reserve(ctx, "a", when, s.session, s.epoch, s.until.Time(), s.accepting)
}

// state is one agent as a document and as a hash, and the model of them.
type state struct {
	cfg    mcc.Config
	stores []*rmwtest.Memory
	agents []mcc.Agents
	stored []rmw.Value   // after the last step
	expiry time.Duration // the same
	model  model
	now    domains.Time
	past   []step
	rows   map[string]int // how often each row of the tables was followed
}

// newState has no agent, or one of an older service.
func newState(t *rapid.T, rows map[string]int) *state {
	w := &state{rows: rows, now: at(0), stored: make([]rmw.Value, 2), expiry: rmw.NoTTL, cfg: mcc.Config{
		Prefix:   rapid.SampledFrom([]string{"", "staff:"}).Draw(t, "prefix"),
		TTL:      rapid.SampledFrom([]time.Duration{0, time.Hour, rmw.NoTTL}).Draw(t, "TTL"),
		Max:      rapid.SampledFrom([]int{3, 3, 0, mcc.Unlimited}).Draw(t, "max"),
		GroupMax: map[string]int{"one": 1, "two": 2, "any": mcc.Unlimited, "none": 0},
	}}
	document, hash := w.cfg, w.cfg
	hash.Layout = rapid.SampledFrom(entities.Layouts()[1:]).Draw(t, "hash")
	if rapid.Bool().Draw(t, "codec") { // which replaces the layout
		document.Layout, document.Codec = domains.Hash, domains.CodecOf[mcc.Agent, *mcc.Agent](domains.JSON, nil)
	}
	status := rapid.SampledFrom([]mcc.Status{"", "", "", mcc.Online, mcc.Busy, mcc.Away, mcc.Offline}).Draw(t, "older")
	for i, cfg := range []mcc.Config{document, hash} {
		m := rmwtest.NewMemory()
		w.stores, w.agents = append(w.stores, m), append(w.agents, mcc.New(m, cfg))
		if status != "" {
			text := fmt.Sprintf(`{"id":"a","status":%q,"slots":{"s0":{"epoch":0,"state":"reserved"}}}`, status)
			w.expiry = 30 * time.Minute
			require.NoError(t, m.Set(context.Background(), w.key(), stored(t, entities.Layouts()[i], text), w.expiry))
		} else {
			_, err := w.agents[i].Get(context.Background(), "a")
			require.ErrorIs(t, err, mcc.ErrNoAgent)
		}
	}
	if status != "" {
		w.model = model{exists: true, status: string(status), slots: map[string]mcc.Slot{"s0": {State: mcc.Reserved}}}
		w.compare(t)
	}
	return w
}

func (w *state) key() string { return cmp.Or(w.cfg.Prefix, "agent:") + "a" }

// draw makes up a step. Clocks are sometimes behind, and mostly run on.
func (w *state) draw(t *rapid.T) step {
	if len(w.past) > 0 && rapid.IntRange(0, 9).Draw(t, "again") == 0 {
		return rapid.SampledFrom(w.past[max(0, len(w.past)-3):]).Draw(t, "the same")
	}
	w.now = w.now.Add(time.Duration(rapid.IntRange(-3, 5).Draw(t, "minutes")) * time.Minute)
	ops := []string{
		"Reserve", "Reserve", "Reserve", "Reserve", "Reserve", "Confirm", "Confirm", "Release", "Release", "Settle", "Settle",
		"SetStatus", "SetStatus", "SetStatus", "SetStatus", "SignOff", "SetAccepting", "SetMax", "SetGroups", "Edit", "Create",
	}
	if !w.model.exists {
		ops = append(ops, slices.Repeat([]string{"Create"}, len(ops))...)
	}
	ids := []string{"s0", "s1", "s2", "s3", "s4"}
	s := step{
		op: rapid.SampledFrom(ops).Draw(t, "op"),
		id: fmt.Sprint("op-", len(w.past)), at: w.now,
		until:     w.now.Add(time.Duration(rapid.IntRange(0, 3).Draw(t, "until")) * time.Minute),
		status:    rapid.SampledFrom([]string{"online", "online", "busy", "away", "offline", "", "ONLINE"}).Draw(t, "status"),
		accepting: rapid.IntRange(0, 3).Draw(t, "accepting") == 0,
		limit:     rapid.IntRange(-2, 3).Draw(t, "limit"),
		groups: rapid.SampledFrom([][]string{
			nil, {"one"}, {"none", "two"}, {"any", "one"}, {"else"}, {"two", "any"},
			{"g", ""}, {long}, {garbled}, manyGroups(),
		}).Draw(t, "groups"),
		session: rapid.SampledFrom(slices.Concat(ids, ids, []string{"", long})).Draw(t, "session"),
	}
	if s.op == "SetAccepting" {
		s.accepting = rapid.IntRange(0, 2).Draw(t, "whether") > 0
	}
	s.epoch = w.near(t, s.session)
	if s.op == "Settle" {
		for range rapid.IntRange(0, 5).Draw(t, "settlements") {
			id := rapid.SampledFrom(ids).Draw(t, "of")
			one := mcc.Settlement{SessionID: id, Has: rapid.Bool().Draw(t, "has"), Epoch: w.near(t, id)}
			if rapid.IntRange(0, 3).Draw(t, "compared") == 0 {
				slot := w.model.slots[id]
				slot.Until += domains.Time(rapid.IntRange(0, 1).Draw(t, "changed"))
				one.Seen = &slot
			}
			s.slots = append(s.slots, one)
		}
	}
	return s
}

// near draws an epoch that is too low for the slot, just right or later.
func (w *state) near(t *rapid.T, sessionID string) uint64 {
	return uint64(max(0, int64(w.model.slots[sessionID].Epoch)+rapid.SampledFrom([]int64{-1, 0, 0, 1, 1, 2}).Draw(t, "epoch")))
}

// do does a step in the model and on both, and compares the outcomes and the stored agents.
func (w *state) do(t *rapid.T, s step) {
	from, slotFrom, version := w.model.status, w.model.slots[s.session].State, w.model.version
	want := w.model.do(s, w.cfg)
	for i, agents := range w.agents {
		after, err := s.send(agents)
		require.Equal(t, want, entities.Outcome(`agent "a"`, err, after.Version != version), "%+v: %v", s, err)
		if err == nil {
			require.Equal(t, w.model, seen(after), "%+v: the returned agent", s)
		}
		now, _, err := w.stores[i].Get(context.Background(), w.key())
		require.NoError(t, err)
		require.Equal(t, want != done, w.stored[i].Equal(now), "%+v: %s, and what is stored", s, want)
	}
	w.past = append(w.past, s)
	if want != done {
		return
	}
	w.expiry = cmp.Or(w.cfg.TTL, w.expiry)
	w.compare(t)
	if s.op == "Edit" || s.op == "Settle" { // are in no table
		return
	}
	w.rows["agent "+s.op+" "+from+" "+w.model.status]++
	if s.ofSlots() {
		w.rows["slot "+s.op+" "+string(slotFrom)+" "+string(w.model.slots[s.session].State)]++
	}
}

// compare compares the stored agent with the model, in both layouts.
func (w *state) compare(t *rapid.T) {
	for i, agents := range w.agents {
		got, err := agents.Get(context.Background(), "a")
		require.NoError(t, err)
		require.Equal(t, w.model, seen(got))
		require.Equal(t, w.model.status == "online" && w.model.accepting, got.Takes())
		require.Equal(t, w.model.most(w.cfg), agents.Limit(got))
		v, left, err := w.stores[i].Get(context.Background(), w.key())
		require.NoError(t, err)
		require.Equal(t, []rmw.Kind{rmw.KindString, rmw.KindHash}[i], v.Kind())
		require.InDelta(t, w.expiry, left, float64(time.Minute), "the expiry")
		w.stored[i] = v
	}
}

// Any sequence of operations, with any clocks, matches the model in all layouts. A refusal writes nothing, and each
// row of the tables occurs.
func TestModel(t *testing.T) {
	rows := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		w := newState(t, rows)
		for range rapid.IntRange(100, 130).Draw(t, "steps") {
			w.do(t, w.draw(t))
		}
	})
	want := expectedRows()
	assert.Subset(t, want, slices.Collect(maps.Keys(rows)))
	if !testing.Short() && flag.Lookup("rapid.checks").Value.String() == "100" {
		assert.Subset(t, slices.Collect(maps.Keys(rows)), want)
	}
}

// expectedRows are the rows of both tables, one for each state that they start from.
func expectedRows() []string {
	var keys []string
	for _, table := range []domains.Table{mcc.Transitions(), mcc.SlotTransitions()} {
		for _, row := range table.Rows {
			for _, from := range append(row.From, "")[:max(1, len(row.From))] {
				to := cmp.Or(row.To, from)
				switch {
				case table.Entity == "slot" && row.Op == "Release":
					to = "" // the slot is gone
				case row.Op == "SetStatus" && to == from && to != "online": // an online agent may accept again
					continue // which is no change
				}
				keys = append(keys, table.Entity+" "+row.Op+" "+from+" "+to)
			}
		}
	}
	return keys
}

// The same steps come to the same on every path.
func TestEveryPath(t *testing.T) {
	w := rapid.Custom(func(t *rapid.T) *state {
		w := newState(t, map[string]int{})
		for range 60 {
			w.do(t, w.draw(t))
		}
		return w
	}).Filter(func(w *state) bool { return w.model.tenant == "t" && w.model.version > 20 }).Example(1)
	w.cfg.Layout = domains.HashByVersion
	paths.Each(t, func(t *testing.T, target rmwtest.Target) {
		agents := mcc.New(target.Open(), w.cfg)
		for _, s := range w.past {
			_, err := s.send(agents)
			require.True(t, err == nil || domains.RefusalOf(err) != nil || errors.Is(err, rmw.ErrInvalid), "%v", err)
		}
		got, err := agents.Get(t.Context(), "a")
		require.NoError(t, err)
		assert.Equal(t, w.model, seen(got))
	})
}
