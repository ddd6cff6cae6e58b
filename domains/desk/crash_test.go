package desk_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/domains/desk"
	"github.com/unwatch/unwatch/domains/mcc"
	"github.com/unwatch/unwatch/domains/session"
	"github.com/unwatch/unwatch/internal/testing/contract"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
)

// story is one operation in a place where it makes sense.
type story struct {
	name string
	// before leads there: agents a and b are online, and s is queued.
	before func(ctx context.Context, s service, at time.Time) error
	// op is the operation.
	op func(ctx context.Context, s service, op domains.Op) error
	// after asserts the state once the operation has happened.
	after func(t *testing.T, s session.Session)
	// likeAnother has the steps of another story, so that its commands show nothing new.
	likeAnother bool
}

func stories() []story {
	given := func(ctx context.Context, s service, at time.Time) error {
		_, err := s.Assign(ctx, domains.NewOp(at), "s", "a")
		return err
	}
	requeued := func(ctx context.Context, s service, at time.Time) error {
		first := given(ctx, s, at)
		_, err := s.Requeue(ctx, domains.NewOp(at), "s", desk.ToQueue{})
		return errors.Join(first, err)
	}
	closed := func(ctx context.Context, s service, at time.Time) error {
		_, err := s.Close(ctx, domains.NewOp(at), "s", session.ByVisitor)
		return err
	}
	// leftovers adds slots of crashed processes to a: s was assigned and not confirmed, t0 was not assigned,
	// and t1 was closed. All reservations have expired.
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
		{name: "assign again", likeAnother: true, before: requeued, op: func(ctx context.Context, s service, op domains.Op) error {
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
		{name: "requeue", likeAnother: true, before: given, op: func(ctx context.Context, s service, op domains.Op) error {
			_, err := s.Requeue(ctx, op, "s", desk.ToQueue{FromAgentID: "a"})
			return err
		}, after: status(session.Queued)},
		{name: "decline", likeAnother: true, before: given, op: func(ctx context.Context, s service, op domains.Op) error {
			_, err := s.Decline(ctx, op, "s", "a")
			return err
		}, after: status(session.Queued)},
		{name: "sign off", likeAnother: true, before: given, op: func(ctx context.Context, s service, op domains.Op) error {
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
		{name: "reap", likeAnother: true, before: given, op: func(ctx context.Context, s service, op domains.Op) error {
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
func (s story) play(t *testing.T, store *observedStore) service {
	t.Helper()
	live := newService(store)
	require.NoError(t, live.hire(t.Context(), begin(), "a", "b"))
	require.NoError(t, live.queue(t.Context(), begin(), "s"))
	if s.before != nil {
		require.NoError(t, s.before(t.Context(), live, begin()))
	}
	return live
}

// A process dies at each call of each operation, or on a path at each command, with the call executed or not. A
// retry of the operation completes it; without a retry, the next Reap clears up.
func TestCrash(t *testing.T) {
	for _, story := range stories() {
		for _, executed := range []bool{false, true} {
			for n, struck := 1, true; struck && !t.Failed(); n++ {
				t.Run(fmt.Sprintf("memory/%s/%d,executed=%v", story.name, n, executed), func(t *testing.T) {
					for _, again := range []bool{true, false} {
						struck = crashAtStep(t, story, n, executed, again)
					}
				})
			}
		}
	}
	died, stride := 0, 1
	if underRace {
		stride = 5
	}
	for _, wire := range wires() {
		for _, story := range stories() {
			for _, executed := range []bool{false, true} {
				for n, struck := 1, !story.likeAnother; struck && !t.Failed(); n += stride {
					t.Run(fmt.Sprintf("%s/%s/%d,executed=%v", wire.name, story.name, n, executed), func(t *testing.T) {
						synctest.Test(t, func(t *testing.T) { struck = crashAtCommand(t, wire, story, n, executed) })
					})
					died++
					require.Less(t, n, 100)
				}
			}
		}
	}
	t.Logf("%d deaths at a command", died)
	assert.Greater(t, died, 400/stride)
}

func crashAtStep(t *testing.T, story story, n int, executed, again bool) (died bool) {
	w, op := newObservedStore(), domains.NewOp(begin().Add(time.Second))
	live := story.play(t, w)
	doomed := &crashing{Store: w, dieAt: n, executed: executed}
	err := story.op(t.Context(), newService(doomed), op)
	if died = doomed.dead(); !died {
		require.NoError(t, err)
	}
	story.recover(t, live, op, again, w)
	return died
}

// crashAtCommand looks at the recovery twice: on the path, where the operation is sent again, and in memory,
// where it is not.
func crashAtCommand(t *testing.T, w wire, story story, n int, executed bool) (struck bool) {
	p, err := proxytest.Start(proxytest.Config{Profile: w.profile(), Engines: w.engines, InMemory: true})
	require.NoError(t, err)
	defer func() { require.NoError(t, p.Close()) }()
	stage := newObservedStore()
	story.play(t, stage)
	stage.copyTo(t, p)
	live, closeLive := process(w, p, &contract.Network{})
	defer closeLive()
	network := &contract.Network{}
	doomed, closeDoomed := process(w, p, network)
	action := proxytest.DropRequest
	if executed {
		action = proxytest.DropReply
	}
	remove := p.Inject(proxytest.Fault{Match: ofAPath, Skip: n - 1, Action: action, Do: func() {
		struck = true
		network.Cut()
	}})
	op := domains.NewOp(begin().Add(time.Second))
	limited, cancel := context.WithTimeout(t.Context(), time.Minute)
	err = story.op(limited, doomed, op)
	cancel()
	remove()
	closeDoomed()
	if !struck {
		require.NoError(t, err)
	}
	time.Sleep(11 * time.Second) // the lease of the dead process's lock ends
	left := newObservedStore()
	left.copyFrom(t, p)
	story.recover(t, newService(left), op, false, left)
	story.recover(t, live, op, true, nil)
	return struck
}

// recover sends the operation again, or does not, and clears up. w, if not nil, has seen each state.
func (s story) recover(t *testing.T, live service, op domains.Op, again bool, w *observedStore) {
	t.Helper()
	if again {
		require.NoError(t, s.op(t.Context(), live, op), "the same operation again")
		n, err := live.sessions.Get(t.Context(), "s")
		require.NoError(t, err)
		s.after(t, n)
		assertSlots(t, live) // without a Reap
	}
	later := op.At.Add(patience + time.Second)
	require.NoError(t, live.reapAll(t.Context(), later, "a", "b"))
	assertSlots(t, live)
	if w != nil {
		w.rest()
		assertUsable(t, live, later)
		assert.Empty(t, w.broken())
	}
}

// Before each call of each operation, another operation may happen, at once or after the reservation has
// lapsed. No state ever breaks a rule, and a Reap clears up.
func TestInterruptedAtEveryStep(t *testing.T) {
	for _, one := range stories() {
		for _, other := range append(stories(), meetings()...) {
			for _, late := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%s,late=%v", one.name, other.name, late), func(t *testing.T) {
					for n, struck := 1, true; struck; n++ {
						var w *observedStore
						w, struck = interrupt(t, one, other, n, late)
						require.Empty(t, w.broken(), "before call %d", n)
						live, later := newService(w), begin().Add(3*patience)
						require.NoError(t, live.reapAll(t.Context(), later, "a", "b"))
						w.rest()
						assertUsable(t, live, later)
						require.Empty(t, w.broken(), "at rest, after call %d", n)
					}
				})
			}
		}
	}
}

// interrupt plays one, and before its n-th call other.
func interrupt(t *testing.T, one, other story, n int, late bool) (w *observedStore, struck bool) {
	t.Helper()
	w = newObservedStore()
	live, at := one.play(t, w), begin().Add(time.Second)
	mayRefuse := func(err error) {
		t.Helper()
		require.True(t, err == nil || domains.RefusalOf(err) != nil, "%v", err)
	}
	mayRefuse(one.op(t.Context(), slow(w, n, func() {
		struck = true
		moment := at
		if late {
			moment = at.Add(patience + time.Second)
		}
		mayRefuse(other.op(t.Context(), live, domains.NewOp(moment)))
	}), domains.NewOp(at)))
	return w, struck
}

// meetings are further operations that come in between.
func meetings() []story {
	return []story{
		{name: "comes back", op: func(ctx context.Context, s service, op domains.Op) error {
			_, err := s.agents.SetStatus(ctx, "a", op, mcc.Online)
			_, _ = s.Requeue(ctx, op.For("requeue"), "s", desk.ToQueue{})
			_, _ = s.Assign(ctx, op.For("assign"), "s", "a")
			return err
		}},
		{name: "fence", op: func(ctx context.Context, s service, op domains.Op) error {
			n, err := s.sessions.Get(ctx, "s")
			if err == nil {
				_, err = s.sessions.Fence(ctx, "s", op.At, n.Epoch)
			}
			return err
		}},
		{name: "reap both", op: func(ctx context.Context, s service, op domains.Op) error { return s.reapAll(ctx, op.At, "a", "b") }},
		{name: "assign to the other", op: func(ctx context.Context, s service, op domains.Op) error {
			_, err := s.Assign(ctx, op, "s", "b")
			return err
		}},
		{name: "open another", op: func(ctx context.Context, s service, op domains.Op) error {
			_, err := s.Open(ctx, op, "s3", session.Session{VisitorID: "of-s", Status: session.Queued})
			return err
		}},
	}
}

// assertUsable: nothing that a dead process has left keeps others from their work.
func assertUsable(t *testing.T, s service, at time.Time) {
	t.Helper()
	ctx := t.Context()
	op := func() domains.Op { return domains.NewOp(at) }
	for _, id := range []string{"s", "s2", "s3"} {
		if n, err := s.sessions.Get(ctx, id); err == nil && n.Status != session.Closed {
			_, err = s.Close(ctx, op(), id, session.BySystem)
			require.NoError(t, err)
		}
	}
	_, err := s.Open(ctx, op(), "next", session.Session{VisitorID: "of-s", Status: session.Queued})
	require.NoError(t, err, "the visitor comes again")
	_, err = s.Assign(ctx, op(), "next", "b")
	require.NoError(t, err)
}

// Negative controls of the observed store: for each rule, a step that breaks it is reported.
func TestObservedStoreSeesViolations(t *testing.T) {
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
			w := newObservedStore()
			harm(story{}.play(t, w))
			assert.Contains(t, w.broken(), rule+": ")
		})
	}
}
