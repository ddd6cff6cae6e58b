package mcc_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/domains/mcc"
	"github.com/unwatch/unwatch/rmw"
)

// broken is an agent that breaks one rule.
type broken struct {
	name   string
	by     func(a *mcc.Agent)
	header bool // the rule is one of all entities, which Check does not repeat
}

func brokenAgents() []broken {
	many := func(n int) []string {
		list := make([]string, n)
		for i := range list {
			list[i] = fmt.Sprint("x", i)
		}
		return list
	}
	slot := func(change func(s *mcc.Slot)) func(a *mcc.Agent) {
		return func(a *mcc.Agent) {
			s := mcc.Slot{Epoch: 5, State: mcc.Reserved, Since: at(0), Until: at(2)}
			change(&s)
			a.Slots = map[string]mcc.Slot{"sound": {State: mcc.Held}, "s": s}
		}
	}
	id := func(id string) func(a *mcc.Agent) {
		return func(a *mcc.Agent) { a.Slots = map[string]mcc.Slot{id: {State: mcc.Held}} }
	}
	late := domains.Time(253402300800000)
	return []broken{
		{"no id", func(a *mcc.Agent) { a.ID = "" }, false},
		{"a long id", func(a *mcc.Agent) { a.ID = long }, false},
		{"a long tenant", func(a *mcc.Agent) { a.TenantID = long }, false},
		{"no status", func(a *mcc.Agent) { a.Status = "" }, false},
		{"another status", func(a *mcc.Agent) { a.Status = "lunch" }, false},
		{"a limit below no limit", func(a *mcc.Agent) { a.Max = -2 }, false},
		{"many groups", func(a *mcc.Agent) { a.Groups = many(65) }, false},
		{"a group without a name", func(a *mcc.Agent) { a.Groups = []string{"g", ""} }, false},
		{"a group with a long name", func(a *mcc.Agent) { a.Groups = []string{long} }, false},
		{"many slots", func(a *mcc.Agent) {
			a.Slots = map[string]mcc.Slot{}
			for _, id := range many(10_001) {
				a.Slots[id] = mcc.Slot{State: mcc.Held}
			}
		}, false},
		{"a status before 1970", func(a *mcc.Agent) { a.StatusAt = -1 }, false},
		{"a status after 9999", func(a *mcc.Agent) { a.StatusAt = late }, false},
		{"assigned before 1970", func(a *mcc.Agent) { a.LastAssignedAt = -1 }, false},
		{"assigned after 9999", func(a *mcc.Agent) { a.LastAssignedAt = late }, false},
		{"updated before 1970", func(a *mcc.Agent) { a.UpdatedAt = -1 }, false},
		{"updated after 9999", func(a *mcc.Agent) { a.UpdatedAt = late }, false},
		{"a slot of no session", id(""), false},
		{"a slot of a long session", id(long), false},
		{"a slot without a state", slot(func(s *mcc.Slot) { s.State = "" }), false},
		{"a slot in another state", slot(func(s *mcc.Slot) { s.State = "gone" }), false},
		{"a held slot that ends", slot(func(s *mcc.Slot) { s.State = mcc.Held }), false},
		{"a slot that ends before 1970", slot(func(s *mcc.Slot) { s.Until = -1 }), false},
		{"a slot that ends after 9999", slot(func(s *mcc.Slot) { s.Until = late }), false},
		{"a slot since before 1970", slot(func(s *mcc.Slot) { s.Since = -1 }), false},
		{"a slot since after 9999", slot(func(s *mcc.Slot) { s.Since = late }), false},
		{"a slot with an epoch too many", slot(func(s *mcc.Slot) { s.Epoch = mcc.MaxEpoch + 1 }), false},
		{"a format to come", func(a *mcc.Agent) { a.Format = 2 }, true},
		{"a format that never was", func(a *mcc.Agent) { a.Format = -1 }, true},
		{"an operation without an id", func(a *mcc.Agent) { a.Applied = []domains.Applied{{}} }, true},
		{"an operation twice", func(a *mcc.Agent) { a.Applied = []domains.Applied{{ID: "x"}, {ID: "x"}} }, true},
		{"many operations", func(a *mcc.Agent) {
			a.Applied = nil
			for _, id := range many(33) {
				a.Applied = append(a.Applied, domains.Applied{ID: id})
			}
		}, true},
	}
}

// Each broken rule is reported, by Check and by the second opinion; it is not written,
// and not read.
func TestCheck(t *testing.T) {
	for _, status := range statuses() {
		a := made(status, true, slotOf("reserved"))
		assert.NoError(t, a.Check(), status)
		assert.Empty(t, brokenBy(a), status)
	}
	for _, c := range brokenAgents() {
		t.Run(c.name, func(t *testing.T) {
			a := made(mcc.Online, true, nil)
			c.by(&a)
			assert.NotEmpty(t, brokenBy(a), "the second opinion")
			if !c.header {
				require.Error(t, a.Check())
				assert.NotContains(t, a.Check().Error(), long, "it quotes what is stored")
			}
			for _, layout := range layouts() {
				b := onMemory(t, mcc.Config{Layout: layout})
				b.online(nil)
				if !c.header { // which each change mends
					b.untouched("an edit", func() {
						_, err := b.agents.Edit(b.Context(), "a", b.op(9), func(n *mcc.Agent) error { *n = a; return nil })
						assert.ErrorIs(b, err, rmw.ErrInvalid)
						assert.Nil(b, domains.RefusalOf(err))
					})
				}
				if a.ID == "" { // it is read as that of the key: TestIDs
					continue
				}
				document, err := json.Marshal(a)
				require.NoError(b, err)
				b.put(string(document))
				b.untouched("what cannot be read", func() {
					_, err := b.agents.Get(b.Context(), "a")
					assert.ErrorIs(b, err, rmw.ErrUndecodable)
					assert.NotErrorIs(b, err, rmw.ErrInvalid)
					_, err = b.agents.SignOff(b.Context(), "a", b.op(9))
					assert.ErrorIs(b, err, rmw.ErrUndecodable)
					assert.Nil(b, domains.RefusalOf(err), "%v", err)
				})
			}
		})
	}
}

// The second opinion on changes can say no: each of these breaks one rule.
func TestBrokenBetween(t *testing.T) {
	before := made(mcc.Online, true, map[string]mcc.Slot{"s": {Epoch: 5, State: mcc.Held}, "r": {Epoch: 5, State: mcc.Reserved}})
	for name, c := range map[string]struct {
		op string
		by func(a *mcc.Agent)
	}{
		"no version":              {"SetMax", func(a *mcc.Agent) { a.Version-- }},
		"time runs backwards":     {"SetMax", func(a *mcc.Agent) { a.UpdatedAt-- }},
		"a new time of no status": {"SetMax", func(a *mcc.Agent) { a.StatusAt = a.UpdatedAt + 1 }},
		"above the limit":         {"Reserve", func(a *mcc.Agent) { a.Slots["new"] = mcc.Slot{Epoch: 1, State: mcc.Reserved} }},
		"a slot by SetStatus":     {"SetStatus", func(a *mcc.Agent) { delete(a.Slots, "s") }},
		"evicted by SetMax":       {"SetMax", func(a *mcc.Agent) { delete(a.Slots, "s") }},
		"taken away by Reserve":   {"Reserve", func(a *mcc.Agent) { delete(a.Slots, "s") }},
		"brought back by Confirm": {"Confirm", func(a *mcc.Agent) { a.Slots["new"] = mcc.Slot{Epoch: 1, State: mcc.Held, Forced: true} }},
		"an older epoch":          {"Confirm", func(a *mcc.Agent) { a.Slots["r"] = mcc.Slot{Epoch: 4, State: mcc.Held} }},
		"not confirmed":           {"Confirm", func(a *mcc.Agent) { a.Slots["r"] = mcc.Slot{Epoch: 6, State: mcc.Reserved} }},
		"held and reserved again": {"Reserve", func(a *mcc.Agent) { a.Slots["s"] = mcc.Slot{Epoch: 5, State: mcc.Reserved} }},
		"released, but changed":   {"Release", func(a *mcc.Agent) { a.Slots["s"] = mcc.Slot{Epoch: 6, State: mcc.Held} }},
		"two released":            {"Release", func(a *mcc.Agent) { clear(a.Slots) }},
		"offline by Release":      {"Release", func(a *mcc.Agent) { a.Status = mcc.Offline }},
	} {
		after := before
		after.Version++
		after.Slots = map[string]mcc.Slot{"s": before.Slots["s"], "r": before.Slots["r"]}
		require.Empty(t, brokenBetween(c.op, before, after, 2), name)
		c.by(&after)
		assert.NotEmpty(t, brokenBetween(c.op, before, after, 2), name)
	}
	closed := before
	closed.Accepting = false
	after := closed
	after.Version++
	after.Slots = map[string]mcc.Slot{"s": before.Slots["s"], "r": {Epoch: 6, State: mcc.Reserved}}
	assert.NotEmpty(t, brokenBetween("Reserve", closed, after, 2), "reserved with an agent who takes none")
}
