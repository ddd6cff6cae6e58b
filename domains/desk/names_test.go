package desk_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/domains/desk"
	"github.com/unwatch/unwatch/domains/session"
	"github.com/unwatch/unwatch/rmw"
)

// Every operation is recognised when it comes again, and its id serves no other: before
// anything is reserved, for a session or for a visitor.
func TestOpIDServesOneOperation(t *testing.T) {
	w := newObservedStore()
	d := newFixture(t, w, "s")
	ctx := t.Context()
	visited := session.Session{VisitorID: "of-s", Status: session.Queued}
	calls := map[string]func(op domains.Op) (session.Session, error){
		"Assign": func(op domains.Op) (session.Session, error) { return d.Assign(ctx, op, "s", "a") },
		"Transfer": func(op domains.Op) (session.Session, error) {
			return d.Transfer(ctx, op, "s", desk.TransferTo{AgentID: "b"})
		},
		"Decline": func(op domains.Op) (session.Session, error) { return d.Decline(ctx, op, "s", "b") },
		"Requeue": func(op domains.Op) (session.Session, error) { return d.Requeue(ctx, op, "s", desk.ToQueue{}) },
		"CloseIdle": func(op domains.Op) (session.Session, error) {
			op.At = op.At.Add(2 * patience)
			return d.CloseIdle(ctx, op, "s", session.Idle{Queue: patience})
		},
		"Close":  func(op domains.Op) (session.Session, error) { return d.Close(ctx, op, "s", session.ByAgent) },
		"Reopen": func(op domains.Op) (session.Session, error) { return d.Reopen(ctx, op, "s") },
		"Open":   func(op domains.Op) (session.Session, error) { return d.Open(ctx, op, "s", visited) },
	}
	for _, name := range []string{"Assign", "Transfer", "Decline", "Assign", "Requeue", "CloseIdle", "Reopen", "Close"} {
		op := d.op()
		s, err := calls[name](op)
		require.NoError(t, err, name)
		again, err := calls[name](op)
		require.NoError(t, err, "%s again", name)
		assert.Equal(t, s, again, name)
		require.Equal(t, domains.Applied{ID: op.ID, Op: name}, s.Applied[len(s.Applied)-1])

		before, snapshots := d.get("s"), w.snapshots
		for other, call := range calls {
			if other == name {
				continue
			}
			_, err := call(op)
			require.ErrorIs(t, err, rmw.ErrInvalid, "%s with the id of %s", other, name)
			require.ErrorContains(t, err, `session "s": `)
			require.ErrorContains(t, err, `"`+name+`", and this is "`+other+`"`)
		}
		assert.Equal(t, before, d.get("s"))
		assert.Equal(t, snapshots, w.snapshots, "nothing was written, to no key")
	}
	assert.Empty(t, w.violations)
}
