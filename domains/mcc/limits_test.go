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

// The limit is the agent's own, or else the first that a group has, or else the general
// one.
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

// fill reserves slots until one is refused, and returns how many there are.
func (b *bench) fill(atMost int) int {
	b.Helper()
	for i := range atMost {
		before := b.get()
		a, err := b.reserve(fmt.Sprint("s", i), 1, false)
		if err != nil {
			assert.ErrorIs(b, err, mcc.ErrFull)
			assert.Equal(b, before, b.get())
			return i
		}
		require.Equal(b, i+1, a.Load())
	}
	return atMost
}

// Reserve goes up to the limit, wherever it comes from, and no further.
func TestReserveUpToTheLimit(t *testing.T) {
	for _, c := range []struct {
		name         string
		general, own int
		groups       []string
		want         int
	}{
		{"general", 2, 0, nil, 2},
		{"the agent's", 2, 3, []string{"one"}, 3},
		{"a group's", 2, 0, []string{"one"}, 1},
		{"no limit", 0, 0, nil, 9},
		{"none for the agent", 2, mcc.Unlimited, []string{"one"}, 9},
		{"none for the group", 2, 0, []string{"any", "one"}, 9},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := mcc.Config{Max: c.general, GroupMax: map[string]int{"one": 1, "any": mcc.Unlimited}}
			each(t, cfg, func(b *bench) {
				a := made(mcc.Online, true, nil)
				a.Max, a.Groups = c.own, c.groups
				b.in(a)
				assert.Equal(b, c.want, b.fill(9))
			})
		})
	}
}

// A limit that is lowered takes nothing away, and nothing new comes until there is room
// below it; a slot that is there can be reserved for a later epoch if it fits.
func TestLoweredLimit(t *testing.T) {
	each(t, mcc.Config{Max: 3}, func(b *bench) {
		b.online(nil)
		require.Equal(b, 3, b.fill(9))
		a, err := b.agents.SetMax(b.Context(), "a", b.op(2), 1)
		require.NoError(b, err)
		assert.Equal(b, 3, a.Load())
		_, err = b.reserve("s0", 2, false)
		assert.ErrorIs(b, err, mcc.ErrFull, "two others are above the limit already")
		for _, id := range []string{"s1", "s2"} {
			_, err = b.reserve("new", 1, false)
			assert.ErrorIs(b, err, mcc.ErrFull)
			_, err = b.agents.Release(b.Context(), "a", minute(3), id, 2)
			require.NoError(b, err)
		}
		_, err = b.reserve("new", 1, false)
		assert.ErrorIs(b, err, mcc.ErrFull)
		_, err = b.reserve("s0", 2, false)
		assert.NoError(b, err, "it has its own place")
	})
}

// A forced slot is taken whatever the limit is, and does not count.
func TestForced(t *testing.T) {
	each(t, mcc.Config{Max: 1}, func(b *bench) {
		b.online(nil)
		for i := range 3 {
			a, err := b.reserve(fmt.Sprint("forced", i), 1, true)
			require.NoError(b, err)
			assert.Zero(b, a.Load())
			assert.True(b, a.Slots[fmt.Sprint("forced", i)].Forced)
		}
		assert.Equal(b, 1, b.fill(9))
		a, err := b.agents.Confirm(b.Context(), "a", minute(1), "forced0", 2)
		require.NoError(b, err)
		assert.True(b, a.Slots["forced0"].Forced, "once forced, it does not count while it is there")
		assert.Equal(b, 1, a.Load())
	})
}

// A slot that somebody left behind by force is no way round the limit: whoever reserves
// without force, at whatever epoch, must fit in, and counts then.
func TestForcedLeftBehind(t *testing.T) {
	for _, epoch := range []uint64{1, 2} {
		t.Run(fmt.Sprint("epoch ", epoch), func(t *testing.T) {
			each(t, mcc.Config{Max: 1}, func(b *bench) {
				b.online(map[string]mcc.Slot{
					"left":  {Epoch: 1, State: mcc.Reserved, Since: at(0), Until: at(1), Forced: true},
					"other": {Epoch: 1, State: mcc.Held, Since: at(0)},
				})
				b.untouched("full", func() {
					_, err := b.reserve("left", epoch, false)
					assert.ErrorIs(b, err, mcc.ErrFull)
				})
				_, err := b.agents.Release(b.Context(), "a", minute(1), "other", 2)
				require.NoError(b, err)
				a, err := b.reserve("left", epoch, false)
				require.NoError(b, err)
				assert.Equal(b, mcc.Slot{Epoch: epoch, State: mcc.Reserved, Since: at(1), Until: at(2)}, a.Slots["left"])
				assert.Equal(b, 1, a.Load())
			})
		})
	}
	each(t, mcc.Config{Max: 1}, func(b *bench) {
		b.online(map[string]mcc.Slot{
			"held": {Epoch: 1, State: mcc.Held, Since: at(0), Forced: true}, "other": {Epoch: 1, State: mcc.Held},
		})
		b.untouched("what is held stays held", func() {
			_, err := b.reserve("held", 1, false)
			assert.NoError(b, err)
		})
		// The other way round, a slot that has its place goes on counting.
		a, err := b.reserve("other", 2, true)
		require.NoError(b, err)
		assert.True(b, a.Slots["other"].Forced, "it is another reservation")
		_, err = b.reserve("third", 1, false)
		assert.NoError(b, err)
	})
}

// There is an end even without a limit, and by force.
func TestMaxSlots(t *testing.T) {
	slots := map[string]mcc.Slot{}
	for i := range mcc.MaxSlots {
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

// What a change leaves behind as the expiry, and where an agent lies.
func TestExpiry(t *testing.T) {
	for _, c := range []struct {
		ttl, created, afterForeign time.Duration
	}{
		{0, rmw.NoTTL, 7 * time.Minute},
		{time.Hour, time.Hour, time.Hour},
		{rmw.NoTTL, rmw.NoTTL, rmw.NoTTL},
	} {
		t.Run(c.ttl.String(), func(t *testing.T) {
			each(t, mcc.Config{TTL: c.ttl, Prefix: "staff:"}, func(b *bench) {
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

// Stored times do not run backwards: what comes from a clock that is behind counts as
// the latest time that the agent has seen.
func TestClocksThatAreBehind(t *testing.T) {
	late := at(20)
	for name, op := range map[string]func(a *mcc.Agent) error{
		"SetStatus":    func(a *mcc.Agent) error { return a.SetStatus(at(1), mcc.Away) },
		"SignOff":      func(a *mcc.Agent) error { return a.SignOff(at(1)) },
		"SetAccepting": func(a *mcc.Agent) error { return a.SetAccepting(at(1), false) },
		"SetMax":       func(a *mcc.Agent) error { return a.SetMax(at(1), 3) },
		"SetGroups":    func(a *mcc.Agent) error { return a.SetGroups(at(1), []string{"g"}) },
		"Reserve":      func(a *mcc.Agent) error { return a.Reserve(at(1), "new", 1, at(2), 9, false) },
		"longer":       func(a *mcc.Agent) error { return a.Reserve(at(1), "s", 5, at(9), 9, false) },
		"Confirm":      func(a *mcc.Agent) error { return a.Confirm(at(1), "s", 5) },
		"Release":      func(a *mcc.Agent) error { return a.Release(at(1), "s", 6) },
	} {
		for where, seen := range map[string]func(a *mcc.Agent){
			"UpdatedAt":      func(a *mcc.Agent) { a.UpdatedAt = late },
			"StatusAt":       func(a *mcc.Agent) { a.StatusAt, a.UpdatedAt = late, 0 },
			"LastAssignedAt": func(a *mcc.Agent) { a.LastAssignedAt, a.UpdatedAt = late, 5 },
			"Slots":          func(a *mcc.Agent) { a.Slots["x"] = mcc.Slot{State: mcc.Held, Since: late} },
		} {
			a := made(mcc.Online, true, slotOf("reserved"))
			seen(&a)
			require.NoError(t, op(&a), name)
			assert.Equal(t, late, a.UpdatedAt, "%s with a later %s", name, where)
			for _, moment := range []domains.Time{a.StatusAt, a.LastAssignedAt, a.Slots["new"].Since, a.Slots["s"].Since} {
				assert.Contains(t, []domains.Time{0, at(0), late}, moment, "%s with a later %s", name, where)
			}
		}
	}
}
