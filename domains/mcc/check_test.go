package mcc_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/domains/mcc"
)

// withSlots returns an agent with n slots.
func withSlots(n int) mcc.Agent {
	a := mcc.Agent{ID: "a", Status: mcc.Online, Accepting: true, Slots: map[string]mcc.Slot{}}
	for i := range n {
		a.Slots[fmt.Sprint("s", i)] = mcc.Slot{Epoch: 1, State: mcc.Held}
	}
	return a
}

// brokenAgents are agents that break one rule each.
func brokenAgents() []mcc.Agent {
	var all []mcc.Agent
	add := func(change func(a *mcc.Agent, s *mcc.Slot)) {
		a, s := withSlots(1), mcc.Slot{Epoch: 5, State: mcc.Reserved, Since: at(0), Until: at(2)}
		change(&a, &s)
		a.Slots["s"] = s
		all = append(all, a)
	}
	for _, id := range []string{"", long} {
		add(func(a *mcc.Agent, _ *mcc.Slot) { a.ID = id })
		add(func(a *mcc.Agent, _ *mcc.Slot) { a.Groups = []string{"g", id} })
		add(func(a *mcc.Agent, s *mcc.Slot) { a.Slots[id] = *s })
	}
	for _, unknown := range []string{"", "lunch"} {
		add(func(a *mcc.Agent, _ *mcc.Slot) { a.Status = mcc.Status(unknown) })
		add(func(_ *mcc.Agent, s *mcc.Slot) { s.State = mcc.SlotState(unknown) })
	}
	for _, outside := range []domains.Time{-1, 253402300800000} { // before 1970, after 9999
		add(func(a *mcc.Agent, _ *mcc.Slot) { a.StatusAt = outside })
		add(func(a *mcc.Agent, _ *mcc.Slot) { a.LastAssignedAt = outside })
		add(func(a *mcc.Agent, _ *mcc.Slot) { a.UpdatedAt = outside })
		add(func(_ *mcc.Agent, s *mcc.Slot) { s.Since = outside })
		add(func(_ *mcc.Agent, s *mcc.Slot) { s.Until = outside })
	}
	add(func(a *mcc.Agent, _ *mcc.Slot) { a.TenantID = long })
	add(func(a *mcc.Agent, _ *mcc.Slot) { a.Max = mcc.Unlimited - 1 })
	add(func(a *mcc.Agent, _ *mcc.Slot) { a.Groups = manyGroups() })
	add(func(a *mcc.Agent, _ *mcc.Slot) { *a = withSlots(maxSlots) })
	add(func(_ *mcc.Agent, s *mcc.Slot) { s.State = mcc.Held }) // and has an end
	add(func(_ *mcc.Agent, s *mcc.Slot) { s.Epoch = maxEpoch + 1 })
	return all
}

// An agent that breaks a rule is neither stored nor read, and the error quotes no stored data.
func TestCheck(t *testing.T) {
	for i, a := range brokenAgents() {
		require.Error(t, a.Check(), i)
		assert.NotContains(t, a.Check().Error(), long, i)
	}
}

// There is an end even without a limit, and by force.
func TestMaxSlots(t *testing.T) {
	a := withSlots(maxSlots)
	require.ErrorIs(t, a.Reserve(at(1), "one more", 1, at(2), mcc.Unlimited, true), mcc.ErrFull)
	require.NoError(t, a.Reserve(at(1), "s7", 2, at(2), mcc.Unlimited, false), "it is there already")
	require.NoError(t, a.Check())
}

// The tables are copies each time.
func TestTransitionsReturnsACopy(t *testing.T) {
	for _, table := range []func() domains.Table{mcc.Transitions, mcc.SlotTransitions} {
		changed := table()
		changed.Rows[1].To, changed.Rows[1].From[0] = "nowhere", "nowhere"
		assert.NotEqual(t, changed, table())
	}
}
