package mcc_test

import (
	"fmt"
	"maps"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/unwatch/unwatch/domains/mcc"
	"github.com/unwatch/unwatch/rmw"
)

// Many settlements in one change equal the same settlements one after the other.
func TestSettle(t *testing.T) {
	each(t, mcc.Config{}, func(b *fixture) {
		foreign := mcc.Slot{Epoch: 9, State: mcc.Held, Since: at(0), Forced: true}
		reserved, held := slotOf(mcc.Reserved), slotOf(mcc.Held)
		before := b.online(map[string]mcc.Slot{
			"came": reserved, "never came": reserved, "left": held, "moved": held,
			"came later": reserved, "is here": held, "came back": foreign, "nobody's": reserved, "somebody's": reserved,
		})
		another := reserved
		another.Until++
		all := []mcc.Settlement{
			{SessionID: "came", Has: true, Epoch: 5},
			{SessionID: "never came", Epoch: 6},
			{SessionID: "left", Epoch: 7},
			{SessionID: "moved", Has: true, Epoch: 8},
			{SessionID: "came later", Has: true, Epoch: 4},
			{SessionID: "is here", Has: true, Epoch: 5},
			{SessionID: "came back", Epoch: 9},
			{SessionID: "nobody's", Epoch: 6, Seen: &reserved},
			{SessionID: "somebody's", Epoch: 6, Seen: &another},
			{SessionID: "unheard of", Has: true, Epoch: 9},
			{SessionID: "unheard of", Epoch: 9},
		}
		want := before
		want.UpdatedAt = at(1)
		want.Slots = map[string]mcc.Slot{
			"came":       {Epoch: 5, State: mcc.Held, Since: at(0)},
			"moved":      {Epoch: 8, State: mcc.Held, Since: at(0)},
			"came later": reserved, "is here": held, "came back": foreign, "somebody's": reserved,
		}
		a, err := b.agents.Settle(b.Context(), "a", minute(1), all)
		require.NoError(b, err)
		changed(b, want, a)
		b.untouched("the same again", func() {
			again, err := b.agents.Settle(b.Context(), "a", minute(2), all)
			require.NoError(b, err)
			assert.Equal(b, a, again)
			_, err = b.agents.Settle(b.Context(), "a", minute(2), nil)
			require.NoError(b, err)
			_, err = b.agents.Settle(b.Context(), "nobody", minute(2), all)
			assert.ErrorIs(b, err, mcc.ErrNoAgent)
		})
	})
}

// The same for any slots and settlements, several of one slot among them.
func TestSettleEqualsSingleSteps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		many := made(mcc.Online, true, map[string]mcc.Slot{})
		for i := range rapid.IntRange(0, 6).Draw(t, "slots") {
			s := mcc.Slot{
				Epoch: rapid.Uint64Range(1, 3).Draw(t, "epoch"), State: mcc.Held,
				Since: at(rapid.IntRange(0, 3).Draw(t, "since")), Forced: rapid.Bool().Draw(t, "forced"),
			}
			if rapid.Bool().Draw(t, "reserved") {
				s.State, s.Until = mcc.Reserved, at(4)
			}
			many.Slots[fmt.Sprint("s", i)] = s
		}
		var all []mcc.Settlement
		for range rapid.IntRange(0, 9).Draw(t, "settlements") {
			all = append(all, mcc.Settlement{
				SessionID: fmt.Sprint("s", rapid.IntRange(0, 6).Draw(t, "of")),
				Has:       rapid.Bool().Draw(t, "has"), Epoch: rapid.Uint64Range(0, 4).Draw(t, "known"),
			})
		}
		one := many
		one.Slots = maps.Clone(many.Slots)
		want := rmw.Keep
		for _, s := range all {
			step := one.Release
			if s.Has {
				step = one.Confirm
			}
			if err := step(at(2), s.SessionID, s.Epoch); err == nil {
				want = nil
			} else {
				require.Equal(t, rmw.Keep, err)
			}
		}
		require.Equal(t, want, many.Settle(at(2), all))
		require.Equal(t, one, many)
	})
}
