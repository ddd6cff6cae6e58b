package desk_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
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

// The tests below pin the results and the costs of operations on many slots. TestCrash and TestInterruptedAtEveryStep
// show that none of them breaks a rule.

// kind is how a slot and its session stand to each other.
type kind int

const (
	sound       kind = iota
	waiting          // reserved, and a commit may come
	unconfirmed      // the session has come, and the slot does not say so
	gone             // the session came, and has left
	overdue          // the session never came, and still might
	missing          // there is no session
)

// addSlots gives agent a slots of each kind, as crashes leave them, and returns the sessions' ids by kind. Slots are
// forced, for there are more than the limit permits.
func (d fixture) addSlots(want map[kind]int) map[kind][]string {
	d.t.Helper()
	ctx, now := d.t.Context(), domains.At(d.now)
	ids, slots := map[kind][]string{}, map[string]mcc.Slot{}
	for k, n := range want {
		for i := range n {
			id := fmt.Sprintf("c%d-%d", k, i)
			ids[k] = append(ids[k], id)
			slot := mcc.Slot{Epoch: 1, State: mcc.Held, Since: now, Forced: true}
			switch k {
			case waiting:
				slot = mcc.Slot{State: mcc.Reserved, Since: now, Until: now.Add(patience), Forced: true}
			case unconfirmed, overdue:
				slot = mcc.Slot{State: mcc.Reserved, Since: now, Until: now.Add(-time.Second), Forced: true}
			}
			slots[id] = slot
			if k != missing {
				d.ok(d.sessions.Create(ctx, id, d.op(), queuedOf("")))
			}
			if k == sound || k == unconfirmed || k == gone {
				require.NoError(d.t, d.commit(ctx, d.now, id, func(s *session.Session) error { return s.Assign(now, "a", s.Epoch) }))
			}
			if k == gone {
				require.NoError(d.t, d.commit(ctx, d.now, id, func(s *session.Session) error { return s.Requeue(now, "a", "", "", "") }))
			}
		}
	}
	d.ok(d.agents.Edit(ctx, "a", d.op(), func(a *mcc.Agent) error {
		a.Slots = maps.Clone(slots)
		return nil
	}))
	clear(d.store.(*observedStore).violations) // of sessions that came before their slots
	return ids
}

// counted returns another process, and the counts of its calls.
func counted(store rmw.Store) (service, map[string]int) {
	calls := map[string]int{}
	return around(store, func(_ context.Context, c call, run func() error) error {
		kind, _, _ := strings.Cut(c.key, ":")
		calls[map[bool]string{false: "read ", true: "update "}[c.update]+kind]++
		return run()
	}), calls
}

// reaps runs a Reap of agent a, which succeeds.
func (d fixture) reaps(s service, after time.Duration, want desk.Reaped) {
	d.t.Helper()
	found, err := s.Reap(d.t.Context(), d.now.Add(after), "a")
	require.NoError(d.t, err)
	assert.Equal(d.t, want, found)
}

// signsOff runs a SignOff of agent a, which succeeds and requeues that many sessions.
func (d fixture) signsOff(s service, op domains.Op, requeued int) {
	d.t.Helper()
	n, err := s.SignOff(d.t.Context(), op, "a")
	require.NoError(d.t, err)
	assert.Equal(d.t, requeued, n)
}

// However many slots are wrong, a Reap reads the agent once and updates it once, or not at all. It reads each session
// once, and updates those whose epoch has to be raised. An Assign to a full agent reads no session of a held slot. A
// SignOff updates the agent to be offline, and for all slots.
func TestCosts(t *testing.T) {
	w := newObservedStore()
	d := newFixture(t, w)
	ids := d.addSlots(map[kind]int{sound: 90, waiting: 10, unconfirmed: 20, gone: 20, overdue: 20, missing: 20})
	s, calls := counted(w)
	d.reaps(s, 0, desk.Reaped{Sound: 90, Waiting: 10, Confirmed: 20, Released: 60})
	assert.Equal(t, map[string]int{"read agent": 1, "read session": 170, "update agent": 1, "update session": 20}, calls)

	clear(calls)
	d.reaps(s, 0, desk.Reaped{Sound: 110, Waiting: 10})
	assert.Equal(t, map[string]int{"read agent": 1, "read session": 110}, calls)

	clear(calls)
	d.signsOff(s, d.op(), 110)
	assert.Equal(t, map[string]int{"read agent": 1, "update agent": 2, "read session": 120, "update session": 120}, calls)
	assert.Empty(t, d.slots("a"))
	for _, id := range slices.Concat(ids[sound], ids[unconfirmed]) {
		require.Equal(t, session.Queued, d.get(id).Status)
	}

	d.fill("b")
	clear(calls)
	require.ErrorIs(t, errOf(s.Assign(t.Context(), d.op(), ids[sound][0], "b")), mcc.ErrFull)
	assert.Equal(t, map[string]int{"read session": 1, "update agent": 1, "read agent": 1}, calls)
	w.quiet(t)
}

// A reservation is left alone for Patience. A fence raises the epoch of a session that an agent has: the next Reap
// raises the epoch of the slot, and counts it as confirmed. A slot that is reserved again during the Reap is waiting.
func TestReaped(t *testing.T) {
	w := newObservedStore()
	d := newFixture(t, w, "s", "t")
	require.Error(t, errOf(dying(w, theCommit, false).Assign(t.Context(), d.op(), "s", "a")))
	d.reaps(d.service, patience, desk.Reaped{Waiting: 1})
	d.reaps(d.service, patience+time.Millisecond, desk.Reaped{Released: 1})

	d.assign("t", "a")
	require.NoError(t, d.fence(t.Context(), d.now, "t"))
	d.reaps(d.service, 0, desk.Reaped{Confirmed: 1})
	assert.Equal(t, d.get("t").Epoch, w.agents["a"].Slots["t"].Epoch)
	d.reaps(d.service, 0, desk.Reaped{Sound: 1})
	w.quiet(t)

	ids := d.addSlots(map[kind]int{overdue: 2})[overdue]
	d.reaps(interrupted(w, 6, false, func() { // 1 the agent, 2 to 5 the sessions, read and fenced
		d.ok(d.agents.Reserve(t.Context(), "a", d.now, ids[0], d.get(ids[0]).Epoch, d.now.Add(patience), true))
	}), 0, desk.Reaped{Waiting: 1, Released: 1})
	assert.Equal(t, ids[:1], d.slots("a"))
}

// SignOff requeues the sessions that the agent has when it begins, unless the agent comes online again, and counts
// those that it has requeued itself.
func TestSignOffMeetsOtherOperations(t *testing.T) {
	online := func(d fixture) { d.ok(d.agents.SetStatus(d.t.Context(), "a", d.op(), mcc.Online)) }
	requeue := func(d fixture) { // without a Release of the slot
		require.NoError(d.t, d.commit(d.t.Context(), d.now, "s", func(s *session.Session) error {
			return s.Requeue(domains.At(d.now), "a", "", "", "")
		}))
	}
	transfer := func(d fixture) { d.ok(d.Transfer(d.t.Context(), d.op(), "s", desk.TransferTo{AgentID: "b"})) }
	for name, tc := range map[string]struct {
		n        int  // SignOff: 1 offline, 2 the session, 3 the agent, 4 the session, 5 the agent
		within   bool // the n-th update: 1 offline, 2 the session
		behind   bool // a server lost the last write of the session
		by       func(d fixture)
		requeued int
		slots    []string // of the agent
	}{
		"the return": {3, false, false, online, 0, []string{"s"}},
		"a fence, which is no later session": {4, false, false, func(d fixture) {
			require.NoError(d.t, d.fence(d.t.Context(), d.now, "s"))
		}, 1, nil},
		"the agent comes back, and gets the same session again and another": {4, false, false, func(d fixture) {
			online(d)
			d.ok(d.Requeue(d.t.Context(), d.op(), "s", desk.ToQueue{}))
			d.assign("s", "a")
			d.assign("t0", "a")
		}, 0, []string{"s", "t0"}},
		"a transfer":                          {4, false, false, transfer, 0, nil},
		"a transfer in its update":            {2, true, false, transfer, 0, nil},
		"a session behind its slot":           {4, false, true, func(fixture) {}, 1, nil},
		"a session behind its slot, requeued": {4, false, true, requeue, 0, nil},
	} {
		t.Run(name, func(t *testing.T) {
			w := newObservedStore()
			d := newFixture(t, w, "s", "t0")
			epoch := d.assign("s", "a").Epoch
			if tc.behind {
				epoch += 7
				d.ok(d.agents.Confirm(t.Context(), "a", d.now, "s", epoch))
			}
			op := d.op()
			d.signsOff(interrupted(w, tc.n, tc.within, func() { tc.by(d) }), op, tc.requeued)
			s, calls := counted(w)
			d.signsOff(s, op, 0) // the same delivered again
			assert.Equal(t, map[string]int{"update agent": 1}, calls)
			assert.Equal(t, tc.slots, d.slots("a"))
			if tc.slots == nil {
				assert.Greater(t, d.get("s").Epoch, epoch, "no commit by the slot is possible")
			}
			w.quiet(t)
		})
	}
}

// A removed agent has no slots, and keeps no session.
func TestRemovedAgent(t *testing.T) {
	for name, do := range map[string]func(s service, at time.Time) error{
		"assign":   func(s service, at time.Time) error { return given(t.Context(), s, at) },
		"reap":     func(s service, at time.Time) error { return errOf(s.Reap(t.Context(), at, "a")) },
		"sign off": func(s service, at time.Time) error { return errOf(s.SignOff(t.Context(), domains.NewOp(at), "a")) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newObservedStore()
			d, id := newFixture(t, w, "s"), "s"
			if name != "assign" {
				id = d.addSlots(map[kind]int{unconfirmed: 1})[unconfirmed][0]
			}
			// before the commit, or before the agent's update
			require.NoError(t, do(interrupted(w, theCommit, false, func() { require.NoError(t, d.remove(t.Context(), "agent:a")) }), d.now))
			assert.Equal(t, session.Queued, d.get(id).Status)
			d.ok(d.Close(t.Context(), d.op(), id, session.ByVisitor))
		})
	}
}

// A Reap of an agent that is removed meanwhile requeues the agent's sessions. It skips a session that is gone, and names one
// that fails.
func TestSessionsOfRemovedAgent(t *testing.T) {
	w := newObservedStore()
	d := newFixture(t, w)
	ids := d.addSlots(map[kind]int{unconfirmed: 3})[unconfirmed]
	s := around(w, func(ctx context.Context, c call, run func() error) error {
		if c.n == 5 { // Reap: 1 the agent, 2 to 4 the sessions, 5 the agent
			require.NoError(t, d.remove(ctx, "agent:a"))
			require.NoError(t, d.remove(ctx, "session:"+ids[0]))
		}
		if c.update && c.key == "session:"+ids[1] {
			return rmw.ErrUnavailable
		}
		return run()
	})
	err := errOf(s.Reap(t.Context(), d.now, "a"))
	require.ErrorIs(t, err, rmw.ErrUnavailable)
	assert.ErrorContains(t, err, ids[1])
	assert.Equal(t, 1, strings.Count(err.Error(), "session"), "no other is named: %v", err)
	assert.Equal(t, session.Queued, d.get(ids[2]).Status)
}

// A session that cannot be read or fenced is named in the error, and the other slots are settled. Another Reap, or the
// same SignOff sent again, does the rest. An Assign takes the place of a slot that was released.
func TestContinueAfterFailure(t *testing.T) {
	for _, reads := range []bool{true, false} {
		w := newObservedStore()
		d := newFixture(t, w)
		ids := d.addSlots(map[kind]int{sound: 3, unconfirmed: 2, gone: 2, overdue: 3})
		bad := ids[overdue][1]
		found, err := failing(w, "session:"+bad, reads, unavailable).Reap(t.Context(), d.now, "a")
		require.ErrorIs(t, err, rmw.ErrUnavailable)
		assert.ErrorContains(t, err, bad)
		assert.Equal(t, 1, strings.Count(err.Error(), "session"), "no other is named: %v", err)
		assert.Equal(t, desk.Reaped{Sound: 3, Confirmed: 2, Released: 4}, found)
		kept := slices.Sorted(slices.Values(slices.Concat(ids[sound], ids[unconfirmed], []string{bad})))
		assert.Equal(t, kept, d.slots("a"))
		d.reaps(d.service, 0, desk.Reaped{Sound: 5, Released: 1})

		op, bad := d.op(), ids[sound][2]
		n, err := failing(w, "session:"+bad, reads, unavailable).SignOff(t.Context(), op, "a")
		require.ErrorIs(t, err, rmw.ErrUnavailable)
		assert.ErrorContains(t, err, bad)
		assert.Equal(t, 4, n)
		assert.Equal(t, []string{bad}, d.slots("a"))
		d.signsOff(d.service, op, 1)
		w.quiet(t)
	}
	w := newObservedStore()
	d := newFixture(t, w, "s", "t0", "t1", "t2")
	require.NoError(t, reserved(0, "t0", "t1", "t2")(t.Context(), d.service, d.now))
	d.now = d.now.Add(time.Millisecond)
	d.ok(failing(w, "session:t1", true, unavailable).Assign(t.Context(), d.op(), "s", "a"))
	assert.Equal(t, []string{"s", "t1"}, d.slots("a"))
	assert.Empty(t, w.broken())
}

// After the end of ctx no further session is read, and the decisions are written.
func TestCtxEnds(t *testing.T) {
	for before, left := range map[int]int{5: 7, 12: 0} { // Reap: 1 the agent, 2 to 11 the sessions, 12 the agent
		w := newObservedStore()
		d := newFixture(t, w)
		d.addSlots(map[kind]int{gone: 10})
		ctx, cancel := context.WithCancel(t.Context())
		found, err := interrupted(w, before, false, cancel).Reap(ctx, d.now, "a")
		if left > 0 {
			require.ErrorIs(t, err, context.Canceled)
			assert.ErrorContains(t, err, "5 others are left")
			assert.Contains(t, err.Error(), `session "c3-`)
		} else {
			require.NoError(t, err, "nothing was left to do")
		}
		assert.Equal(t, desk.Reaped{Released: 10 - left}, found)
		assert.Len(t, d.slots("a"), left)
	}
	w := newObservedStore()
	d := newFixture(t, w)
	ids := d.addSlots(map[kind]int{sound: 10})
	ctx, cancel := context.WithCancel(t.Context())
	op := d.op()
	// SignOff: 1 offline, 2 to 11 the sessions, 12 the agent, 13 to 22 the sessions.
	n, err := interrupted(w, 16, false, cancel).SignOff(ctx, op, "a")
	require.ErrorIs(t, err, context.Canceled)
	assert.Equal(t, 3, n)
	slots := d.slots("a")
	assert.Len(t, slots, 7)
	for _, id := range ids[sound] {
		assert.Equal(t, slices.Contains(slots, id), d.get(id).AgentID == "a", id)
	}
	d.signsOff(d.service, op, 7)
	w.quiet(t)
}

// After the end of ctx, the last update has FinishTimeout. Slots that were not written are not counted.
func TestReapTimesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newObservedStore()
		d := newFixture(t, w)
		d.addSlots(map[kind]int{gone: 3})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		begun := time.Now()
		found, err := failing(w, "agent:a", false, hang).Reap(ctx, d.now, "a")
		assert.Equal(t, time.Minute+desk.DefaultFinishTimeout, time.Since(begun))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.ErrorContains(t, err, "settling 3 slots")
		assert.Zero(t, found)
		assert.Len(t, d.slots("a"), 3)
	})
}
