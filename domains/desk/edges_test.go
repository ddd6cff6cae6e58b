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

// The agent may also come back while the sign-off is under way.
func TestSignOffMeetsTheReturn(t *testing.T) {
	w := newWorld()
	d := newDay(t, w, "s")
	d.assign("s", "a")
	// SignOff: 1 offline, 2 the session, 3 the agent.
	signing := slow(w, 3, func() {
		_, err := d.agents.SetStatus(t.Context(), "a", d.op(), mcc.Online)
		require.NoError(t, err)
	})
	n, err := signing.SignOff(t.Context(), d.op(), "a")
	require.NoError(t, err)
	assert.Zero(t, n)
	assert.Equal(t, "a", d.get("s").AgentID)
	assert.Empty(t, w.verdict())
}

// Nobody has a session who does not exist.
func TestAssignToSomebodyWhoGoes(t *testing.T) {
	w := newWorld()
	d := newDay(t, w, "s")
	late := slow(w, theCommit, func() {
		_, err := w.Update(t.Context(), rmw.Key{Name: "agent:a"}, func(context.Context, rmw.Value) (rmw.Value, error) {
			return rmw.Value{}, nil
		})
		require.NoError(t, err)
	})
	_, err := late.Assign(t.Context(), d.op(), "s", "a")
	require.NoError(t, err)
	assert.Equal(t, session.Queued, d.get("s").Status, "it went back")
}

// A process whose clock is ahead, and dies, keeps others waiting for as long as any.
func TestAClockThatIsAhead(t *testing.T) {
	w := newWorld()
	d := newDay(t, w, "s")
	ahead := domains.NewOp(d.now.AddDate(1, 0, 0))
	_, err := newService(&mortal{Store: w, dieAt: theCommit}).Assign(t.Context(), ahead, "s", "a")
	require.ErrorIs(t, err, errDead)
	found, err := d.Reap(t.Context(), d.now, "a")
	require.NoError(t, err)
	assert.Equal(t, desk.Reaped{Released: 1}, found)

	// Open: 1 the session, 2 the entry, 3 its reservation, 4 the session.
	queued := session.Session{VisitorID: "v", Status: session.Queued}
	_, err = newService(&mortal{Store: w, dieAt: 4}).Open(t.Context(), ahead, "s1", queued)
	require.ErrorIs(t, err, errDead)
	_, err = d.Open(t.Context(), d.op(), "s2", queued)
	require.NoError(t, err)
	assert.Empty(t, w.verdict())
}

// What cannot be opened keeps nobody from opening another.
func TestOpenWithUnusableInfo(t *testing.T) {
	d, ctx := newDay(t, newWorld()), t.Context()
	for _, info := range []session.Session{
		{VisitorID: "v"},
		{VisitorID: "v", Status: session.Active},
		{VisitorID: "v", Status: session.Queued, TenantID: "\xff"},
	} {
		_, err := d.Open(ctx, d.op(), "s1", info)
		require.ErrorIs(t, err, rmw.ErrInvalid)
	}
	_, err := d.Open(ctx, d.op(), "s2", session.Session{VisitorID: "v", Status: session.Queued})
	require.NoError(t, err)
}

// Who loses a race for the id of a session is not given somebody else's.
func TestOpenAfterALostRace(t *testing.T) {
	w := newWorld()
	d := newDay(t, w)
	info := func(visitor string) session.Session {
		return session.Session{VisitorID: visitor, Status: session.Queued}
	}
	loser := slow(w, 3, func() { // after it has seen that the session does not exist
		_, err := d.Open(t.Context(), d.op(), "s1", info("u"))
		require.NoError(t, err)
	})
	_, err := loser.Open(t.Context(), d.op(), "s1", info("w"))
	require.ErrorIs(t, err, session.ErrSessionExists)
	d.now = d.now.Add(time.Hour)
	s, err := d.Open(t.Context(), d.op(), "s2", info("w"))
	require.NoError(t, err)
	assert.Equal(t, "w", s.VisitorID)
	assert.Equal(t, "u", d.get("s1").VisitorID)
	assert.Empty(t, w.verdict())
}

// An Open that was given up says so, instead of what looks as if it had happened.
func TestOpenThatWasGivenUp(t *testing.T) {
	w := newWorld()
	d := newDay(t, w)
	queued := session.Session{VisitorID: "v", Status: session.Queued}
	op := d.op()
	_, err := newService(&mortal{Store: w, dieAt: 4}).Open(t.Context(), op, "s1", queued)
	require.ErrorIs(t, err, errDead)
	d.now = d.now.Add(patience + time.Second)
	_, err = d.Open(t.Context(), d.op(), "s2", queued)
	require.NoError(t, err)
	_, err = d.Close(t.Context(), d.op(), "s2", session.ByVisitor)
	require.NoError(t, err)
	_, err = d.Open(t.Context(), op, "s1", queued)
	require.ErrorIs(t, err, desk.ErrAbandoned)
}

// Each step that is left has its own time, and who is told of a failure has some, too.
func TestFinishOneByOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		d := newDay(t, w, "s")
		d.assign("s", "a")
		store := hanging{w, "agent:b"}
		told := 0
		late := desk.New(session.New(store, session.Config{}), mcc.New(store, mcc.Config{Max: limit}), desk.Config{
			Unfinished: func(ctx context.Context, _ string, err error) {
				told++
				assert.ErrorIs(t, err, context.DeadlineExceeded)
				assert.NoError(t, ctx.Err())
			},
		})
		_, err := d.agents.Reserve(t.Context(), "b", d.now, "s", d.get("s").Epoch, d.now.Add(patience), false)
		require.NoError(t, err)
		op := d.op()
		_, err = d.sessions.Edit(t.Context(), "s", op.As("Transfer"), func(s *session.Session) error {
			return s.Transfer(op.Time(), "b", s.Epoch, "", "")
		})
		require.NoError(t, err)
		_, err = late.Transfer(t.Context(), op, "s", desk.TransferTo{AgentID: "b"})
		require.NoError(t, err, "it has happened")
		assert.Equal(t, 1, told)
		assert.Empty(t, d.slots("a"), "the other step was taken")
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

// A refusal for want of room costs a look at the agent, not at all that the agent has.
func TestAFullAgentIsRefusedQuickly(t *testing.T) {
	w := newWorld()
	d := newDay(t, w, "s", "t0", "t1", "t2")
	for i := range limit {
		d.assign(name2(i), "a")
	}
	counting := &mortal{Store: w}
	_, err := newService(counting).Assign(t.Context(), d.op(), "s", "a")
	require.ErrorIs(t, err, mcc.ErrFull)
	assert.LessOrEqual(t, counting.calls, 3)
}
