package desk_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/domains/desk"
	"github.com/unwatch/unwatch/domains/mcc"
	"github.com/unwatch/unwatch/domains/session"
	"github.com/unwatch/unwatch/rmw"
)

// What an Assign does, call by call.
const (
	theReservation = 2
	theCommit      = 3
	theConfirm     = 4
)

// Who clears up leaves a reservation alone for a while; after that, the epoch stops
// whoever comes late, and the Assign starts again.
func TestReapAgainstALateAssign(t *testing.T) {
	for name, tc := range map[string]struct {
		after time.Duration
		found desk.Reaped
	}{
		"in time": {patience, desk.Reaped{Waiting: 1}},
		"late":    {patience + time.Millisecond, desk.Reaped{Released: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			d := newDay(t, w, "s")
			late := slow(w, theCommit, func() {
				found, err := d.Reap(t.Context(), d.now.Add(tc.after), "a")
				require.NoError(t, err)
				assert.Equal(t, tc.found, found)
			})
			s, err := late.Assign(t.Context(), d.op(), "s", "a")
			require.NoError(t, err)
			assert.Equal(t, "a", s.AgentID)
			w.rest()
			assert.Empty(t, w.verdict())
		})
	}
}

// Who loses a race for a session keeps no slot for it.
func TestLosersKeepNoSlot(t *testing.T) {
	w := newWorld()
	d := newDay(t, w, "s")
	loser := slow(w, theCommit, func() { d.assign("s", "b") })
	_, err := loser.Assign(t.Context(), d.op(), "s", "a")
	require.ErrorIs(t, err, session.ErrNotNow)
	assert.Empty(t, d.slots("a"))
	assert.Equal(t, []string{"s"}, d.slots("b"))
}

// A session that is being opened is left alone for a while; after that, it never will
// be open.
func TestOpenAgainstALateOpen(t *testing.T) {
	// Open: 1 the session, 2 the entry, 3 its reservation, 4 the session.
	const theCreation = 4
	queued := session.Session{VisitorID: "v", Status: session.Queued}
	t.Run("in time", func(t *testing.T) {
		w := newWorld()
		d := newDay(t, w)
		late := slow(w, theCreation, func() {
			_, err := d.Open(t.Context(), d.op(), "s2", queued)
			require.ErrorIs(t, err, desk.ErrOpening)
		})
		s, err := late.Open(t.Context(), d.op(), "s1", queued)
		require.NoError(t, err)
		assert.Equal(t, "s1", s.ID)
		assert.Empty(t, w.verdict())
	})
	t.Run("late", func(t *testing.T) {
		w := newWorld()
		d := newDay(t, w)
		late := slow(w, theCreation, func() {
			op := domains.NewOp(d.now.Add(patience + time.Millisecond))
			_, err := d.Open(t.Context(), op, "s2", queued)
			require.NoError(t, err)
		})
		s, err := late.Open(t.Context(), d.op(), "s1", queued)
		require.ErrorIs(t, err, desk.ErrHasSession)
		assert.Equal(t, "s2", s.ID)
		assert.Equal(t, session.Abandoned, d.get("s1").CloseReason)
		assert.Empty(t, w.verdict())
	})
}

// What is decided is finished, also if the caller does not wait for it; and if it
// cannot be, the service hears of it.
func TestFinish(t *testing.T) {
	t.Run("the caller has gone", func(t *testing.T) {
		w := newWorld()
		d := newDay(t, w, "s")
		ctx, cancel := context.WithCancel(t.Context())
		s, err := slow(w, theConfirm, cancel).Assign(ctx, d.op(), "s", "a")
		require.NoError(t, err)
		assert.Equal(t, "a", s.AgentID)
		w.rest()
		assert.Empty(t, w.verdict())
	})
	t.Run("the store has gone", func(t *testing.T) {
		w := newWorld()
		d := newDay(t, w, "s")
		store := &mortal{Store: w, dieAt: theConfirm}
		var told []error
		late := desk.New(session.New(store, session.Config{}), mcc.New(store, mcc.Config{Max: limit}), desk.Config{
			Unfinished: func(_ context.Context, sessionID string, err error) {
				assert.Equal(t, "s", sessionID)
				told = append(told, err)
			},
		})
		s, err := late.Assign(t.Context(), d.op(), "s", "a")
		require.NoError(t, err, "it has happened")
		assert.Equal(t, "a", s.AgentID)
		require.Len(t, told, 1)
		assert.ErrorIs(t, told[0], errDead)
		found, err := d.Reap(t.Context(), d.now.Add(desk.DefaultPatience+time.Second), "a")
		require.NoError(t, err)
		assert.Equal(t, desk.Reaped{Confirmed: 1}, found)
	})
}

// Others may be quicker again and again; then an Assign gives up, and says why.
func TestAssignGivesUp(t *testing.T) {
	w := newWorld()
	d := newDay(t, w, "s")
	var restless rmw.Store = always{w, func() {
		s := d.get("s")
		_, err := d.sessions.Fence(t.Context(), "s", d.now, s.Epoch)
		require.NoError(t, err)
	}}
	_, err := newService(restless).Assign(t.Context(), d.op(), "s", "a")
	require.ErrorIs(t, err, session.ErrMovedOn)
	assert.Empty(t, d.slots("a"))
}

// always is a Store before each of whose updates something happens.
type always struct {
	rmw.Store
	by func()
}

func (s always) Update(ctx context.Context, key rmw.Key, fn rmw.UpdateFunc) (rmw.Result, error) {
	s.by()
	return s.Store.Update(ctx, key, fn)
}

// A session whose slot says a later epoch than it has: a server lost the session's last
// write, or somebody has made it anew. That heals, too.
func TestASessionThatFellBehind(t *testing.T) {
	w := newWorld()
	d := newDay(t, w, "s")
	_, err := d.agents.Reserve(t.Context(), "a", d.now, "s", 7, d.now, false)
	require.NoError(t, err)
	_, err = d.Assign(t.Context(), d.op(), "s", "a")
	require.ErrorIs(t, err, mcc.ErrMovedOn, "its patience is not over")
	d.now = d.now.Add(time.Millisecond)
	s := d.assign("s", "a")
	assert.Greater(t, s.Epoch, uint64(7))
	assert.Equal(t, []string{"s"}, d.slots("a"))
}
