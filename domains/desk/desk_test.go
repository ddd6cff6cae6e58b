package desk_test

import (
	"context"
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
	"github.com/unwatch/unwatch/internal/testing/paths"
	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/rmwtest"
)

// Each operation of a session in turn, on every path: its result, and the slots and the entry without a Reap. The same
// operation sent again does nothing, and its id serves no other operation, before anything is reserved.
func TestOperationsInTurn(t *testing.T) {
	paths.Each(t, func(t *testing.T, target rmwtest.Target) {
		d, ctx := newFixture(t, target.Open(), "s"), t.Context()
		calls := map[string]func(op domains.Op) (session.Session, error){
			"Assign": func(op domains.Op) (session.Session, error) { return d.Assign(ctx, op, "s", "a") },
			"Transfer": func(op domains.Op) (session.Session, error) {
				return d.Transfer(ctx, op, "s", desk.TransferTo{AgentID: "b", By: "a", Reason: "speaks Finnish"})
			},
			"Decline": func(op domains.Op) (session.Session, error) { return d.Decline(ctx, op, "s", "b") },
			"Requeue": func(op domains.Op) (session.Session, error) {
				return d.Requeue(ctx, op, "s", desk.ToQueue{QueueID: "gold", By: "b", Reason: "a gold customer"})
			},
			"CloseIdle": func(op domains.Op) (session.Session, error) {
				op.At = op.At.Add(2 * patience)
				return d.CloseIdle(ctx, op, "s", session.Idle{Queue: patience})
			},
			"Close":  func(op domains.Op) (session.Session, error) { return d.Close(ctx, op, "s", session.ByAgent) },
			"Reopen": func(op domains.Op) (session.Session, error) { return d.Reopen(ctx, op, "s") },
			"Open":   func(op domains.Op) (session.Session, error) { return d.Open(ctx, op, "s", queuedOf("of-s")) },
		}
		for _, step := range []struct {
			name string
			want session.Session
		}{
			{"Assign", session.Session{Status: session.Assigned, AgentID: "a"}},
			{"Transfer", session.Session{Status: session.Assigned, AgentID: "b"}},
			{"Decline", session.Session{Status: session.Queued}},
			{"Assign", session.Session{Status: session.Assigned, AgentID: "a"}},
			{"Requeue", session.Session{Status: session.Queued, QueueID: "gold"}},
			{"CloseIdle", session.Session{Status: session.Closed, CloseReason: session.QueueTimeout, QueueID: "gold"}},
			{"Reopen", session.Session{Status: session.Queued, QueueID: "gold"}},
			{"Close", session.Session{Status: session.Closed, CloseReason: session.ByAgent, QueueID: "gold"}},
		} {
			op := d.op()
			s, err := calls[step.name](op)
			require.NoError(t, err, step.name)
			got := session.Session{Status: s.Status, AgentID: s.AgentID, QueueID: s.QueueID, CloseReason: s.CloseReason}
			assert.Equal(t, step.want, got, step.name)
			assert.Equal(t, domains.Applied{ID: op.ID, Op: step.name}, s.Applied[len(s.Applied)-1])
			for _, agent := range []string{"a", "b"} {
				a, err := d.agents.Get(ctx, agent)
				require.NoError(t, err)
				assert.Equal(t, s.AgentID == agent, a.Slots["s"].State == mcc.Held, "%s: the slot of %s", step.name, agent)
				assert.Equal(t, s.AgentID == agent, len(a.Slots) > 0, "%s: the slots of %s", step.name, agent)
			}
			entry, err := d.sessions.Visitor(ctx, "of-s")
			require.NoError(t, err)
			assert.Equal(t, s.Status != session.Closed, entry.State == session.Held, step.name)

			again, err := calls[step.name](op)
			require.NoError(t, err, "%s again", step.name)
			assert.Equal(t, s, again, step.name)
			for other, call := range calls {
				if other == step.name {
					continue
				}
				_, err := call(op)
				require.ErrorIs(t, err, rmw.ErrInvalid, "%s with the id of %s", other, step.name)
				require.ErrorContains(t, err, `session "s": `)
				require.ErrorContains(t, err, `"`+step.name+`", and this is "`+other+`"`)
			}
			assert.Equal(t, s, d.get("s"))
			unchanged, err := d.sessions.Visitor(ctx, "of-s")
			require.NoError(t, err)
			assert.Equal(t, entry, unchanged)
		}
		s := d.get("s")
		assert.Equal(t, []string{"b"}, s.Declined)
		require.Len(t, s.Transfers, 2)
		assert.Equal(t, []string{"a", "speaks Finnish", "b", "a gold customer"},
			[]string{s.Transfers[0].By, s.Transfers[0].Reason, s.Transfers[1].By, s.Transfers[1].Reason})
	})
}

// fill takes all slots of an agent.
func (d fixture) fill(agentID string) {
	for i := range limit {
		require.NoError(d.t, d.queue(d.t.Context(), d.now, fmt.Sprint("t", i)))
		d.assign(fmt.Sprint("t", i), agentID)
	}
}

// A refused operation changes neither entity, and leaves no slot and no reservation.
func TestRefusals(t *testing.T) {
	ctx := t.Context()
	for name, tc := range map[string]struct {
		want error
		do   func(d fixture) error
	}{
		"assign, full": {mcc.ErrFull, func(d fixture) error {
			d.fill("b")
			return errOf(d.Assign(ctx, d.op(), "s", "b"))
		}},
		"assign, full of reservations that are left alone": {mcc.ErrFull, func(d fixture) error {
			for _, id := range []string{"t0", "t1", "t2"} {
				d.ok(d.agents.Reserve(ctx, "b", d.now, id, 0, d.now, false))
			}
			return errOf(d.Assign(ctx, d.op(), "s", "b"))
		}},
		"assign, session behind a slot that is left alone": {mcc.ErrMovedOn, func(d fixture) error {
			d.ok(d.agents.Reserve(ctx, "a", d.now, "s", 7, d.now, false))
			return errOf(d.Assign(ctx, d.op(), "s", "a"))
		}},
		"assign, busy": {mcc.ErrNotAccepting, func(d fixture) error {
			d.ok(d.agents.SetStatus(ctx, "b", d.op(), mcc.Busy))
			return errOf(d.Assign(ctx, d.op(), "s", "b"))
		}},
		"assign, no agent": {mcc.ErrNoAgent, func(d fixture) error { return errOf(d.Assign(ctx, d.op(), "s", "nobody")) }},
		"assign twice": {session.ErrNotNow, func(d fixture) error {
			d.assign("s", "a")
			return errOf(d.Assign(ctx, d.op(), "s", "b"))
		}},
		"transfer to the same": {session.ErrSameAgent, func(d fixture) error {
			d.assign("s", "a")
			return errOf(d.Transfer(ctx, d.op(), "s", desk.TransferTo{AgentID: "a"}))
		}},
		"transfer, full": {mcc.ErrFull, func(d fixture) error {
			d.fill("b")
			d.assign("s", "a")
			return errOf(d.Transfer(ctx, d.op(), "s", desk.TransferTo{AgentID: "b"}))
		}},
		"requeue, another's": {session.ErrNotHolder, func(d fixture) error {
			d.assign("s", "a")
			return errOf(d.Requeue(ctx, d.op(), "s", desk.ToQueue{FromAgentID: "b"}))
		}},
		"close idle, not idle": {session.ErrNotIdle, func(d fixture) error {
			return errOf(d.CloseIdle(ctx, d.op(), "s", session.Idle{Queue: time.Second}))
		}},
		"open a second": {desk.ErrHasSession, func(d fixture) error {
			s, err := d.Open(ctx, d.op(), "s2", queuedOf("of-s"))
			assert.Equal(d.t, "s", s.ID)
			return err
		}},
		"open during another open": {desk.ErrOpening, func(d fixture) error {
			d.ok(d.sessions.ReserveVisitor(ctx, "v", d.now, session.Visitor{}, "s1", 0, d.now))
			return errOf(d.Open(ctx, d.op(), "s2", queuedOf("v")))
		}},
		"open under a name that is taken": {session.ErrSessionExists, func(d fixture) error {
			s, calls := counted(d.store)
			err := errOf(s.Open(ctx, d.op(), "s", queuedOf("v")))
			assert.Equal(d.t, 1, calls["read session"], "no race was lost")
			assert.Empty(d.t, d.store.(*observedStore).visitors["v"])
			return err
		}},
		"open an abandoned one": {desk.ErrAbandoned, func(d fixture) error {
			d.ok(d.sessions.Abandon(ctx, "s1", d.now, "v"))
			return errOf(d.Open(ctx, d.op(), "s1", queuedOf("v")))
		}},
		"open with what cannot be opened": {rmw.ErrInvalid, func(d fixture) error {
			require.ErrorIs(d.t, errOf(d.Open(ctx, d.op(), "s1", queuedOf(""))), rmw.ErrInvalid, "no visitor")
			require.ErrorIs(d.t, errOf(d.Open(ctx, domains.Op{At: d.now}, "s1", queuedOf("v"))), rmw.ErrInvalid, "no id")
			_, err := d.Open(ctx, d.op(), "s1", session.Session{VisitorID: "v", Status: session.Active})
			d.ok(d.Open(ctx, d.op(), "s2", queuedOf("v"))) // the visitor can open another session
			return err
		}},
		"reopen, open": {session.ErrNotClosed, func(d fixture) error { return errOf(d.Reopen(ctx, d.op(), "s")) }},
		"reopen, has another": {desk.ErrHasSession, func(d fixture) error {
			d.ok(d.Close(ctx, d.op(), "s", session.ByVisitor))
			d.ok(d.Open(ctx, d.op(), "s2", queuedOf("of-s")))
			s, err := d.Reopen(ctx, d.op(), "s")
			assert.Equal(d.t, "s2", s.ID)
			return err
		}},
		"sign off, no agent": {mcc.ErrNoAgent, func(d fixture) error { return errOf(d.SignOff(ctx, d.op(), "nobody")) }},
		"reap, no agent":     {mcc.ErrNoAgent, func(d fixture) error { return errOf(d.Reap(ctx, d.now, "nobody")) }},
	} {
		t.Run(name, func(t *testing.T) {
			w := newObservedStore()
			d := newFixture(t, w, "s")
			require.ErrorIs(t, tc.do(d), tc.want)
			assert.NotContains(t, d.slots("b"), "s")
			assert.NotEqual(t, session.Reserved, w.visitors["of-s"].State)
			assert.Empty(t, w.broken())
		})
	}
}

// A transfer by force goes beyond the limit, and does not take a place that counts.
func TestForcedTransfer(t *testing.T) {
	d := newFixture(t, newObservedStore(), "s")
	d.fill("b")
	d.assign("s", "a")
	d.ok(d.Transfer(t.Context(), d.op(), "s", desk.TransferTo{AgentID: "b", Force: true}))
	b, err := d.agents.Get(t.Context(), "b")
	require.NoError(t, err)
	assert.Equal(t, limit, b.Load())
	assert.Len(t, b.Slots, limit+1)
}

// A session without a visitor is reopened without an index entry.
func TestReopenWithoutVisitor(t *testing.T) {
	w := newObservedStore()
	d := newFixture(t, w)
	d.ok(d.sessions.Create(t.Context(), "s", d.op(), queuedOf("")))
	d.ok(d.Close(t.Context(), d.op(), "s", session.BySystem))
	d.ok(d.Reopen(t.Context(), d.op(), "s"))
	assert.Equal(t, session.Queued, d.get("s").Status)
	assert.Empty(t, w.visitors)
}

// An operation that loses each race for its session or its entry returns the refusal, and keeps no slot.
func TestEndlessRaces(t *testing.T) {
	w := newObservedStore()
	d := newFixture(t, w, "s")
	d.ok(d.Close(t.Context(), d.op(), "s", session.ByVisitor))
	d.ok(d.sessions.Create(t.Context(), "t", d.op(), queuedOf("")))
	for sessionID, race := range map[string]func(s service) error{
		"t": func(s service) error { return errOf(s.Assign(t.Context(), d.op(), "t", "a")) },
		"s": func(s service) error { return errOf(s.Reopen(t.Context(), d.op(), "s")) },
	} {
		racing := around(w, func(_ context.Context, c call, run func() error) error {
			if c.update {
				require.NoError(t, d.fence(t.Context(), d.now, sessionID))
			}
			return run()
		})
		require.ErrorIs(t, race(racing), session.ErrMovedOn)
	}
	w.quiet(t)
}

// An Open that fails does not confirm the visitor's entry, so the reservation ends.
func TestFailedOpen(t *testing.T) {
	w := newObservedStore()
	d := newFixture(t, w)
	err := errOf(failing(w, "session:s", false, unavailable).Open(t.Context(), d.op(), "s", queuedOf("v")))
	require.ErrorIs(t, err, rmw.ErrUnavailable)
	assert.Equal(t, session.Reserved, w.visitors["v"].State)
}

// The failure of a step after a commit is reported to Unfinished after FinishTimeout, the other steps run, and a Reap
// does the rest.
func TestUnfinished(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newObservedStore()
		d := newFixture(t, w, "s")
		d.assign("s", "a")
		var reported []error
		store := failing(w, "agent:b", false, hang).store
		late := desk.New(session.New(store, session.Config{}), mcc.New(store, mcc.Config{Max: limit}), desk.Config{
			Unfinished: func(ctx context.Context, sessionID string, err error) {
				reported = append(reported, err, ctx.Err())
				assert.Equal(t, "s", sessionID)
			},
		})
		op := d.op()
		require.Error(t, errOf(dying(w, theCommit, true).Transfer(t.Context(), op, "s", desk.TransferTo{AgentID: "b"})))
		begun := time.Now()
		d.ok(late.Transfer(t.Context(), op, "s", desk.TransferTo{AgentID: "b"}))
		assert.Equal(t, desk.DefaultFinishTimeout, time.Since(begun))
		require.Len(t, reported, 2)
		assert.ErrorIs(t, reported[0], context.DeadlineExceeded)
		assert.NoError(t, reported[1], "the callback's ctx has not ended")
		assert.Empty(t, d.slots("a"), "the other step was taken")
		require.NoError(t, d.reapAll(t.Context(), d.now.Add(patience+time.Second)))
		w.quiet(t)
	})
}
