package desk_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
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

// callCounter is a Store that counts its calls by kind and entity.
type callCounter struct {
	rmw.Store
	mu    sync.Mutex
	calls map[string]int
}

func (l *callCounter) enter(call string, key rmw.Key) {
	l.mu.Lock()
	defer l.mu.Unlock()
	kind, _, _ := strings.Cut(key.Name, ":")
	l.calls[call+" "+kind]++
}

func (l *callCounter) Read(ctx context.Context, key rmw.Key) (rmw.Value, error) {
	l.enter("read", key)
	return l.Store.Read(ctx, key)
}

func (l *callCounter) Update(ctx context.Context, key rmw.Key, fn rmw.UpdateFunc) (rmw.Result, error) {
	l.enter("update", key)
	return l.Store.Update(ctx, key, fn)
}

// counted returns another process, and the counts of its calls.
func counted(w *observedStore) (service, map[string]int) {
	l := &callCounter{Store: w, calls: map[string]int{}}
	return newService(l), l.calls
}

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

// addSlots gives agent a a slot of each kind, as often as it says, and returns the sessions' ids by kind. Crashes
// have left them so. Slots are forced, for there are more than the limit permits.
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
		}
	}
	_, err := d.agents.Edit(ctx, "a", d.op(), func(a *mcc.Agent) error {
		if a.Slots == nil {
			a.Slots = map[string]mcc.Slot{}
		}
		maps.Copy(a.Slots, slots)
		return nil
	})
	require.NoError(d.t, err)
	for k, all := range ids {
		for _, id := range all {
			if k != missing {
				_, err := d.sessions.Create(ctx, id, d.op(), session.Session{Status: session.Queued})
				require.NoError(d.t, err)
			}
			if k == sound || k == unconfirmed || k == gone {
				d.edit(id, func(s *session.Session) error { return s.Assign(now, "a", s.Epoch) })
			}
			if k == gone {
				d.edit(id, func(s *session.Session) error { return s.Requeue(now, "a", "", "", "") })
			}
		}
	}
	return ids
}

// edit changes a session, and nothing else.
func (d fixture) edit(sessionID string, change func(*session.Session) error) {
	d.t.Helper()
	_, err := d.sessions.Edit(d.t.Context(), sessionID, d.op(), change)
	require.NoError(d.t, err)
}

// However many slots are wrong, the agent is read once and written once; each session is read once, and written
// if the epoch has to be raised.
func TestReapCost(t *testing.T) {
	for _, k := range []int{0, 100} {
		t.Run(fmt.Sprint(4*k, " of 500"), func(t *testing.T) {
			w := newObservedStore()
			d := newFixture(t, w)
			d.addSlots(map[kind]int{sound: 490 - 4*k, waiting: 10, unconfirmed: k, gone: k, overdue: k, missing: k})
			reaper, calls := counted(w)
			found, err := reaper.Reap(t.Context(), d.now, "a")
			require.NoError(t, err)
			assert.Equal(t, desk.Reaped{Sound: 490 - 4*k, Waiting: 10, Confirmed: k, Released: 3 * k}, found)
			want := map[string]int{"read agent": 1, "read session": 490}
			if k > 0 {
				want["update agent"], want["update session"] = 1, k
			}
			assert.Equal(t, want, calls)
			assert.Len(t, d.slots("a"), 500-3*k)

			clear(calls)
			found, err = reaper.Reap(t.Context(), d.now, "a")
			require.NoError(t, err)
			assert.Equal(t, desk.Reaped{Sound: 490 - 3*k, Waiting: 10}, found)
			assert.Equal(t, map[string]int{"read agent": 1, "read session": 500 - 3*k - 10}, calls)
			assert.Empty(t, w.broken())
		})
	}
}

// A sign-off writes the agent twice: to be offline, and for all slots; and each session once that the agent
// has, or could still get.
func TestSignOffCost(t *testing.T) {
	w := newObservedStore()
	d := newFixture(t, w)
	ids := d.addSlots(map[kind]int{sound: 400, waiting: 20, unconfirmed: 20, gone: 20, overdue: 20, missing: 20})
	leaving, calls := counted(w)
	n, err := leaving.SignOff(t.Context(), d.op(), "a")
	require.NoError(t, err)
	assert.Equal(t, 420, n)
	assert.Equal(t, map[string]int{"read agent": 1, "update agent": 2, "read session": 500, "update session": 460}, calls)
	assert.Empty(t, d.slots("a"))
	for _, id := range slices.Concat(ids[sound], ids[unconfirmed]) {
		require.Equal(t, session.Queued, d.get(id).Status)
	}
	w.quiet(t)
}

// failing is a Store that has trouble with one key.
type failing struct {
	rmw.Store
	key    string
	reads  bool // or only updates
	happen func() error
}

func (f failing) Read(ctx context.Context, key rmw.Key) (rmw.Value, error) {
	if f.reads && key.Name == f.key {
		if err := f.happen(); err != nil {
			return rmw.Value{}, err
		}
	}
	return f.Store.Read(ctx, key)
}

func (f failing) Update(ctx context.Context, key rmw.Key, fn rmw.UpdateFunc) (rmw.Result, error) {
	if key.Name == f.key {
		if err := f.happen(); err != nil {
			return rmw.Result{}, err
		}
	}
	return f.Store.Update(ctx, key, fn)
}

// A fence raises the epoch of a session that an agent has. The next Reap raises the epoch of the agent's slot,
// and counts the slot as confirmed; the one after that finds it sound.
func TestReapRaisesTheEpochOfAHeldSlot(t *testing.T) {
	w := newObservedStore()
	d := newFixture(t, w, "s")
	d.ok(d.sessions.Fence(t.Context(), "s", d.now, d.assign("s", "a").Epoch))
	for _, want := range []desk.Reaped{{Confirmed: 1}, {Sound: 1}} {
		found, err := d.Reap(t.Context(), d.now, "a")
		require.NoError(t, err)
		assert.Equal(t, want, found)
		assert.Equal(t, d.get("s").Epoch, w.agents["a"].Slots["s"].Epoch)
	}
	w.quiet(t)
}

// contended is a Store in which another process writes a key between an update's read and its write, once.
type contended struct {
	rmw.Store
	key   string
	write func()
}

func (s *contended) Update(ctx context.Context, key rmw.Key, fn rmw.UpdateFunc) (rmw.Result, error) {
	return s.Store.Update(ctx, key, func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
		next, err := fn(ctx, cur)
		if write := s.write; key.Name == s.key && write != nil {
			s.write = nil
			write()
		}
		return next, err
	})
}

// SignOff counts a session only if its own update requeued it: a transfer that is written first does not count.
func TestSignOffLosesSessionToTransfer(t *testing.T) {
	w := newObservedStore()
	d := newFixture(t, w, "s")
	d.assign("s", "a")
	n, err := newService(&contended{Store: w, key: "session:s", write: func() {
		d.ok(d.Transfer(t.Context(), d.op(), "s", desk.TransferTo{AgentID: "b"}))
	}}).SignOff(t.Context(), d.op(), "a")
	require.NoError(t, err)
	assert.Zero(t, n)
	assert.Equal(t, "b", d.get("s").AgentID)
	w.quiet(t)
}

// A session that cannot be read or fenced is named in the error, and the other slots are settled.
func TestReapContinuesAfterFailure(t *testing.T) {
	for name, reads := range map[string]bool{"to read": true, "to fence": false} {
		t.Run(name, func(t *testing.T) {
			w := newObservedStore()
			d := newFixture(t, w)
			ids := d.addSlots(map[kind]int{sound: 3, unconfirmed: 2, gone: 2, overdue: 3})
			bad := ids[overdue][1]
			reaper := newService(failing{w, "session:" + bad, reads, func() error { return rmw.ErrUnavailable }})
			found, err := reaper.Reap(t.Context(), d.now, "a")
			require.ErrorIs(t, err, rmw.ErrUnavailable)
			assert.ErrorContains(t, err, bad)
			assert.Equal(t, 1, strings.Count(err.Error(), "session"), "no other is named: %v", err)
			assert.Equal(t, desk.Reaped{Sound: 3, Confirmed: 2, Released: 4}, found)
			kept := slices.Sorted(slices.Values(slices.Concat(ids[sound], ids[unconfirmed], []string{bad})))
			assert.Equal(t, kept, d.slots("a"))
			found, err = d.Reap(t.Context(), d.now, "a")
			require.NoError(t, err)
			assert.Equal(t, desk.Reaped{Sound: 5, Released: 1}, found)
			w.quiet(t)
		})
	}
}

// As with a Reap, a sign-off goes on behind the session that fails, and the same sent again does the rest.
func TestSignOffContinuesAfterFailure(t *testing.T) {
	w := newObservedStore()
	d := newFixture(t, w)
	ids := d.addSlots(map[kind]int{sound: 4, overdue: 2})
	bad := ids[sound][2]
	op := d.op()
	leaving := newService(failing{w, "session:" + bad, false, func() error { return rmw.ErrUnavailable }})
	n, err := leaving.SignOff(t.Context(), op, "a")
	require.ErrorIs(t, err, rmw.ErrUnavailable)
	assert.ErrorContains(t, err, bad)
	assert.Equal(t, 3, n)
	assert.Equal(t, []string{bad}, d.slots("a"))
	n, err = d.SignOff(t.Context(), op, "a")
	require.NoError(t, err)
	assert.Equal(t, 1, n)
	w.quiet(t)
}

// After the end of ctx no further session is read, and the decisions are written.
func TestReapCtxEnds(t *testing.T) {
	for name, begun := range map[string]int{"before a session": 4, "before the agent": 11} {
		t.Run(name, func(t *testing.T) {
			w := newObservedStore()
			d := newFixture(t, w)
			d.addSlots(map[kind]int{gone: 10})
			ctx, cancel := context.WithCancel(t.Context())
			// Reap: 1 the agent, 2 to 11 the sessions, 12 the agent.
			found, err := slow(w, 1+begun, cancel).Reap(ctx, d.now, "a")
			if begun < 10 {
				require.ErrorIs(t, err, context.Canceled)
				assert.ErrorContains(t, err, "5 others are left")
				assert.Contains(t, err.Error(), `session "c3-`)
				assert.Equal(t, desk.Reaped{Released: 3}, found)
			} else {
				require.NoError(t, err, "nothing was left to do")
				assert.Equal(t, desk.Reaped{Released: 10}, found)
			}
			assert.Len(t, d.slots("a"), 10-found.Released)
			require.NoError(t, d.reapAll(t.Context(), d.now, "a"))
			w.quiet(t)
		})
	}
}

// The same for SignOff between two requeues: the requeued sessions have no slot.
func TestSignOffCtxEnds(t *testing.T) {
	w := newObservedStore()
	d := newFixture(t, w)
	ids := d.addSlots(map[kind]int{sound: 10})
	ctx, cancel := context.WithCancel(t.Context())
	op := d.op()
	// SignOff: 1 offline, 2 to 11 the sessions, 12 the agent, 13 to 22 the sessions.
	n, err := slow(w, 16, cancel).SignOff(ctx, op, "a")
	require.ErrorIs(t, err, context.Canceled)
	assert.Equal(t, 3, n)
	slots := d.slots("a")
	assert.Len(t, slots, 7)
	for _, id := range ids[sound] {
		assert.Equal(t, slices.Contains(slots, id), d.get(id).AgentID == "a", id)
	}
	n, err = d.SignOff(t.Context(), op, "a")
	require.NoError(t, err)
	assert.Equal(t, 7, n)
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
		found, err := newService(hanging{w, "agent:a"}).Reap(ctx, d.now, "a")
		assert.Equal(t, time.Minute+desk.DefaultFinishTimeout, time.Since(begun))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.ErrorContains(t, err, "settling 3 slots")
		assert.Zero(t, found)
		assert.Len(t, d.slots("a"), 3)
	})
}
