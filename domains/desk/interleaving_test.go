package desk_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/domains/desk"
	"github.com/unwatch/unwatch/domains/mcc"
	"github.com/unwatch/unwatch/domains/session"
	"github.com/unwatch/unwatch/rmw"
)

// TestInterruptedAtEveryStep shows that no rule is ever broken. The tests below pin the results of operations
// that meet: the answers, and the agent of the session.

// The calls of an Assign, after the read of the session.
const (
	theCommit  = 3
	theConfirm = 4
)

// dying is a process that dies before the answer to a call.
func dying(store rmw.Store, at int) service { return newService(&crashing{Store: store, dieAt: at}) }

// removed removes an agent's key.
func (d fixture) removed(agentID string) {
	_, err := d.store.Update(d.t.Context(), rmw.Key{Name: "agent:" + agentID}, func(context.Context, rmw.Value) (rmw.Value, error) {
		return rmw.Value{}, nil
	})
	require.NoError(d.t, err)
}

func queuedOf(visitor string) session.Session {
	return session.Session{VisitorID: visitor, Status: session.Queued}
}

// A reservation is left alone for Patience. After that, Reap raises the epoch, and the late Assign starts
// again.
func TestReapMeetsLateAssign(t *testing.T) {
	for after, found := range map[time.Duration]desk.Reaped{patience: {Waiting: 1}, patience + time.Millisecond: {Released: 1}} {
		w := newObservedStore()
		d := newFixture(t, w, "s")
		s, err := slow(w, theCommit, func() {
			was, err := d.Reap(t.Context(), d.now.Add(after), "a")
			require.NoError(t, err)
			assert.Equal(t, found, was)
		}).Assign(t.Context(), d.op(), "s", "a")
		require.NoError(t, err)
		assert.Equal(t, "a", s.AgentID)
		w.quiet(t)
	}
}

// The loser of a race for a session keeps no slot. After maxAttempts lost races, the operation returns the
// refusal.
func TestLostRaceKeepsNoSlot(t *testing.T) {
	w := newObservedStore()
	d := newFixture(t, w, "s", "t0")
	_, err := slow(w, theCommit, func() { d.assign("s", "b") }).Assign(t.Context(), d.op(), "s", "a")
	require.ErrorIs(t, err, session.ErrNotNow)
	assert.Empty(t, d.slots("a"))
	assert.Equal(t, []string{"s"}, d.slots("b"))

	_, err = newService(always{w, func() {
		_, err := d.sessions.Fence(t.Context(), "t0", d.now, d.get("t0").Epoch)
		require.NoError(t, err)
	}}).Assign(t.Context(), d.op(), "t0", "a")
	require.ErrorIs(t, err, session.ErrMovedOn)
	assert.Empty(t, d.slots("a"))
}

// always is a Store that runs a function before each of its updates.
type always struct {
	rmw.Store
	by func()
}

func (s always) Update(ctx context.Context, key rmw.Key, fn rmw.UpdateFunc) (rmw.Result, error) {
	s.by()
	return s.Store.Update(ctx, key, fn)
}

// SignOff requeues the sessions that the agent has when it begins, unless the agent comes online again.
func TestSignOffMeetsOtherOperations(t *testing.T) {
	online := func(d fixture) { d.ok(d.agents.SetStatus(d.t.Context(), "a", d.op(), mcc.Online)) }
	for name, tc := range map[string]struct {
		before   int // SignOff: 1 offline, 2 the session, 3 the agent, 4 the session, 5 the agent
		by       func(d fixture)
		requeued int
		slots    []string // of the agent
	}{
		"the return": {3, online, 0, []string{"s"}},
		"a fence, which is no later session": {4, func(d fixture) {
			d.ok(d.sessions.Fence(d.t.Context(), "s", d.now, d.get("s").Epoch))
		}, 1, nil},
		"the next shift, with what there was before": {4, func(d fixture) {
			online(d)
			d.ok(d.Requeue(d.t.Context(), d.op(), "s", desk.ToQueue{}))
			d.assign("s", "a")
			d.assign("t0", "a")
		}, 0, []string{"s", "t0"}},
		"a transfer": {4, func(d fixture) { d.ok(d.Transfer(d.t.Context(), d.op(), "s", desk.TransferTo{AgentID: "b"})) }, 0, nil},
	} {
		t.Run(name, func(t *testing.T) {
			w := newObservedStore()
			d := newFixture(t, w, "s", "t0")
			d.assign("s", "a")
			op := d.op()
			n, err := slow(w, tc.before, func() { tc.by(d) }).SignOff(t.Context(), op, "a")
			require.NoError(t, err)
			assert.Equal(t, tc.requeued, n)
			n, err = d.SignOff(t.Context(), op, "a")
			require.NoError(t, err, "the same delivered again")
			assert.Zero(t, n)
			assert.Equal(t, tc.slots, d.slots("a"))
			w.quiet(t)
		})
	}
}

// A session whose epoch is behind its slot, because a server lost the last write, is requeued like any other.
// No commit by the slot is possible afterwards.
func TestSignOffSessionBehindItsSlot(t *testing.T) {
	for _, quicker := range []bool{false, true} {
		w := newObservedStore()
		d := newFixture(t, w, "s")
		d.assign("s", "a")
		d.ok(d.agents.Confirm(t.Context(), "a", d.now, "s", 7))
		n, err := slow(w, 4, func() { // 1 offline, 2 the session, 3 the agent
			if quicker {
				d.edit("s", func(s *session.Session) error { return s.Requeue(domains.At(d.now), "a", "", "", "") })
			}
		}).SignOff(t.Context(), d.op(), "a")
		require.NoError(t, err)
		assert.Equal(t, quicker, n == 0)
		assert.Equal(t, session.Queued, d.get("s").Status)
		assert.Equal(t, uint64(8), d.get("s").Epoch)
		assert.Empty(t, d.slots("a"))
		assert.Empty(t, w.broken())
	}
}

// The same for an Assign: the slot is in the way until its time is over.
func TestAssignSessionBehindItsSlot(t *testing.T) {
	d := newFixture(t, newObservedStore(), "s")
	d.ok(d.agents.Reserve(t.Context(), "a", d.now, "s", 7, d.now, false))
	_, err := d.Assign(t.Context(), d.op(), "s", "a")
	require.ErrorIs(t, err, mcc.ErrMovedOn)
	d.now = d.now.Add(time.Millisecond)
	assert.Greater(t, d.assign("s", "a").Epoch, uint64(7))
	assert.Equal(t, []string{"s"}, d.slots("a"))
}

// A full agent is refused after one read of the agent. An agent full of overdue reservations has room, also if
// one of the sessions cannot be read.
func TestAssignToAFullAgent(t *testing.T) {
	w := newObservedStore()
	d := newFixture(t, w, "s", "t0", "t1", "t2")
	for i := range limit {
		d.assign(name2(i), "b")
	}
	counting := &crashing{Store: w}
	_, err := newService(counting).Assign(t.Context(), d.op(), "s", "b")
	require.ErrorIs(t, err, mcc.ErrFull)
	assert.LessOrEqual(t, counting.calls, 3)

	for i := range limit {
		d.ok(d.Requeue(t.Context(), d.op(), name2(i), desk.ToQueue{}))
		_, err := dying(w, theCommit).Assign(t.Context(), d.op(), name2(i), "a")
		require.ErrorIs(t, err, errDead)
	}
	_, err = d.Assign(t.Context(), d.op(), "s", "a")
	require.ErrorIs(t, err, mcc.ErrFull, "their patience is not over")
	d.now = d.now.Add(patience + time.Millisecond)
	around := newService(failing{w, "session:t1", true, func() error { return rmw.ErrUnavailable }})
	d.ok(around.Assign(t.Context(), d.op(), "s", "a"))
	assert.Equal(t, []string{"s", "t1"}, d.slots("a"))
	assert.Empty(t, w.broken())
}

// A session that is being opened is left alone for Patience. After that it is abandoned, and the late Open
// returns a refusal.
func TestOpenMeetsLateOpen(t *testing.T) {
	// Open: 1 the session, 2 the entry, 3 its reservation, 4 the session.
	const theCreation = 4
	for _, late := range []bool{false, true} {
		w := newObservedStore()
		d := newFixture(t, w)
		op := d.op()
		s, err := slow(w, theCreation, func() {
			if late {
				d.ok(d.Open(t.Context(), domains.NewOp(d.now.Add(patience+time.Millisecond)), "s2", queuedOf("v")))
				return
			}
			_, err := d.Open(t.Context(), d.op(), "s2", queuedOf("v"))
			require.ErrorIs(t, err, desk.ErrOpening)
		}).Open(t.Context(), op, "s1", queuedOf("v"))
		if !late {
			require.NoError(t, err)
			assert.Equal(t, "s1", s.ID)
			continue
		}
		require.ErrorIs(t, err, desk.ErrHasSession)
		assert.Equal(t, "s2", s.ID)
		assert.Equal(t, session.Abandoned, d.get("s1").CloseReason)
		d.ok(d.Close(t.Context(), d.op(), "s2", session.ByVisitor))
		_, err = d.Open(t.Context(), op, "s1", queuedOf("v"))
		require.ErrorIs(t, err, desk.ErrAbandoned)
		assert.Empty(t, w.broken())
	}
}

// The loser of a race for a session id does not get the other visitor's session.
func TestOpenAfterLostRace(t *testing.T) {
	w := newObservedStore()
	d := newFixture(t, w)
	_, err := slow(w, 3, func() { // after it has seen that the session does not exist
		d.ok(d.Open(t.Context(), d.op(), "s1", queuedOf("u")))
	}).Open(t.Context(), d.op(), "s1", queuedOf("w"))
	require.ErrorIs(t, err, session.ErrSessionExists)
	d.now = d.now.Add(time.Hour)
	s, err := d.Open(t.Context(), d.op(), "s2", queuedOf("w"))
	require.NoError(t, err)
	assert.Equal(t, "w", s.VisitorID)
	assert.Equal(t, "u", d.get("s1").VisitorID)
	assert.Empty(t, w.broken())
}

// A crashed process whose clock is ahead delays others for no longer than Patience.
func TestClockAheadDelaysNoOther(t *testing.T) {
	w := newObservedStore()
	d := newFixture(t, w, "s")
	ahead := domains.NewOp(d.now.AddDate(1, 0, 0))
	_, err := dying(w, theCommit).Assign(t.Context(), ahead, "s", "a")
	require.ErrorIs(t, err, errDead)
	found, err := d.Reap(t.Context(), d.now, "a")
	require.NoError(t, err)
	assert.Equal(t, desk.Reaped{Released: 1}, found)
	_, err = dying(w, 4).Open(t.Context(), ahead, "s1", queuedOf("v"))
	require.ErrorIs(t, err, errDead)
	d.ok(d.Open(t.Context(), d.op(), "s2", queuedOf("v")))
	assert.Empty(t, w.broken())
}

// The steps after a commit run also if the caller's ctx has ended, each with its own timeout. The failure of
// one is reported to Unfinished, the others run, and a Reap does the rest.
func TestStepsAfterCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newObservedStore()
		d := newFixture(t, w, "s", "t0")
		ctx, cancel := context.WithCancel(t.Context())
		s, err := slow(w, theConfirm, cancel).Assign(ctx, d.op(), "s", "a")
		require.NoError(t, err)
		assert.Equal(t, "a", s.AgentID)
		w.quiet(t)

		told := 0
		tell := func(ctx context.Context, sessionID string, err error) {
			told++
			assert.Equal(t, "s", sessionID)
			assert.ErrorIs(t, err, context.DeadlineExceeded)
			assert.NoError(t, ctx.Err(), "the callback's ctx has not ended")
		}
		store := hanging{w, "agent:b"}
		late := desk.New(session.New(store, session.Config{}), mcc.New(store, mcc.Config{Max: limit}), desk.Config{Unfinished: tell})
		op := d.op()
		d.ok(d.agents.Reserve(t.Context(), "b", d.now, "s", s.Epoch, d.now.Add(patience), false))
		d.ok(d.sessions.Edit(t.Context(), "s", op.As("Transfer"), func(s *session.Session) error {
			return s.Transfer(op.Time(), "b", s.Epoch, "", "")
		}))
		begun := time.Now()
		_, err = late.Transfer(t.Context(), op, "s", desk.TransferTo{AgentID: "b"})
		require.NoError(t, err, "it has happened")
		assert.Equal(t, desk.DefaultFinishTimeout, time.Since(begun))
		assert.Equal(t, 1, told)
		assert.Empty(t, d.slots("a"), "the other step was taken")
		found, err := d.Reap(t.Context(), d.now.Add(patience+time.Second), "b")
		require.NoError(t, err)
		assert.Equal(t, desk.Reaped{Confirmed: 1}, found)
	})
}

// hanging is a Store that never answers for one key.
type hanging struct {
	rmw.Store
	key string
}

func (s hanging) Update(ctx context.Context, key rmw.Key, fn rmw.UpdateFunc) (rmw.Result, error) {
	if key.Name == s.key {
		<-ctx.Done()
		return rmw.Result{}, ctx.Err()
	}
	return s.Store.Update(ctx, key, fn)
}

// A removed agent has no slots, and keeps no session.
func TestRemovedAgent(t *testing.T) {
	for name, do := range map[string]func(d fixture, s service) error{
		"assign": func(d fixture, s service) error { _, err := s.Assign(d.t.Context(), d.op(), "s", "a"); return err },
		"reap":   func(d fixture, s service) error { _, err := s.Reap(d.t.Context(), d.now, "a"); return err },
		"sign off": func(d fixture, s service) error {
			_, err := s.SignOff(d.t.Context(), d.op(), "a")
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newObservedStore()
			d, id := newFixture(t, w, "s"), "s"
			if name != "assign" {
				id = d.addSlots(map[kind]int{unconfirmed: 1})[unconfirmed][0]
			}
			require.NoError(t, do(d, slow(w, theCommit, func() { d.removed("a") }))) // or before the agent's update
			assert.Equal(t, session.Queued, d.get(id).Status)
			_, err := d.Close(t.Context(), d.op(), id, session.ByVisitor)
			require.NoError(t, err)
		})
	}
}

// Reap counts the stored slots: a slot that is reserved again during the Reap is Waiting.
func TestReapMeetsAReservation(t *testing.T) {
	w := newObservedStore()
	d := newFixture(t, w)
	ids := d.addSlots(map[kind]int{overdue: 2})[overdue]
	found, err := slow(w, 6, func() { // 1 the agent, 2 to 5 the sessions, read and fenced
		d.ok(d.agents.Reserve(t.Context(), "a", d.now, ids[0], d.get(ids[0]).Epoch, d.now.Add(patience), true))
	}).Reap(t.Context(), d.now, "a")
	require.NoError(t, err)
	assert.Equal(t, desk.Reaped{Waiting: 1, Released: 1}, found)
	assert.Equal(t, ids[:1], d.slots("a"))
	assert.Empty(t, w.broken())
}

// There is no epoch of a session that does not exist. So it is the slot itself that tells whether another
// process uses it by now.
func TestReapMeetsNewSession(t *testing.T) {
	w := newObservedStore()
	d := newFixture(t, w)
	d.ok(d.agents.Reserve(t.Context(), "a", d.now, "s", 0, d.now.Add(-time.Second), false))
	_, err := slow(w, 3, func() { // 1 the agent, 2 the session
		require.NoError(t, d.queue(t.Context(), d.now, "s"))
		d.ok(dying(w, theConfirm).Assign(t.Context(), d.op(), "s", "a"))
	}).Reap(t.Context(), d.now, "a")
	require.NoError(t, err)
	assert.Equal(t, []string{"s"}, d.slots("a"))
	assert.Empty(t, w.broken())
}
