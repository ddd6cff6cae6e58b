package desk_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/domains/desk"
	"github.com/unwatch/unwatch/domains/mcc"
	"github.com/unwatch/unwatch/domains/session"
)

// story is one operation in a place where it makes sense.
type story struct {
	name string
	// before leads there: agents a and b are online, and s is queued.
	before func(ctx context.Context, s service, at time.Time) error
	// op is the operation.
	op func(ctx context.Context, s service, op domains.Op) error
	// after is what must hold once it has happened.
	after func(t *testing.T, s session.Session)
}

func stories() []story {
	given := func(ctx context.Context, s service, at time.Time) error {
		_, err := s.Assign(ctx, domains.NewOp(at), "s", "a")
		return err
	}
	closed := func(ctx context.Context, s service, at time.Time) error {
		_, err := s.Close(ctx, domains.NewOp(at), "s", session.ByVisitor)
		return err
	}
	// leftovers gives a also what others have left: s has come, and nobody has said so;
	// t0 never came, and t1 has been closed instead. Nobody is patient any more.
	leftovers := func(ctx context.Context, s service, at time.Time) error {
		err := s.queue(ctx, at, "t0", "t1")
		for _, id := range []string{"s", "t0", "t1"} {
			_, failed := s.agents.Reserve(ctx, "a", at, id, 0, at, false)
			err = errors.Join(err, failed)
		}
		_, failed := s.sessions.Edit(ctx, "s", domains.NewOp(at), func(n *session.Session) error {
			return n.Assign(domains.At(at), "a", n.Epoch)
		})
		_, failed2 := s.Close(ctx, domains.NewOp(at), "t1", session.ByVisitor)
		return errors.Join(err, failed, failed2)
	}
	withAgent := func(id string) func(*testing.T, session.Session) {
		return func(t *testing.T, s session.Session) { assert.Equal(t, id, s.AgentID) }
	}
	status := func(want session.Status) func(*testing.T, session.Session) {
		return func(t *testing.T, s session.Session) { assert.Equal(t, want, s.Status) }
	}
	return []story{
		{name: "assign", op: func(ctx context.Context, s service, op domains.Op) error {
			_, err := s.Assign(ctx, op, "s", "a")
			return err
		}, after: withAgent("a")},
		{name: "transfer", before: given, op: func(ctx context.Context, s service, op domains.Op) error {
			_, err := s.Transfer(ctx, op, "s", desk.TransferTo{AgentID: "b"})
			return err
		}, after: withAgent("b")},
		{name: "close", before: given, op: func(ctx context.Context, s service, op domains.Op) error {
			_, err := s.Close(ctx, op, "s", session.ByAgent)
			return err
		}, after: status(session.Closed)},
		{name: "requeue", before: given, op: func(ctx context.Context, s service, op domains.Op) error {
			_, err := s.Requeue(ctx, op, "s", desk.ToQueue{FromAgentID: "a"})
			return err
		}, after: status(session.Queued)},
		{name: "decline", before: given, op: func(ctx context.Context, s service, op domains.Op) error {
			_, err := s.Decline(ctx, op, "s", "a")
			return err
		}, after: status(session.Queued)},
		{name: "sign off", before: given, op: func(ctx context.Context, s service, op domains.Op) error {
			_, err := s.SignOff(ctx, op, "a")
			return err
		}, after: status(session.Queued)},
		{name: "open", before: closed, op: func(ctx context.Context, s service, op domains.Op) error {
			_, err := s.Open(ctx, op, "s2", session.Session{VisitorID: "of-s", Status: session.Queued})
			return err
		}, after: status(session.Closed)},
		{name: "reopen", before: closed, op: func(ctx context.Context, s service, op domains.Op) error {
			_, err := s.Reopen(ctx, op, "s")
			return err
		}, after: status(session.Queued)},
		{name: "reap", before: given, op: func(ctx context.Context, s service, op domains.Op) error {
			_, err := s.Reap(ctx, op.At, "a")
			return err
		}, after: withAgent("a")},
		{name: "sign off with leftovers", before: leftovers, op: func(ctx context.Context, s service, op domains.Op) error {
			_, err := s.SignOff(ctx, op, "a")
			return err
		}, after: status(session.Queued)},
		{name: "reap leftovers", before: leftovers, op: func(ctx context.Context, s service, op domains.Op) error {
			_, err := s.Reap(ctx, op.At, "a")
			return err
		}, after: withAgent("a")},
	}
}

// play sets the stage.
func (s story) play(t *testing.T, store *world) service {
	t.Helper()
	live := newService(store)
	require.NoError(t, live.hire(t.Context(), begin(), "a", "b"))
	require.NoError(t, live.queue(t.Context(), begin(), "s"))
	if s.before != nil {
		require.NoError(t, s.before(t.Context(), live, begin()))
	}
	return live
}

// A process may die at each call of each operation, with the call executed or not.
// Whoever sends the same operation again completes it; and if nobody does, time heals.
func TestCrashAtEveryStep(t *testing.T) {
	for _, story := range stories() {
		for _, executed := range []bool{false, true} {
			for dieAt, died := 1, true; died; dieAt++ {
				t.Run(fmt.Sprintf("%s/%d,executed=%v", story.name, dieAt, executed), func(t *testing.T) {
					died = crash(t, story, dieAt, executed)
				})
				require.Less(t, dieAt, 50)
			}
		}
	}
}

func crash(t *testing.T, story story, dieAt int, executed bool) (died bool) {
	op := domains.NewOp(begin().Add(time.Second))
	for _, again := range []bool{true, false} {
		w := newWorld()
		live := story.play(t, w)
		doomed := &mortal{Store: w, dieAt: dieAt, executed: executed}
		err := story.op(t.Context(), newService(doomed), op)
		if died = doomed.dead(); !died {
			require.NoError(t, err)
		}
		if again {
			require.NoError(t, story.op(t.Context(), live, op), "the same operation again")
			s, err := live.sessions.Get(t.Context(), "s")
			require.NoError(t, err)
			story.after(t, s)
			w.rest() // without anybody clearing up
		}
		later := op.At.Add(patience + time.Second)
		require.NoError(t, live.reapAll(t.Context(), later, "a", "b"))
		w.rest()
		assert.Empty(t, w.verdict())
		assertUsable(t, live, later)
		assert.Empty(t, w.verdict())
	}
	return died
}

// assertUsable: nothing that a dead process has left keeps others from their work.
func assertUsable(t *testing.T, s service, at time.Time) {
	t.Helper()
	ctx := t.Context()
	op := func() domains.Op { return domains.NewOp(at) }
	n, err := s.sessions.Get(ctx, "s")
	require.NoError(t, err)
	if n.Status != session.Closed {
		_, err = s.Close(ctx, op(), "s", session.BySystem)
		require.NoError(t, err)
	}
	if other, err := s.sessions.Get(ctx, "s2"); err == nil && other.Status != session.Closed {
		_, err = s.Close(ctx, op(), "s2", session.BySystem)
		require.NoError(t, err)
	}
	_, err = s.Open(ctx, op(), "next", session.Session{VisitorID: "of-s", Status: session.Queued})
	require.NoError(t, err, "the visitor comes again")
	_, err = s.Assign(ctx, op(), "next", "b")
	require.NoError(t, err)
}

// The observer of these tests sees what is wrong: each rule has a step that breaks it.
func TestTheWorldSeesViolations(t *testing.T) {
	ctx := context.Background()
	for rule, harm := range map[string]func(s service){
		"M1": func(s service) {
			for i := range limit + 1 {
				_, _ = s.agents.Edit(ctx, "a", domains.NewOp(begin()), func(a *mcc.Agent) error {
					return a.Reserve(domains.At(begin()), name("x", i), 0, 0, -1, false)
				})
			}
		},
		"M2": func(s service) {
			_, _ = s.sessions.Edit(ctx, "s", domains.NewOp(begin()), func(n *session.Session) error {
				return n.Assign(domains.At(begin()), "a", n.Epoch)
			})
		},
		"M4": func(s service) {
			_, _ = s.Assign(ctx, domains.NewOp(begin()), "s", "a")
			n, _ := s.sessions.Get(ctx, "s")
			_, _ = s.agents.Reserve(ctx, "b", begin(), "s", n.Epoch, begin(), false)
			_, _ = s.agents.Edit(ctx, "b", domains.NewOp(begin()), func(a *mcc.Agent) error {
				slot := a.Slots["s"]
				slot.State, slot.Until = "held", 0
				a.Slots["s"] = slot
				return nil
			})
		},
		"M5": func(s service) {
			_, _ = s.agents.Edit(ctx, "a", domains.NewOp(begin()), func(a *mcc.Agent) error {
				err := a.Reserve(domains.At(begin()), "s", 0, 0, -1, false)
				a.Accepting = false
				return err
			})
		},
		"V1": func(s service) {
			_, _ = s.sessions.Create(ctx, "second", domains.NewOp(begin()), session.Session{VisitorID: "of-s", Status: session.Queued})
		},
	} {
		t.Run(rule, func(t *testing.T) {
			w := newWorld()
			harm(story{}.play(t, w))
			assert.Contains(t, w.verdict(), rule+": ")
		})
	}
}
