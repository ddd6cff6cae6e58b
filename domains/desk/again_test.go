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

// Between what was decided of a slot and the update of the agent, much may happen. What
// follows is what may happen, call by call.

// What Reap says it has found is what is stored then: a slot that was taken anew waits.
func TestReapMeetsAReservation(t *testing.T) {
	w := newWorld()
	d := newDay(t, w)
	ids := d.crowd(map[kind]int{overdue: 2})[overdue]
	reaper := slow(w, 6, func() { // 1 the agent, 2 to 5 the sessions, read and fenced
		_, err := d.agents.Reserve(t.Context(), "a", d.now, ids[0], d.get(ids[0]).Epoch, d.now.Add(patience), true)
		require.NoError(t, err)
	})
	found, err := reaper.Reap(t.Context(), d.now, "a")
	require.NoError(t, err)
	assert.Equal(t, desk.Reaped{Waiting: 1, Released: 1}, found)
	assert.Equal(t, ids[:1], d.slots("a"))
	assert.Empty(t, w.verdict())
}

// There is no epoch of a session that does not exist. So it is the slot itself that tells
// whether somebody else is at it by now.
func TestReapMeetsASessionThatIsNew(t *testing.T) {
	w := newWorld()
	d := newDay(t, w)
	_, err := d.agents.Reserve(t.Context(), "a", d.now, "s", 0, d.now.Add(-time.Second), false)
	require.NoError(t, err)
	reaper := slow(w, 3, func() { // 1 the agent, 2 the session
		require.NoError(t, d.queue(t.Context(), d.now, "s"))
		_, err := newService(&mortal{Store: w, dieAt: theConfirm}).Assign(t.Context(), d.op(), "s", "a")
		require.NoError(t, err)
	})
	_, err = reaper.Reap(t.Context(), d.now, "a")
	require.NoError(t, err)
	assert.Equal(t, []string{"s"}, d.slots("a"))
	assert.Empty(t, w.verdict())
}

// Somebody else's fence raises the epoch of a session that the agent has. It is not a
// session that came later: the sign-off takes it.
func TestSignOffMeetsAFence(t *testing.T) {
	w := newWorld()
	d := newDay(t, w, "s")
	s := d.assign("s", "a")
	leaving := slow(w, 4, func() { // 1 offline, 2 the session, 3 the agent
		_, err := d.sessions.Fence(t.Context(), "s", d.now, s.Epoch)
		require.NoError(t, err)
	})
	n, err := leaving.SignOff(t.Context(), d.op(), "a")
	require.NoError(t, err)
	assert.Equal(t, 1, n)
	assert.Equal(t, session.Queued, d.get("s").Status)
	w.rest()
	assert.Empty(t, w.verdict())
}

// What an agent gets who has come back is not taken, also if it is what there was before.
func TestSignOffMeetsTheNextShift(t *testing.T) {
	w := newWorld()
	d := newDay(t, w, "s", "t0")
	d.assign("s", "a")
	leaving := slow(w, 4, func() { // 1 offline, 2 the session, 3 the agent
		_, err := d.agents.SetStatus(t.Context(), "a", d.op(), mcc.Online)
		require.NoError(t, err)
		_, err = d.Requeue(t.Context(), d.op(), "s", desk.ToQueue{})
		require.NoError(t, err)
		d.assign("s", "a")
		d.assign("t0", "a")
	})
	n, err := leaving.SignOff(t.Context(), d.op(), "a")
	require.NoError(t, err)
	assert.Zero(t, n)
	assert.Equal(t, []string{"s", "t0"}, d.slots("a"))
	w.rest()
	assert.Empty(t, w.verdict())
}

// An agent who is removed before the update has no slots, and keeps no session.
func TestAnAgentWhoIsRemovedMeanwhile(t *testing.T) {
	for name, do := range map[string]func(d day, s service) error{
		"reap": func(d day, s service) error {
			_, err := s.Reap(d.t.Context(), d.now, "a")
			return err
		},
		"sign off": func(d day, s service) error {
			_, err := s.SignOff(d.t.Context(), d.op(), "a")
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			d := newDay(t, w)
			s := d.crowd(map[kind]int{unconfirmed: 1})[unconfirmed][0]
			require.NoError(t, do(d, slow(w, 3, func() { // 1 the agent, 2 the session
				_, err := w.Update(t.Context(), rmw.Key{Name: "agent:a"}, func(context.Context, rmw.Value) (rmw.Value, error) {
					return rmw.Value{}, nil
				})
				require.NoError(t, err)
			})))
			assert.Equal(t, session.Queued, d.get(s).Status)
		})
	}
}

// One session that cannot be read does not keep an agent full of leftovers.
func TestAFullAgentIsClearedAroundAFailure(t *testing.T) {
	w := newWorld()
	d := newDay(t, w, "s", "t0", "t1", "t2")
	for i := range limit {
		_, err := newService(&mortal{Store: w, dieAt: theCommit}).Assign(t.Context(), d.op(), name2(i), "a")
		require.ErrorIs(t, err, errDead)
	}
	d.now = d.now.Add(patience + time.Millisecond)
	assigning := newService(failing{w, "session:t1", true, func() error { return rmw.ErrUnavailable }})
	_, err := assigning.Assign(t.Context(), d.op(), "s", "a")
	require.NoError(t, err)
	assert.Equal(t, []string{"s", "t1"}, d.slots("a"))
	assert.Empty(t, w.verdict())
}

// A session that fell behind its slot, since a server lost what was last written, is
// taken like any; and whoever it goes to, the slot is one by which nobody can come.
func TestSignOffOfASessionThatFellBehind(t *testing.T) {
	for name, quicker := range map[string]bool{"theirs": false, "somebody was quicker": true} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			d := newDay(t, w, "s")
			d.assign("s", "a")
			_, err := d.agents.Confirm(t.Context(), "a", d.now, "s", 7)
			require.NoError(t, err)
			leaving := slow(w, 4, func() { // 1 offline, 2 the session, 3 the agent
				if quicker {
					d.edit("s", func(s *session.Session) error { return s.Requeue(domains.At(d.now), "a", "", "", "") })
				}
			})
			n, err := leaving.SignOff(t.Context(), d.op(), "a")
			require.NoError(t, err)
			assert.Equal(t, quicker, n == 0)
			assert.Equal(t, session.Queued, d.get("s").Status)
			assert.Equal(t, uint64(8), d.get("s").Epoch)
			assert.Empty(t, d.slots("a"))
			assert.Empty(t, w.verdict())
		})
	}
}
