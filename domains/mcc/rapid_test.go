package mcc_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/domains/mcc"
	"github.com/unwatch/unwatch/internal/testing/paths"
	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/rmwtest"
)

// general and groupMax are the limits of the worlds.
const general = 3

func groupMax() map[string]int {
	return map[string]int{"one": 1, "two": 2, "any": mcc.Unlimited, "none": 0}
}

// state is one agent as a document and as a hash, and the model of them.
type state struct {
	stores []*rmwtest.Memory
	agents []mcc.Agents
	stored []rmw.Value // as it was after the last step
	last   []mcc.Agent // the same, read
	model  model
	now    int64
	past   []step
	rows   map[string]int // how often each row of the tables was followed
}

func newState(t *rapid.T, rows map[string]int, hash domains.Layout) *state {
	w := &state{rows: rows, now: int64(at(0)), stored: make([]rmw.Value, 2), last: make([]mcc.Agent, 2)}
	for _, layout := range []domains.Layout{domains.JSON, hash} {
		m := rmwtest.NewMemory()
		agents := mcc.New(m, mcc.Config{Layout: layout, Max: general, GroupMax: groupMax()})
		_, err := agents.Create(context.Background(), "a", domains.Op{ID: "create", At: minute(0)}, mcc.Agent{})
		require.NoError(t, err)
		w.stores, w.agents = append(w.stores, m), append(w.agents, agents)
	}
	w.model = model{
		version: 1, status: "offline", slots: map[string]slot{}, applied: []string{"create Create"},
		statusAt: w.now, seen: w.now,
	}
	w.rows["Create  offline"]++
	w.compare(t)
	return w
}

// draw makes up a step. Clocks are sometimes behind, and mostly run on.
func (w *state) draw(t *rapid.T) step {
	if len(w.past) > 0 && rapid.IntRange(0, 9).Draw(t, "again") == 0 {
		return rapid.SampledFrom(w.past[max(0, len(w.past)-3):]).Draw(t, "the same")
	}
	w.now += rapid.Int64Range(-3, 5).Draw(t, "minutes") * 60_000
	s := step{
		op: rapid.SampledFrom([]string{
			"Reserve", "Reserve", "Reserve", "Reserve", "Reserve", "Confirm", "Confirm", "Release", "Release", "Release",
			"SetStatus", "SetStatus", "SetStatus", "SetStatus", "SignOff", "SetAccepting", "SetMax", "SetGroups",
		}).Draw(t, "op"),
		id: fmt.Sprint("op-", len(w.past)), at: w.now, until: w.now + rapid.Int64Range(0, 3).Draw(t, "until")*60_000,
		status:    rapid.SampledFrom([]string{"online", "online", "busy", "away", "offline", "", "lunch"}).Draw(t, "status"),
		accepting: rapid.IntRange(0, 3).Draw(t, "accepting") == 0,
		limit:     rapid.IntRange(-2, 3).Draw(t, "limit"),
		groups:    rapid.SampledFrom([][]string{nil, {"one"}, {"none", "two"}, {"any", "one"}, {"else"}}).Draw(t, "groups"),
		session:   fmt.Sprint("s", rapid.IntRange(0, 4).Draw(t, "session")),
	}
	if s.op == "SetAccepting" {
		s.accepting = rapid.IntRange(0, 2).Draw(t, "whether") > 0
	}
	near := int64(w.model.slots[s.session].epoch) // an epoch that is too low, just right or later
	s.epoch = uint64(max(0, near+rapid.SampledFrom([]int64{-1, 0, 0, 1, 1, 2}).Draw(t, "epoch")))
	return s
}

func (s step) send(agents mcc.Agents) (mcc.Agent, error) {
	ctx, when := context.Background(), domains.Time(s.at).Time()
	op := domains.Op{ID: s.id, At: when}
	switch s.op {
	case "SetStatus":
		return agents.SetStatus(ctx, "a", op, mcc.Status(s.status))
	case "SignOff":
		return agents.SignOff(ctx, "a", op)
	case "SetAccepting":
		return agents.SetAccepting(ctx, "a", op, s.accepting)
	case "SetMax":
		return agents.SetMax(ctx, "a", op, s.limit)
	case "SetGroups":
		return agents.SetGroups(ctx, "a", op, s.groups...)
	case "Reserve":
		return agents.Reserve(ctx, "a", when, s.session, s.epoch, domains.Time(s.until).Time(), s.accepting)
	case "Confirm":
		return agents.Confirm(ctx, "a", when, s.session, s.epoch)
	}
	return agents.Release(ctx, "a", when, s.session, s.epoch)
}

// outcome returns the outcome of an operation in the words of the model.
func outcome(before, after mcc.Agent, err error) string {
	switch {
	case domains.RefusalOf(err) != nil:
		return domains.RefusalOf(err).Code()
	case errors.Is(err, rmw.ErrInvalid):
		return invalid
	case err != nil:
		return err.Error()
	case before.Version == after.Version:
		return kept
	}
	return done
}

// do does a step in the model and on both, and looks at all that must hold.
func (w *state) do(t *rapid.T, s step) {
	from, slotFrom, limit := w.model.status, w.slotState(s.session), w.model.most(groupMax(), general)
	want := w.model.do(s, groupMax(), general)
	for i, agents := range w.agents {
		require.Equal(t, limit, agents.Limit(w.last[i]))
		after, err := s.send(agents)
		require.Equal(t, want, outcome(w.last[i], after, err), "%v: %v", s, err)
		now, _, err := w.stores[i].Get(context.Background(), "agent:a")
		require.NoError(t, err)
		require.Equal(t, want != done, w.stored[i].Equal(now), "%v: %s, and what is stored", s, want)
		if want == done {
			require.Empty(t, broken(s.op, w.last[i], after, limit), "%v", s)
		}
	}
	w.past = append(w.past, s)
	if want == done {
		w.rows[s.op+" "+from+" "+w.model.status]++
		if s.ofSlot() {
			w.rows["slot "+s.op+" "+slotFrom+" "+w.slotState(s.session)]++
		}
		w.compare(t)
	}
}

func (w *state) slotState(id string) string {
	s, there := w.model.slots[id]
	switch {
	case !there:
		return ""
	case s.held:
		return "held"
	}
	return "reserved"
}

// compare compares the stored agent with the model, in both layouts.
func (w *state) compare(t *rapid.T) {
	for i, agents := range w.agents {
		got, err := agents.Get(context.Background(), "a")
		require.NoError(t, err)
		require.Equal(t, w.model, seen(got))
		require.Equal(t, w.model.status == "online" && w.model.accepting, got.Takes())
		w.last[i] = got
		w.stored[i], _, err = w.stores[i].Get(context.Background(), "agent:a")
		require.NoError(t, err)
	}
}

// Any sequence of operations, with any clocks, matches the model in both layouts. No rule is broken, a refusal
// writes nothing, and each row of the tables occurs.
func TestModel(t *testing.T) {
	rows := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		w := newState(t, rows, rapid.SampledFrom(layouts()[1:]).Draw(t, "hash"))
		for range rapid.IntRange(100, 130).Draw(t, "steps") {
			w.do(t, w.draw(t))
		}
	})
	want := expectedRows()
	for key := range rows {
		assert.Contains(t, want, key, "no row of the tables")
	}
	rare := want[0]
	for _, key := range want {
		if rows[key] < rows[rare] {
			rare = key
		}
		if !testing.Short() && flag.Lookup("rapid.checks").Value.String() == "100" {
			assert.NotZero(t, rows[key], "never happened: %s", key)
		}
	}
	t.Logf("the rarest, %d times: %s", rows[rare], rare)
}

// expectedRows are the rows of both tables, one for each state that they start from.
func expectedRows() []string {
	var keys []string
	add := func(table domains.Table, prefix string) {
		for _, row := range table.Rows {
			from := row.From
			if len(from) == 0 {
				from = []string{""}
			}
			for _, f := range from {
				to := row.To
				switch {
				case prefix != "" && row.Op == "Release":
					to = "" // the slot is gone
				case to == "":
					to = f
				case row.Op == "SetStatus" && to == f && f != "online": // an online agent may accept again
					continue // which is no change
				}
				keys = append(keys, prefix+row.Op+" "+f+" "+to)
			}
		}
	}
	add(mcc.Transitions(), "")
	add(mcc.SlotTransitions(), "slot ")
	return keys
}

// example is a run of the model that is always the same. look sees each step in memory.
func example(seed int, look func(w *state, s step)) *state {
	return rapid.Custom(func(t *rapid.T) *state {
		w := newState(t, map[string]int{}, domains.Hash)
		for range 60 {
			s := w.draw(t)
			w.do(t, s)
			look(w, s)
		}
		return w
	}).Example(seed)
}

// The same steps come to the same on every path.
func TestEveryPath(t *testing.T) {
	w := example(1, func(*state, step) {})
	require.Greater(t, w.model.version, uint64(20))
	paths.Each(t, func(t *testing.T, target rmwtest.Target) {
		agents := mcc.New(target.Open(), mcc.Config{Layout: domains.HashByVersion, Max: general, GroupMax: groupMax()})
		_, err := agents.Create(t.Context(), "a", domains.Op{ID: "create", At: minute(0)}, mcc.Agent{})
		require.NoError(t, err)
		for _, s := range w.past {
			_, err := s.send(agents)
			require.True(t, err == nil || domains.RefusalOf(err) != nil || errors.Is(err, rmw.ErrInvalid), "%v", err)
		}
		got, err := agents.Get(t.Context(), "a")
		require.NoError(t, err)
		assert.Equal(t, w.model, seen(got))
	})
}

// The negative controls: had the package one of these mistakes, the model would find it.
func TestModelNegativeControls(t *testing.T) {
	for name, mistake := range map[string]func(s step, a *mcc.Agent){
		"none":                          func(step, *mcc.Agent) {},
		"a version is not counted":      func(_ step, a *mcc.Agent) { a.Version-- },
		"a clock runs backwards":        func(s step, a *mcc.Agent) { a.UpdatedAt = domains.Time(s.at) },
		"an operation has another name": func(_ step, a *mcc.Agent) { a.Applied = append([]domains.Applied{{ID: "create"}}, a.Applied[1:]...) },
		"a released slot stays": func(s step, a *mcc.Agent) {
			if _, there := a.Slots[s.session]; !there && s.op == "Release" {
				a.Slots = map[string]mcc.Slot{s.session: {Epoch: s.epoch}}
			}
		},
	} {
		found := false
		for seed := 0; seed < 5 && !found; seed++ {
			example(seed, func(w *state, s step) {
				a := w.last[0]
				mistake(s, &a)
				found = found || !assert.ObjectsAreEqual(w.model, seen(a))
			})
		}
		assert.Equal(t, name != "none", found, name)
	}
}

// The negative controls of broken: each change breaks one rule.
func TestCheckNamesTheRule(t *testing.T) {
	for _, c := range []struct {
		op, rule string
		change   func(before, after *mcc.Agent)
	}{
		{"SetMax", "", func(_, after *mcc.Agent) { after.Max = 1 }},
		{"Release", "", func(_, after *mcc.Agent) { delete(after.Slots, "s") }},
		{"Reserve", "no more slots than the limit", func(_, after *mcc.Agent) { after.Slots["new"] = slotOf(mcc.Reserved) }},
		{"Reserve", "nothing is reserved with an agent who takes nothing", func(before, after *mcc.Agent) {
			before.Accepting, after.Slots["s"] = false, mcc.Slot{Epoch: 6, State: mcc.Reserved}
		}},
		{"Confirm", "nothing is reserved with an agent who takes nothing", func(_, after *mcc.Agent) {
			after.Slots["new"] = mcc.Slot{State: mcc.Held, Forced: true}
		}},
		{"Confirm", "an earlier epoch changes no slot", func(_, after *mcc.Agent) {
			after.Slots["s"] = mcc.Slot{Epoch: 4, State: mcc.Held}
		}},
		{"SetMax", "only Release takes a slot away", func(_, after *mcc.Agent) { delete(after.Slots, "s") }},
		{"SetMax", "times do not run backwards", func(_, after *mcc.Agent) { after.StatusAt-- }},
	} {
		before := made(mcc.Online, true, map[string]mcc.Slot{"s": slotOf(mcc.Held), "r": slotOf(mcc.Reserved)})
		after := copied(before)
		c.change(&before, &after)
		assert.Equal(t, c.rule, broken(c.op, before, after, 2), c.op)
	}
}
