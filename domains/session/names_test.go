package session_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/domains/session"
	"github.com/unwatch/unwatch/rmw"
)

// What a session remembers of an operation is its name in the table. What has no method
// of Sessions is an "Edit" here; package desk names it.
func TestOperationsAreRememberedByTheirNames(t *testing.T) {
	own := []string{"Escalate", "Reply", "Hold", "Resume", "VisitorWrites", "Rate", "SetPriority", "SetMerchant"}
	none := []string{"Open", "Abandon", "Fence"} // TestCreate; they have no id
	cells(func(op string, from session.Status, want string) {
		b := onMemory(t, 0)
		before := b.in(from)
		s, err := operate(b, op, before)
		if err != nil || s.Version == before.Version {
			return
		}
		name := s.Applied[len(s.Applied)-1].Op
		switch {
		case slices.Contains(none, op):
			assert.Equal(t, before.Applied, s.Applied)
		case slices.Contains(own, op):
			assert.Equal(t, op, name)
		default:
			assert.Equal(t, "Edit", name, op)
		}
	})
}

// An id that was used for one operation is refused for another.
func TestAnIDIsOfOneOperation(t *testing.T) {
	each(t, func(b *bench) {
		b.in(session.Active)
		op := b.op(5)
		_, err := b.sessions.Reply(b.Context(), "s", op, "ann")
		require.NoError(b, err)
		b.untouched("session:s", "another operation", func() {
			_, err = b.sessions.Hold(b.Context(), "s", op, "ann")
			require.ErrorIs(b, err, rmw.ErrInvalid)
			require.ErrorContains(b, err, `session "s": `)
			require.ErrorContains(b, err, `was used for "Reply", and this is "Hold"`)
			_, err = b.sessions.Create(b.Context(), "s", op, session.Session{Status: session.Queued})
			require.ErrorIs(b, err, rmw.ErrInvalid)
			_, err = b.sessions.Edit(b.Context(), "s", op, func(*session.Session) error { panic("refused before") })
			require.ErrorIs(b, err, rmw.ErrInvalid)
			_, err = b.sessions.Reply(b.Context(), "s", op, "ann")
			require.NoError(b, err, "the same again")
		})
		_, err = b.sessions.Hold(b.Context(), "s", op.For("hold"), "ann")
		require.NoError(b, err)
	})
}
