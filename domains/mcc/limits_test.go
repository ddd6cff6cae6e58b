package mcc_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/domains/mcc"
	"github.com/unwatch/unwatch/rmw"
)

// The limit is the agent's own, or else the first that a group has, or else the general one.
func TestLimit(t *testing.T) {
	groups := map[string]int{"two": 2, "nine": 9, "any": mcc.Unlimited, "none": 0}
	for _, c := range []struct {
		general, own int
		groups       []string
		want         int
	}{
		{0, 0, nil, mcc.Unlimited},
		{5, 0, nil, 5},
		{mcc.Unlimited, 0, nil, mcc.Unlimited},
		{5, 3, []string{"two"}, 3},
		{5, mcc.Unlimited, []string{"two"}, mcc.Unlimited},
		{5, 0, []string{"two", "nine"}, 2},
		{5, 0, []string{"nine", "two"}, 9},
		{5, 0, []string{"none", "unheard of", "nine"}, 9},
		{5, 0, []string{"any", "two"}, mcc.Unlimited},
		{5, 0, []string{"none", "unheard of"}, 5},
		{0, 0, []string{"none"}, mcc.Unlimited},
	} {
		agents := mcc.New(nil, mcc.Config{Max: c.general, GroupMax: groups})
		assert.Equal(t, c.want, agents.Limit(mcc.Agent{Max: c.own, Groups: c.groups}), "%+v", c)
	}
}

// There is an end even without a limit, and by force.
func TestMaxSlots(t *testing.T) {
	slots := map[string]mcc.Slot{}
	for i := range maxSlots {
		slots[fmt.Sprint("s", i)] = mcc.Slot{Epoch: 1, State: mcc.Held}
	}
	b := onMemory(t, mcc.Config{})
	b.online(slots)
	b.untouched("one more", func() {
		_, err := b.reserve("one more", 1, true)
		assert.ErrorIs(b, err, mcc.ErrFull)
	})
	_, err := b.reserve("s7", 2, false)
	assert.NoError(b, err, "it is there already")
}

// The expiry after a change, and the key of an agent.
func TestExpiry(t *testing.T) {
	for _, c := range []struct {
		ttl, created, afterForeign time.Duration
	}{
		{0, rmw.NoTTL, 7 * time.Minute},
		{time.Hour, time.Hour, time.Hour},
		{rmw.NoTTL, rmw.NoTTL, rmw.NoTTL},
	} {
		t.Run(c.ttl.String(), func(t *testing.T) {
			each(t, mcc.Config{TTL: c.ttl, Prefix: "staff:"}, func(b *fixture) {
				_, err := b.agents.Create(b.Context(), "a", b.op(0), mcc.Agent{})
				require.NoError(b, err)
				v, left := b.look("staff:a")
				assert.InDelta(b, c.created, left, float64(5*time.Second))
				assert.Equal(b, b.layout != domains.JSON, v.Kind() == rmw.KindHash)
				require.NoError(b, b.target.Direct.Set(b.Context(), "staff:a", v, 7*time.Minute))
				_, err = b.agents.SetStatus(b.Context(), "a", b.op(1), mcc.Offline)
				require.NoError(b, err)
				_, left = b.look("staff:a")
				assert.InDelta(b, 7*time.Minute, left, float64(5*time.Second), "nothing changed")
				_, err = b.agents.SetStatus(b.Context(), "a", b.op(2), mcc.Online)
				require.NoError(b, err)
				_, left = b.look("staff:a")
				assert.InDelta(b, c.afterForeign, left, float64(5*time.Second))
			})
		})
	}
	m := onMemory(t, mcc.Config{Codec: rmw.JSON[mcc.Agent](), Layout: domains.Hash})
	_, err := m.agents.Create(t.Context(), "a", m.op(0), mcc.Agent{})
	require.NoError(t, err)
	v, _ := m.look("agent:a")
	assert.Equal(t, rmw.KindString, v.Kind())
}

// Times do not run backwards, also if a service that does not know updated_at has written last.
func TestClockBehind(t *testing.T) {
	for where, seen := range map[string]func(a *mcc.Agent){
		"UpdatedAt":      func(a *mcc.Agent) { a.UpdatedAt = at(20) },
		"StatusAt":       func(a *mcc.Agent) { a.StatusAt, a.UpdatedAt = at(20), 0 },
		"LastAssignedAt": func(a *mcc.Agent) { a.LastAssignedAt, a.UpdatedAt = at(20), 5 },
		"Slots":          func(a *mcc.Agent) { a.Slots["x"] = mcc.Slot{State: mcc.Held, Since: at(20)} },
	} {
		a := made(mcc.Online, true, map[string]mcc.Slot{"s": slotOf(mcc.Reserved)})
		seen(&a)
		require.NoError(t, a.Reserve(at(1), "new", 1, at(2), 9, false))
		assert.Equal(t, []domains.Time{at(20), at(20)}, []domains.Time{a.UpdatedAt, a.Slots["new"].Since}, where)
	}
}

// The tables are copies each time.
func TestTransitionsReturnsACopy(t *testing.T) {
	for _, table := range []func() domains.Table{mcc.Transitions, mcc.SlotTransitions} {
		changed := table()
		changed.Rows[1].To, changed.Rows[1].From[0] = "nowhere", "nowhere"
		assert.NotEqual(t, changed, table())
	}
}
