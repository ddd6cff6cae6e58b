package session_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/domains/session"
	"github.com/unwatch/unwatch/rmw/rmwtest"
)

// glance is what somebody saw of an entry, and of which change it was.
type glance struct {
	seen   session.Visitor
	change int // 0: there was none
}

// index is the model of a visitor's entry: what it is, and how many changes there were.
type index struct {
	entry   session.Visitor // Version and Applied apart
	change  int             // the number of the change that made it; 0: there is none
	changes int
	epochs  map[string]uint64 // of the sessions; they only grow
}

func (x *index) set(v session.Visitor) {
	x.changes++
	x.entry, x.change = v, x.changes
	if v.SessionID == "" {
		x.change = 0
	}
}

// equalEntries compares all but the Header.
func equalEntries(t *rapid.T, want, got session.Visitor) {
	got.Header = domains.Header{}
	require.Equal(t, want, got)
}

// Who reserves an entry takes it from the state that was seen and from no other,
// however often it has gone and come back meanwhile; confirming and releasing concern
// the session that was meant and no later epoch of it.
func TestVisitorModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ctx, layout := context.Background(), rapid.SampledFrom(layouts()).Draw(t, "layout")
		sessions := session.New(rmwtest.NewMemory(), session.Config{Layout: layout})
		x := &index{epochs: map[string]uint64{}}
		glances := []glance{{}}
		for range 40 {
			id := rapid.SampledFrom([]string{"s1", "s2"}).Draw(t, "session")
			switch rapid.SampledFrom([]string{"reserve", "reserve", "confirm", "release", "close"}).Draw(t, "op") {
			case "reserve":
				from := glances[len(glances)-1-rapid.IntRange(0, min(5, len(glances)-1)).Draw(t, "glance")]
				got, err := sessions.ReserveVisitor(ctx, "v", minute(1), from.seen, id, x.epochs[id], minute(2))
				if from.change != x.change {
					require.ErrorIs(t, err, session.ErrMovedOn, "%+v", from)
					break
				}
				require.NoError(t, err)
				x.set(session.Visitor{ID: "v", SessionID: id, Epoch: x.epochs[id], State: session.Reserved, Until: at(2)})
				equalEntries(t, x.entry, got)
			case "confirm":
				require.NoError(t, sessions.ConfirmVisitor(ctx, "v", minute(1), id))
				if v := x.entry; v.SessionID == id && v.State == session.Reserved {
					v.State, v.Until = session.Held, 0
					x.set(v)
				}
			case "release":
				epoch := rapid.Uint64Range(0, x.epochs[id]).Draw(t, "epoch")
				require.NoError(t, sessions.ReleaseVisitor(ctx, "v", minute(1), id, epoch))
				if x.entry.SessionID == id && epoch > x.entry.Epoch {
					x.set(session.Visitor{})
				}
			case "close": // and the like
				x.epochs[id]++
			}
			v, err := sessions.Visitor(ctx, "v")
			require.NoError(t, err)
			equalEntries(t, x.entry, v)
			glances = append(glances, glance{v, x.change})
		}
	})
}
