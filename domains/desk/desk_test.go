package desk_test

import (
	"context"
	"maps"
	"slices"
	"testing"
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

// fixture is a service with agents a and b, online, on some path.
type fixture struct {
	service
	t   *testing.T
	now time.Time
}

func newFixture(t *testing.T, store rmw.Store, sessions ...string) fixture {
	t.Helper()
	d := fixture{newService(store), t, begin()}
	require.NoError(t, d.hire(t.Context(), d.now, "a", "b"))
	require.NoError(t, d.queue(t.Context(), d.now, sessions...))
	return d
}

// ok is for calls that have to succeed.
func (d fixture) ok(_ any, err error) {
	d.t.Helper()
	require.NoError(d.t, err)
}

func (d fixture) op() domains.Op { return domains.NewOp(d.now) }

func (d fixture) assign(sessionID, agentID string) session.Session {
	d.t.Helper()
	s, err := d.Assign(d.t.Context(), d.op(), sessionID, agentID)
	require.NoError(d.t, err)
	return s
}

// slots returns the session ids of the agent's slots.
func (d fixture) slots(agentID string) []string {
	d.t.Helper()
	a, err := d.agents.Get(d.t.Context(), agentID)
	require.NoError(d.t, err)
	return slices.Sorted(maps.Keys(a.Slots))
}

func (d fixture) get(sessionID string) session.Session {
	d.t.Helper()
	s, err := d.sessions.Get(d.t.Context(), sessionID)
	require.NoError(d.t, err)
	return s
}

// The operations of a session in turn, on every path. Without a crash, no Reap is needed.
func TestOperationsInTurn(t *testing.T) {
	paths.Each(t, func(t *testing.T, target rmwtest.Target) {
		d, ctx := newFixture(t, target.Open(), "s"), t.Context()
		assert.Equal(t, session.Assigned, d.assign("s", "a").Status)
		assert.Equal(t, []string{"s"}, d.slots("a"))

		s, err := d.Transfer(ctx, d.op(), "s", desk.TransferTo{AgentID: "b", By: "a", Reason: "speaks Finnish"})
		require.NoError(t, err)
		assert.Equal(t, "b", s.AgentID)
		assert.Empty(t, d.slots("a"))
		assert.Equal(t, []string{"s"}, d.slots("b"))

		s, err = d.Decline(ctx, d.op(), "s", "b")
		require.NoError(t, err)
		assert.Equal(t, []string{"b"}, s.Declined)
		assert.Empty(t, d.slots("b"))

		d.assign("s", "a")
		s, err = d.Requeue(ctx, d.op(), "s", desk.ToQueue{QueueID: "gold"})
		require.NoError(t, err)
		assert.Equal(t, "gold", s.QueueID)
		assert.Empty(t, d.slots("a"))

		d.assign("s", "a")
		n, err := d.SignOff(ctx, d.op(), "a")
		require.NoError(t, err)
		assert.Equal(t, 1, n)
		assert.Empty(t, d.slots("a"))
		a, err := d.agents.Get(ctx, "a")
		require.NoError(t, err)
		assert.Equal(t, mcc.Offline, a.Status)

		d.assign("s", "b")
		s, err = d.Close(ctx, d.op(), "s", session.ByVisitor)
		require.NoError(t, err)
		assert.Equal(t, session.Closed, s.Status)
		assert.Empty(t, d.slots("b"))
		entry, err := d.sessions.Visitor(ctx, "of-s")
		require.NoError(t, err)
		assert.Zero(t, entry.SessionID, "the visitor has none")

		s, err = d.Reopen(ctx, d.op(), "s")
		require.NoError(t, err)
		assert.Equal(t, session.Queued, s.Status)
		entry, err = d.sessions.Visitor(ctx, "of-s")
		require.NoError(t, err)
		assert.Equal(t, session.Held, entry.State)
	})
}

// A refused operation changes neither entity, and leaves no slot.
func TestRefusals(t *testing.T) {
	for name, tc := range map[string]struct {
		do   func(ctx context.Context, d fixture) error
		want error
	}{
		"assign, full": {func(ctx context.Context, d fixture) error {
			for i := range limit {
				require.NoError(d.t, d.queue(ctx, d.now, name2(i)))
				d.assign(name2(i), "b")
			}
			_, err := d.Assign(ctx, d.op(), "s", "b")
			return err
		}, mcc.ErrFull},
		"assign, busy": {func(ctx context.Context, d fixture) error {
			_, err := d.agents.SetStatus(ctx, "b", d.op(), mcc.Busy)
			require.NoError(d.t, err)
			_, err = d.Assign(ctx, d.op(), "s", "b")
			return err
		}, mcc.ErrNotAccepting},
		"assign, no agent": {func(ctx context.Context, d fixture) error {
			_, err := d.Assign(ctx, d.op(), "s", "nobody")
			return err
		}, mcc.ErrNoAgent},
		"assign, no session": {func(ctx context.Context, d fixture) error {
			_, err := d.Assign(ctx, d.op(), "none", "b")
			return err
		}, session.ErrNoSession},
		"assign twice": {func(ctx context.Context, d fixture) error {
			d.assign("s", "a")
			_, err := d.Assign(ctx, d.op(), "s", "b")
			return err
		}, session.ErrNotNow},
		"assign, closed": {func(ctx context.Context, d fixture) error {
			_, err := d.Close(ctx, d.op(), "s", session.ByVisitor)
			require.NoError(d.t, err)
			_, err = d.Assign(ctx, d.op(), "s", "b")
			return err
		}, session.ErrClosed},
		"transfer, not assigned": {func(ctx context.Context, d fixture) error {
			_, err := d.Transfer(ctx, d.op(), "s", desk.TransferTo{AgentID: "b"})
			return err
		}, session.ErrNotNow},
		"transfer to the same": {func(ctx context.Context, d fixture) error {
			d.assign("s", "a")
			_, err := d.Transfer(ctx, d.op(), "s", desk.TransferTo{AgentID: "a"})
			return err
		}, session.ErrSameAgent},
		"requeue, another's": {func(ctx context.Context, d fixture) error {
			d.assign("s", "a")
			_, err := d.Requeue(ctx, d.op(), "s", desk.ToQueue{FromAgentID: "b"})
			return err
		}, session.ErrNotHolder},
		"close idle, not idle": {func(ctx context.Context, d fixture) error {
			_, err := d.CloseIdle(ctx, d.op(), "s", session.Idle{Queue: time.Second})
			return err
		}, session.ErrNotIdle},
		"open a second": {func(ctx context.Context, d fixture) error {
			s, err := d.Open(ctx, d.op(), "s2", session.Session{VisitorID: "of-s", Status: session.Queued})
			assert.Equal(d.t, "s", s.ID)
			return err
		}, desk.ErrHasSession},
		"open under a name that is taken": {func(ctx context.Context, d fixture) error {
			_, err := d.Open(ctx, d.op(), "s", session.Session{VisitorID: "v", Status: session.Queued})
			return err
		}, session.ErrSessionExists},
		"open with what cannot be opened": {func(ctx context.Context, d fixture) error {
			_, err := d.Open(ctx, d.op(), "s1", session.Session{Status: session.Queued})
			require.ErrorIs(d.t, err, rmw.ErrInvalid, "no visitor")
			_, err = d.Open(ctx, d.op(), "s1", session.Session{VisitorID: "v", Status: session.Active})
			d.ok(d.Open(ctx, d.op(), "s2", queuedOf("v"))) // the visitor can open another session
			return err
		}, rmw.ErrInvalid},
		"reopen, open": {func(ctx context.Context, d fixture) error {
			_, err := d.Reopen(ctx, d.op(), "s")
			return err
		}, session.ErrNotClosed},
		"reopen, has another": {func(ctx context.Context, d fixture) error {
			_, err := d.Close(ctx, d.op(), "s", session.ByVisitor)
			require.NoError(d.t, err)
			_, err = d.Open(ctx, d.op(), "s2", session.Session{VisitorID: "of-s", Status: session.Queued})
			require.NoError(d.t, err)
			s, err := d.Reopen(ctx, d.op(), "s")
			assert.Equal(d.t, "s2", s.ID)
			return err
		}, desk.ErrHasSession},
		"sign off, no agent": {func(ctx context.Context, d fixture) error {
			_, err := d.SignOff(ctx, d.op(), "nobody")
			return err
		}, mcc.ErrNoAgent},
		"reap, no agent": {func(ctx context.Context, d fixture) error {
			_, err := d.Reap(ctx, d.now, "nobody")
			return err
		}, mcc.ErrNoAgent},
	} {
		t.Run(name, func(t *testing.T) {
			w := newObservedStore()
			d := newFixture(t, w, "s")
			require.ErrorIs(t, tc.do(t.Context(), d), tc.want)
			assert.NotContains(t, d.slots("b"), "s")
			w.quiet(t)
		})
	}
}

func name2(i int) string { return name("t", i) }

// A transfer by force goes beyond the limit, and does not take a place that counts.
func TestForcedTransfer(t *testing.T) {
	d, ctx := newFixture(t, newObservedStore(), "s", "t0", "t1", "t2"), t.Context()
	for i := range limit {
		d.assign(name2(i), "b")
	}
	d.assign("s", "a")
	_, err := d.Transfer(ctx, d.op(), "s", desk.TransferTo{AgentID: "b"})
	require.ErrorIs(t, err, mcc.ErrFull)
	s, err := d.Transfer(ctx, d.op(), "s", desk.TransferTo{AgentID: "b", Force: true})
	require.NoError(t, err)
	assert.Equal(t, "b", s.AgentID)
	b, err := d.agents.Get(ctx, "b")
	require.NoError(t, err)
	assert.Equal(t, limit, b.Load())
	assert.Len(t, b.Slots, limit+1)
}

// A session without a visitor is reopened without an index entry.
func TestReopenWithoutVisitor(t *testing.T) {
	d, ctx := newFixture(t, newObservedStore()), t.Context()
	_, err := d.sessions.Create(ctx, "s", d.op(), session.Session{Status: session.Queued})
	require.NoError(t, err)
	_, err = d.Close(ctx, d.op(), "s", session.BySystem)
	require.NoError(t, err)
	s, err := d.Reopen(ctx, d.op(), "s")
	require.NoError(t, err)
	assert.Equal(t, session.Queued, s.Status)
}
