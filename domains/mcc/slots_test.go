package mcc_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/domains/mcc"
)

// slotMatrix says what comes of each operation on a slot of epoch 5, by the epoch that
// the caller knows: the slot that follows, "keep" for nothing, "none" for no slot, or a
// refusal's code. It is written down apart from the transition table.
const slotMatrix = `
slot      operation  epoch-4        epoch-5     epoch-6
none      Reserve    reserved-4     reserved-5  reserved-6
none      Confirm    keep           keep        keep
none      Release    keep           keep        keep
reserved  Reserve    slot_moved_on  keep        reserved-6
reserved  Confirm    keep           held-5      held-6
reserved  Release    keep           keep        none
held      Reserve    slot_moved_on  keep        reserved-6
held      Confirm    keep           keep        held-6
held      Release    keep           keep        none
`

// slotCells calls f for each cell of the matrix.
func slotCells(f func(state, op string, epoch uint64, want string)) {
	for _, line := range strings.Split(strings.TrimSpace(slotMatrix), "\n")[1:] {
		row := strings.Fields(line)
		for i, want := range row[2:] {
			f(row[0], row[1], uint64(4+i), want)
		}
	}
}

// slotOf is a slot of epoch 5 in a state, taken at minute 0; of "none", there is none.
func slotOf(state string) map[string]mcc.Slot {
	switch state {
	case "reserved":
		return map[string]mcc.Slot{"s": {Epoch: 5, State: mcc.Reserved, Since: at(0), Until: at(2)}}
	case "held":
		return map[string]mcc.Slot{"s": {Epoch: 5, State: mcc.Held, Since: at(0)}}
	}
	return nil
}

// slotOp does an operation at minute 1; Reserve reserves until minute 2.
func slotOp(b *bench, op string, epoch uint64) (mcc.Agent, error) {
	switch op {
	case "Reserve":
		return b.reserve("s", epoch, false)
	case "Confirm":
		return b.agents.Confirm(b.Context(), "a", minute(1), "s", epoch)
	}
	return b.agents.Release(b.Context(), "a", minute(1), "s", epoch)
}

// Each operation on each slot does what the matrix says: who comes late, with an epoch
// that is over, neither takes a slot away nor brings one back.
func TestSlots(t *testing.T) {
	slotCells(func(state, op string, epoch uint64, want string) {
		t.Run(fmt.Sprintf("%s %s at %d", op, state, epoch), func(t *testing.T) {
			each(t, mcc.Config{}, func(b *bench) {
				before := b.online(slotOf(state))
				var wanted mcc.Slot
				switch what, _, _ := strings.Cut(want, "-"); what {
				case "keep":
					b.untouched(op, func() {
						a, err := slotOp(b, op, epoch)
						require.NoError(b, err)
						assert.Equal(b, before, a)
					})
					return
				case "slot_moved_on":
					b.untouched(op, func() {
						_, err := slotOp(b, op, epoch)
						assert.ErrorIs(b, err, mcc.ErrMovedOn)
					})
					return
				case "reserved":
					wanted = mcc.Slot{Epoch: epoch, State: mcc.Reserved, Since: at(1), Until: at(2)}
				case "held":
					wanted = mcc.Slot{Epoch: epoch, State: mcc.Held, Since: at(0)}
				}
				expected := before
				expected.UpdatedAt, expected.Slots = at(1), map[string]mcc.Slot{"s": wanted}
				if op == "Reserve" {
					expected.LastAssignedAt = at(1)
				}
				if want == "none" {
					expected.Slots = nil
				}
				a, err := slotOp(b, op, epoch)
				require.NoError(b, err)
				if len(a.Slots) == 0 {
					a.Slots = nil
				}
				changed(b, expected, a)
				b.untouched("the same again", func() {
					_, err := slotOp(b, op, epoch)
					assert.NoError(b, err)
				})
			})
		})
	})
}

// The tables that the operations ask, and that the documents are made of, are what the
// tests say.
func TestTables(t *testing.T) {
	slotCells(func(state, op string, epoch uint64, want string) {
		what, _, _ := strings.Cut(want, "-")
		if what == "keep" || what == "slot_moved_on" || state == "none" {
			return
		}
		to, ok := mcc.SlotTransitions().Next(op, state, "")
		assert.True(t, ok, "%s of %s", op, state)
		if want != "none" {
			assert.Equal(t, what, to, "%s of %s", op, state)
		}
	})
	assert.True(t, mcc.SlotTransitions().Creates("Reserve", "reserved"))
	assert.True(t, mcc.Transitions().Creates("Create", "offline"))
	for _, row := range mcc.Transitions().Rows {
		want := []string{"online", "busy", "away", "offline"}
		switch row.Op {
		case "Create":
			continue
		case "Reserve":
			want = []string{"online"}
		}
		assert.Equal(t, want, row.From, row.Op)
	}
	for _, table := range []func() domains.Table{mcc.Transitions, mcc.SlotTransitions} {
		changed := table()
		changed.Rows[1].To, changed.Rows[1].From[0] = "nowhere", "nowhere"
		assert.NotEqual(t, changed, table(), "it is not a copy")
	}
}

// Nothing is reserved with an agent who takes no sessions, whatever there is already;
// but what is reserved can be confirmed and released.
func TestReserveNotAccepting(t *testing.T) {
	for _, status := range statuses() {
		for _, accepting := range []bool{true, false} {
			for _, state := range []string{"none", "reserved", "held"} {
				for _, forced := range []bool{true, false} {
					t.Run(fmt.Sprint(status, " accepting ", accepting, " ", state, " forced ", forced), func(t *testing.T) {
						b := onMemory(t, mcc.Config{})
						before := b.in(made(status, accepting, slotOf(state)))
						if before.Takes() {
							return
						}
						b.untouched("Reserve", func() {
							for _, epoch := range []uint64{5, 6} {
								_, err := b.reserve("s", epoch, forced)
								assert.ErrorIs(b, err, mcc.ErrNotAccepting)
							}
						})
						for _, op := range []string{"Confirm", "Release"} {
							a, err := slotOp(b, op, 7)
							require.NoError(b, err)
							assert.Equal(b, state == "none", a.Version == before.Version)
						}
					})
				}
			}
		}
	}
	each(t, mcc.Config{}, func(b *bench) {
		b.in(made(mcc.Online, false, nil))
		b.untouched("Reserve", func() {
			_, err := b.reserve("s", 5, true)
			assert.ErrorIs(b, err, mcc.ErrNotAccepting)
		})
	})
}

// Whoever reserves again, at the same epoch, may get more time, but not less.
func TestReserveLonger(t *testing.T) {
	each(t, mcc.Config{}, func(b *bench) {
		before := b.online(slotOf("reserved"))
		want := before
		want.UpdatedAt = at(1)
		want.Slots = map[string]mcc.Slot{"s": {Epoch: 5, State: mcc.Reserved, Since: at(0), Until: at(9)}}
		a, err := b.agents.Reserve(b.Context(), "a", minute(1), "s", 5, minute(9), false)
		require.NoError(b, err)
		changed(b, want, a)
		b.untouched("no longer than it is", func() {
			_, err := b.agents.Reserve(b.Context(), "a", minute(1), "s", 5, minute(8), false)
			require.NoError(b, err)
			_, err = b.agents.Confirm(b.Context(), "a", minute(1), "s", 4)
			assert.NoError(b, err)
		})
	})
}

// A late release, and a late confirmation, of a session that has come back meanwhile.
func TestLateSteps(t *testing.T) {
	each(t, mcc.Config{}, func(b *bench) {
		step := func(_ mcc.Agent, err error) { b.Helper(); require.NoError(b, err) }
		b.online(nil)
		step(b.reserve("s", 1, false)) // given at epoch 1: the session has 2 then
		step(b.agents.Confirm(b.Context(), "a", minute(1), "s", 2))
		// Taken away at 3, and about to come back; the release of 3 is late.
		step(b.reserve("s", 3, false))
		b.untouched("a late release", func() { step(b.agents.Release(b.Context(), "a", minute(1), "s", 3)) })
		b.untouched("a late confirmation", func() { step(b.agents.Confirm(b.Context(), "a", minute(1), "s", 2)) })
		assert.Equal(b, mcc.Reserved, b.get().Slots["s"].State)
		// It does not come: the session has gone on to 4.
		step(b.agents.Release(b.Context(), "a", minute(1), "s", 4))
		b.untouched("nothing is brought back", func() { step(b.agents.Confirm(b.Context(), "a", minute(1), "s", 9)) })
		assert.Empty(b, b.get().Slots)
	})
}

// Operations on one slot leave the others alone.
func TestOtherSlots(t *testing.T) {
	each(t, mcc.Config{}, func(b *bench) {
		other := mcc.Slot{Epoch: 9, State: mcc.Held, Since: at(0), Forced: true}
		b.online(map[string]mcc.Slot{"other": other, "slot:x": other})
		for _, op := range []string{"Reserve", "Confirm", "Release"} {
			a, err := slotOp(b, op, 5+uint64(slices.Index([]string{"Reserve", "Confirm", "Release"}, op)))
			require.NoError(b, err)
			assert.Equal(b, other, a.Slots["other"], op)
			assert.Equal(b, other, a.Slots["slot:x"], op)
			assert.Len(b, a.Slots, map[string]int{"Reserve": 3, "Confirm": 3, "Release": 2}[op])
			assert.Equal(b, a, b.get())
		}
	})
}

// Several operations in one Edit are one change, or none.
func TestSteps(t *testing.T) {
	each(t, mcc.Config{}, func(b *bench) {
		before := b.online(slotOf("reserved"))
		a, err := b.agents.Edit(b.Context(), "a", b.op(1), func(a *mcc.Agent) error {
			return domains.Steps(
				func() error { return a.SetStatus(at(1), mcc.Online) },
				func() error { return a.Release(at(1), "s", 6) },
				func() error { return a.SetStatus(at(1), mcc.Busy) },
			)
		})
		require.NoError(b, err)
		assert.Equal(b, before.Version+1, a.Version)
		assert.Empty(b, a.Slots)
		b.untouched("half of it", func() {
			_, err := b.agents.Edit(b.Context(), "a", b.op(2), func(a *mcc.Agent) error {
				return domains.Steps(
					func() error { return a.SetStatus(at(2), mcc.Away) },
					func() error { return a.Reserve(at(2), "s", 7, at(3), 5, false) },
				)
			})
			assert.ErrorIs(b, err, mcc.ErrNotAccepting)
		})
	})
}

// An operation sent again, with its id, changes nothing, whatever it would do now.
func TestSameOperationAgain(t *testing.T) {
	each(t, mcc.Config{}, func(b *bench) {
		b.online(nil)
		op := b.op(1)
		_, err := b.agents.SetStatus(b.Context(), "a", op, mcc.Away)
		require.NoError(b, err)
		_, err = b.agents.SetStatus(b.Context(), "a", b.op(2), mcc.Online)
		require.NoError(b, err)
		b.untouched("Away again", func() {
			a, err := b.agents.SetStatus(b.Context(), "a", op, mcc.Away)
			require.NoError(b, err)
			assert.Equal(b, mcc.Online, a.Status)
		})
	})
}
