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

// violation is an agent that breaks one rule.
type violation struct {
	name string
	by   func(a *mcc.Agent)
}

func brokenAgents() []violation {
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
	return []violation{
		{"no id", func(a *mcc.Agent) { a.ID = "" }},
		{"a long id", func(a *mcc.Agent) { a.ID = long }},
		{"a long tenant", func(a *mcc.Agent) { a.TenantID = long }},
		{"no status", func(a *mcc.Agent) { a.Status = "" }},
		{"another status", func(a *mcc.Agent) { a.Status = "lunch" }},
		{"a limit below no limit", func(a *mcc.Agent) { a.Max = -2 }},
		{"many groups", func(a *mcc.Agent) { a.Groups = many(65) }},
		{"a group without a name", func(a *mcc.Agent) { a.Groups = []string{"g", ""} }},
		{"a group with a long name", func(a *mcc.Agent) { a.Groups = []string{long} }},
		{"many slots", func(a *mcc.Agent) {
			a.Slots = map[string]mcc.Slot{}
			for _, id := range many(10_001) {
				a.Slots[id] = mcc.Slot{State: mcc.Held}
			}
		}},
		{"a status before 1970", func(a *mcc.Agent) { a.StatusAt = -1 }},
		{"a status after 9999", func(a *mcc.Agent) { a.StatusAt = late }},
		{"assigned before 1970", func(a *mcc.Agent) { a.LastAssignedAt = -1 }},
		{"assigned after 9999", func(a *mcc.Agent) { a.LastAssignedAt = late }},
		{"updated before 1970", func(a *mcc.Agent) { a.UpdatedAt = -1 }},
		{"updated after 9999", func(a *mcc.Agent) { a.UpdatedAt = late }},
		{"a slot of no session", id("")},
		{"a slot of a long session", id(long)},
		{"a slot without a state", slot(func(s *mcc.Slot) { s.State = "" })},
		{"a slot in another state", slot(func(s *mcc.Slot) { s.State = "gone" })},
		{"a held slot that ends", slot(func(s *mcc.Slot) { s.State = mcc.Held })},
		{"a slot that ends before 1970", slot(func(s *mcc.Slot) { s.Until = -1 })},
		{"a slot that ends after 9999", slot(func(s *mcc.Slot) { s.Until = late })},
		{"a slot since before 1970", slot(func(s *mcc.Slot) { s.Since = -1 })},
		{"a slot since after 9999", slot(func(s *mcc.Slot) { s.Since = late })},
		{"a slot with an epoch too many", slot(func(s *mcc.Slot) { s.Epoch = maxEpoch + 1 })},
	}
}

// An agent that breaks a rule is neither stored nor read, and the error quotes no stored data.
func TestCheck(t *testing.T) {
	for _, status := range statuses() {
		a := made(status, true, map[string]mcc.Slot{"s": slotOf(mcc.Reserved)})
		assert.NoError(t, a.Check(), status)
	}
	for _, c := range brokenAgents() {
		a := made(mcc.Online, true, nil)
		c.by(&a)
		require.Error(t, a.Check(), c.name)
		assert.NotContains(t, a.Check().Error(), long, c.name)
		for _, layout := range layouts() {
			_, err := domains.CodecOf[mcc.Agent, *mcc.Agent](layout, nil).Encode(&a, rmw.Value{})
			require.ErrorIs(t, err, rmw.ErrInvalid, c.name)
		}
		if a.ID == "" { // it is read as that of the key: TestIDs
			continue
		}
		document, err := json.Marshal(a)
		require.NoError(t, err)
		b := onMemory(t, mcc.Config{})
		b.put(string(document))
		_, err = b.agents.Get(t.Context(), "a")
		require.ErrorIs(t, err, rmw.ErrUndecodable, c.name)
		assert.Nil(t, domains.RefusalOf(err), "%v", err)
	}
}
