package desk_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/domains/desk"
	"github.com/unwatch/unwatch/domains/mcc"
	"github.com/unwatch/unwatch/domains/session"
	"github.com/unwatch/unwatch/internal/testing/long"
	"github.com/unwatch/unwatch/rmw"
)

// story is one operation in a state in which it is permitted.
type story struct {
	name string
	// before leads to that state. At first, agents a and b are online, and session s is queued.
	before func(ctx context.Context, s service, at time.Time) error
	op     func(ctx context.Context, s service, op domains.Op) error
	// then is the status of s, and its agent, once the operation has happened.
	then string
	// repairs: the operation causes no refusal of another.
	repairs bool
	// leaves: the operation leaves slots for a Reap.
	leaves bool
}

func assign(agentID string) func(context.Context, service, domains.Op) error {
	return func(ctx context.Context, s service, op domains.Op) error {
		return errOf(s.Assign(ctx, op, "s", agentID))
	}
}

func open(sessionID, visitorID string) func(context.Context, service, domains.Op) error {
	return func(ctx context.Context, s service, op domains.Op) error {
		return errOf(s.Open(ctx, op, sessionID, queuedOf(visitorID)))
	}
}

func reap(ctx context.Context, s service, op domains.Op) error { return errOf(s.Reap(ctx, op.At, "a")) }

func signOff(ctx context.Context, s service, op domains.Op) error {
	return errOf(s.SignOff(ctx, op, "a"))
}

// given gives s to a.
func given(ctx context.Context, s service, at time.Time) error {
	return assign("a")(ctx, s, domains.NewOp(at))
}

func closed(ctx context.Context, s service, at time.Time) error {
	return errOf(s.Close(ctx, domains.NewOp(at), "s", session.ByVisitor))
}

// reserved adds slots of crashed processes to a. Their reservations have expired.
func reserved(epoch uint64, ids ...string) func(context.Context, service, time.Time) error {
	return func(ctx context.Context, s service, at time.Time) (err error) {
		for _, id := range ids {
			err = errors.Join(err, errOf(s.agents.Reserve(ctx, "a", at, id, epoch, at, false)))
		}
		return err
	}
}

// leftovers adds slots of crashed processes to a: s was assigned and not confirmed, t0 was not assigned, and t1 was
// closed.
func leftovers(ctx context.Context, s service, at time.Time) error {
	return errors.Join(
		s.queue(ctx, at, "t0", "t1"),
		reserved(0, "s", "t0", "t1")(ctx, s, at),
		s.commit(ctx, at, "s", func(n *session.Session) error { return n.Assign(domains.At(at), "a", n.Epoch) }),
		errOf(s.Close(ctx, domains.NewOp(at), "t1", session.ByVisitor)),
	)
}

func stories() []story {
	return []story{
		{name: "assign", op: assign("a"), then: "assigned a"},
		{name: "assign again", then: "assigned a", before: func(ctx context.Context, s service, at time.Time) error {
			return errors.Join(given(ctx, s, at), errOf(s.Requeue(ctx, domains.NewOp(at), "s", desk.ToQueue{})))
		}, op: assign("a")},
		{name: "assign to an agent full of leftovers", then: "assigned a",
			before: func(ctx context.Context, s service, at time.Time) error {
				return errors.Join(s.queue(ctx, at, "t0", "t1", "t2"), reserved(0, "t0", "t1", "t2")(ctx, s, at))
			}, op: assign("a")},
		{name: "assign a session behind its slot", before: reserved(7, "s"), op: assign("a"), then: "assigned a"},
		{name: "transfer", before: given, op: func(ctx context.Context, s service, op domains.Op) error {
			return errOf(s.Transfer(ctx, op, "s", desk.TransferTo{AgentID: "b"}))
		}, then: "assigned b"},
		{name: "close", before: given, op: func(ctx context.Context, s service, op domains.Op) error {
			return errOf(s.Close(ctx, op, "s", session.ByAgent))
		}, then: "closed "},
		{name: "requeue", before: given, op: func(ctx context.Context, s service, op domains.Op) error {
			return errOf(s.Requeue(ctx, op, "s", desk.ToQueue{FromAgentID: "a"}))
		}, then: "queued "},
		{name: "decline", before: given, op: func(ctx context.Context, s service, op domains.Op) error {
			return errOf(s.Decline(ctx, op, "s", "a"))
		}, then: "queued "},
		{name: "sign off", before: given, op: signOff, then: "queued "},
		{name: "sign off with leftovers", before: leftovers, op: signOff, then: "queued "},
		{name: "open", before: closed, op: open("s2", "of-s"), then: "closed "},
		{name: "open after a dead close", before: func(ctx context.Context, s service, at time.Time) error {
			return s.commit(ctx, at, "s", func(n *session.Session) error {
				return n.Close(domains.At(at), session.ByVisitor, s.sessions.Windows())
			})
		}, op: open("s2", "of-s"), then: "closed "},
		{name: "open after a dead open", before: func(ctx context.Context, s service, at time.Time) error {
			reserve := func() error {
				return errOf(s.sessions.ReserveVisitor(ctx, "of-s", at, session.Visitor{}, "s4", 0, at))
			}
			return errors.Join(closed(ctx, s, at), reserve())
		}, op: open("s2", "of-s"), then: "closed "},
		{name: "reopen", before: closed, op: func(ctx context.Context, s service, op domains.Op) error {
			return errOf(s.Reopen(ctx, op, "s"))
		}, then: "queued "},
		{name: "reap", before: given, op: reap, then: "assigned a", repairs: true},
		{name: "reap leftovers", before: leftovers, op: reap, then: "assigned a", repairs: true},
		{name: "reap a slot of no session", before: reserved(0, "s3"), op: reap, then: "queued ", repairs: true},
	}
}

// play brings a store to the state before the operation.
func (s story) play(t *testing.T, store *observedStore) service {
	t.Helper()
	live := newFixture(t, store, "s").service
	if s.before != nil {
		require.NoError(t, s.before(t.Context(), live, begin()))
	}
	return live
}

// A process dies at each call of each operation, with the call executed or not, and with its clock right or an hour
// ahead. A retry of the operation completes it; without a retry, the next Reap clears up. No state breaks a rule.
//
// The Stores' own tests show that the end of a process within a call is one of the two: rmwtest strikes every command.
func TestCrash(t *testing.T) {
	for _, one := range stories() {
		for i := range 8 {
			executed, again, ahead := i&1 > 0, i&2 > 0, i&4 > 0
			t.Run(fmt.Sprintf("%s/executed=%v,again=%v,ahead=%v", one.name, executed, again, ahead), func(t *testing.T) {
				for n, died := 1, true; died && !t.Failed(); n++ {
					died = one.crash(t, n, executed, again, ahead)
				}
			})
		}
	}
}

func (s story) crash(t *testing.T, n int, executed, again, ahead bool) (died bool) {
	w, op := newObservedStore(), domains.NewOp(begin().Add(time.Second))
	later := op.At.Add(patience + time.Second)
	if ahead {
		op.At = op.At.Add(time.Hour)
	}
	live := s.play(t, w)
	doomed := dying(w, n, executed)
	err := s.op(t.Context(), doomed, op)
	if died = doomed.store.(*process).calls >= n; !died {
		require.NoError(t, err)
	}
	if again {
		require.NoError(t, s.op(t.Context(), live, op), "the same operation again, after a death at call %d", n)
		assert.Equal(t, s.then, fmt.Sprint(w.sessions["s"].Status, " ", w.sessions["s"].AgentID))
		w.quiet(t) // without a Reap
	}
	require.NoError(t, live.reapAll(t.Context(), later))
	assertUsable(t, w, live, later)
	return died
}

// assertUsable asserts that the agents are at rest, and that the visitor can open another session and an agent get it.
func assertUsable(t *testing.T, w *observedStore, s service, at time.Time) {
	t.Helper()
	w.quiet(t)
	for id, n := range w.sessions {
		if n.VisitorID == "of-s" && n.Status != session.Closed {
			require.NoError(t, errOf(s.Close(t.Context(), domains.NewOp(at), id, session.BySystem)))
		}
	}
	require.NoError(t, open("next", "of-s")(t.Context(), s, domains.NewOp(at)), "the visitor comes again")
	require.NoError(t, errOf(s.Assign(t.Context(), domains.NewOp(at), "next", "b")))
	w.quiet(t)
}

// meetings are further operations that interrupt another.
func meetings() []story {
	return []story{
		{name: "comes back", op: func(ctx context.Context, s service, op domains.Op) error {
			err := errOf(s.agents.SetStatus(ctx, "a", op, mcc.Online))
			_, _ = s.Requeue(ctx, op.For("requeue"), "s", desk.ToQueue{})
			_, _ = s.Assign(ctx, op.For("assign"), "s", "a")
			return err
		}},
		{name: "fence", repairs: true, op: func(ctx context.Context, s service, op domains.Op) error { return s.fence(ctx, op.At, "s") }},
		{name: "reap both", repairs: true, op: func(ctx context.Context, s service, op domains.Op) error { return s.reapAll(ctx, op.At) }},
		{name: "assign to the other", op: assign("b")},
		{name: "open another", op: open("s3", "of-s")},
		{name: "open under the same id", op: open("s2", "of-u")},
		{name: "assign, and die before the confirmation", leaves: true, op: func(ctx context.Context, s service, op domains.Op) error {
			_, _ = dying(s.store, theConfirm, false).Assign(ctx, op, "s", "a")
			return nil
		}},
		{name: "assign a new session, and die before the confirmation", leaves: true,
			op: func(ctx context.Context, s service, op domains.Op) error {
				err := open("s3", "of-u")(ctx, s, op)
				_, _ = dying(s.store, theConfirm, false).Assign(ctx, op.For("assign"), "s3", "a")
				return err
			}},
	}
}

// The calls of an Assign, after the read of the session.
const (
	theCommit  = 3
	theConfirm = 4
)

// Before each call of each operation, at once or after the reservation has lapsed, or within each update, another
// operation happens, or the caller's ctx ends. No state ever breaks a rule. A refused operation has not happened, and is
// refused alike when it is sent again. A repair causes no refusal. If no process has died, no slot is left for a Reap.
func TestInterruptedAtEveryStep(t *testing.T) {
	long.Repeats(t)
	for _, one := range stories() {
		for _, other := range append(stories(), append(meetings(), story{name: "ctx ends"})...) {
			for i := range 3 {
				late, within := i == 1, i == 2
				t.Run(fmt.Sprintf("%s/%s,late=%v,within=%v", one.name, other.name, late, within), func(t *testing.T) {
					for n, struck := 1, true; struck && !t.Failed(); n++ {
						var w *observedStore
						w, struck = interrupt(t, one, other, n, late, within)
						live, later := newService(w), begin().Add(3*patience)
						require.NoError(t, live.reapAll(t.Context(), later))
						assertUsable(t, w, live, later)
						require.False(t, t.Failed(), "interrupted at call %d", n)
					}
				})
			}
		}
	}
}

// interrupt plays one, and before its n-th call, or within its n-th update, other. An other without an operation ends one's ctx.
func interrupt(t *testing.T, one, other story, n int, late, within bool) (w *observedStore, struck bool) {
	t.Helper()
	w = newObservedStore()
	live, op := one.play(t, w), domains.NewOp(begin().Add(time.Second))
	w.rest()
	leaves := other.leaves || w.broken() != "" // or there are leftovers
	clear(w.violations)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	err := one.op(ctx, interrupted(w, n, within, func() {
		struck = true
		moment := op.At
		if late {
			moment = moment.Add(patience + time.Second)
		}
		if other.op == nil {
			cancel()
		} else if err := other.op(t.Context(), live, domains.NewOp(moment)); err != nil {
			require.NotNil(t, domains.RefusalOf(err), "%v", err)
		}
	}), op)
	early := errors.Is(err, mcc.ErrFull) || errors.Is(err, mcc.ErrMovedOn) // refused before a repair
	switch {
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		return w, struck
	case early:
	case !struck || other.repairs || other.op == nil:
		require.NoError(t, err)
	case err != nil:
		require.NotNil(t, domains.RefusalOf(err), "%v", err)
		for id, s := range w.sessions {
			_, done, _ := s.Find(op)
			require.False(t, done, "%s: %v, and yet it has happened", id, err)
		}
	}
	if !leaves {
		w.quiet(t)
	}
	if refusal := domains.RefusalOf(err); refusal != nil && !early {
		require.ErrorIs(t, one.op(t.Context(), live, op), refusal, "the same operation again")
	}
	return w, struck
}

// Negative controls of TestInterruptedAtEveryStep: it reports each of these protocols. An Assign that commits on the
// session before it takes a slot, as in most services; a Reap by the clock alone, during an Assign that stalls; and
// a Reap without a second look, which loses the slot of a session that comes back to the agent meanwhile.
func TestInterruptionNegativeControls(t *testing.T) {
	for name, control := range map[string]struct {
		one, other story
		late       bool
	}{
		"session first": {one: story{op: func(ctx context.Context, s service, op domains.Op) error {
			n, err := s.sessions.Edit(ctx, "s", op, func(n *session.Session) error { return n.Assign(op.Time(), "a", n.Epoch) })
			if err != nil {
				return err
			}
			return errOf(s.agents.Reserve(ctx, "a", op.At, "s", n.Epoch, op.At, false))
		}}, other: story{op: assign("a")}},
		"reaper without epoch": {one: story{op: assign("a")}, other: story{op: func(ctx context.Context, s service, op domains.Op) error {
			return naiveReap(ctx, s, op.At, false)
		}}, late: true},
		"reaper without a second look": {one: story{
			before: func(ctx context.Context, s service, at time.Time) error {
				return errors.Join(given(ctx, s, at), s.commit(ctx, at, "s", func(n *session.Session) error {
					return n.Requeue(domains.At(at), "a", "", "", "")
				}))
			},
			op: func(ctx context.Context, s service, op domains.Op) error { return naiveReap(ctx, s, op.At, true) },
		}, other: story{op: assign("a"), leaves: true}},
	} {
		t.Run(name, func(t *testing.T) {
			var seen strings.Builder
			for n := 1; n < 9; n++ {
				control.other.leaves = true
				w, _ := interrupt(t, control.one, control.other, n, control.late, false)
				seen.WriteString(w.broken())
			}
			assert.Contains(t, seen.String(), "M2: ")
		})
	}
}

// naiveReap releases overdue slots of agent a without comparing them with those that it has read, and raises the
// sessions' epochs or not.
func naiveReap(ctx context.Context, s service, at time.Time, fence bool) error {
	a, err := s.agents.Get(ctx, "a")
	if err != nil {
		return err
	}
	var gone []string
	for sessionID, slot := range a.Slots {
		if slot.State == mcc.Reserved && slot.Until >= domains.At(at) {
			continue
		}
		n, err := s.sessions.Settle(ctx, sessionID, at, func(n *session.Session) error {
			if !fence || n.AgentID == "a" {
				return rmw.Keep
			}
			return n.Fence(domains.At(at), slot.Epoch)
		})
		if err != nil {
			return err
		}
		if n.AgentID != "a" {
			gone = append(gone, sessionID)
		} else if _, err := s.agents.Confirm(ctx, "a", at, sessionID, n.Epoch); err != nil {
			return err
		}
	}
	return errOf(s.agents.Edit(ctx, "a", domains.NewOp(at), func(a *mcc.Agent) error {
		for _, sessionID := range gone {
			delete(a.Slots, sessionID)
		}
		return nil
	}))
}

// Negative controls of the observed store: for each rule, a step that breaks it is reported.
func TestObservedStoreSeesViolations(t *testing.T) {
	edit := func(s service, agentID string, change func(a *mcc.Agent)) error {
		return errOf(s.agents.Edit(context.Background(), agentID, domains.NewOp(begin()), func(a *mcc.Agent) error {
			if a.Slots == nil {
				a.Slots = map[string]mcc.Slot{}
			}
			change(a)
			return nil
		}))
	}
	slot := mcc.Slot{State: mcc.Reserved}
	for rule, harm := range map[string]func(ctx context.Context, s service) error{
		"M1": func(_ context.Context, s service) error {
			return edit(s, "a", func(a *mcc.Agent) {
				for i := range limit + 1 {
					a.Slots[fmt.Sprint("x", i)] = slot
				}
			})
		},
		"M2": func(ctx context.Context, s service) error {
			return s.commit(ctx, begin(), "s", func(n *session.Session) error { return n.Assign(domains.At(begin()), "a", n.Epoch) })
		},
		"M3": func(_ context.Context, s service) error {
			return edit(s, "a", func(a *mcc.Agent) { a.Slots["s"] = slot })
		},
		"M4": func(ctx context.Context, s service) error {
			err := given(ctx, s, begin())
			n, _ := s.sessions.Get(ctx, "s")
			return errors.Join(err, edit(s, "b", func(a *mcc.Agent) { a.Slots["s"] = mcc.Slot{State: mcc.Held, Epoch: n.Epoch} }))
		},
		"M5": func(_ context.Context, s service) error {
			return edit(s, "a", func(a *mcc.Agent) { a.Slots["s"], a.Accepting = slot, false })
		},
		"V1": func(ctx context.Context, s service) error {
			return errOf(s.sessions.Create(ctx, "second", domains.NewOp(begin()), queuedOf("of-s")))
		},
	} {
		t.Run(rule, func(t *testing.T) {
			w := newObservedStore()
			require.NoError(t, harm(t.Context(), story{}.play(t, w)))
			w.rest()
			assert.Contains(t, w.broken(), rule+": ")
		})
	}
}
