package session_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/domains/session"
)

// Create uses the documented fields of info only.
func TestCreate(t *testing.T) {
	info := session.Session{
		ID: "other", TenantID: "t", VisitorID: "v", RoomID: "r", QueueID: "q", MerchantID: "m", Priority: 2,
		AgentID: "ann", LastAgentID: "ben", Epoch: 7, AssignedAt: at(1), Rating: &session.Rating{Score: 1},
	}
	for _, status := range []session.Status{session.Bot, session.Queued} {
		t.Run(string(status), func(t *testing.T) {
			each(t, func(b *fixture) {
				info.Status = status
				op := b.op(0)
				got, err := b.sessions.Create(b.Context(), "s", op, info)
				require.NoError(b, err)
				want := session.Session{
					Header: got.Header, ID: "s", TenantID: "t", VisitorID: "v", RoomID: "r", QueueID: "q", MerchantID: "m",
					Priority: 2, Status: status, CreatedAt: at(0), UpdatedAt: at(0),
				}
				if status == session.Queued {
					want.QueuedAt = at(0)
				}
				assert.Equal(b, want, got)
				assert.Equal(b, domains.Header{Format: 1, Version: 1, Applied: []domains.Applied{{ID: op.ID, Op: "Open"}}}, got.Header)
				b.untouched("session:s", "the same again", func() {
					again, err := b.sessions.Create(b.Context(), "s", op, info)
					require.NoError(b, err)
					assert.Equal(b, got, again)
				})
			})
		})
	}
}

// The latest transfers and declining agents are kept. An agent that declines twice is listed once, and a reply
// clears the list.
func TestBoundedLists(t *testing.T) {
	agent := func(i int) string { return fmt.Sprint("agent-", i) }
	s := session.Session{ID: "s", Status: session.Queued}
	for i := range 3 * maxDeclined {
		require.NoError(t, s.Assign(at(i), agent(i), s.Epoch))
		require.NoError(t, s.Decline(at(i), agent(i)))
		require.NoError(t, s.Check())
		assert.Len(t, s.Declined, min(i+1, maxDeclined))
		assert.Equal(t, agent(i), s.Declined[len(s.Declined)-1])
		assert.Equal(t, agent(max(0, i-maxDeclined+1)), s.Declined[0])
	}
	again := agent(3*maxDeclined - 5)
	require.NoError(t, s.Assign(at(100), again, s.Epoch))
	require.NoError(t, s.Decline(at(100), again))
	assert.Len(t, s.Declined, maxDeclined)

	require.NoError(t, s.Assign(at(101), agent(0), s.Epoch))
	for i := 1; i < 3*maxTransfers; i++ {
		require.NoError(t, s.Transfer(at(101+i), agent(i), s.Epoch, "", ""))
		require.NoError(t, s.Check())
		assert.Len(t, s.Transfers, min(i, maxTransfers))
		assert.Equal(t, agent(i), s.Transfers[len(s.Transfers)-1].To)
		assert.Equal(t, agent(max(1, i-maxTransfers+1)), s.Transfers[0].To)
	}
	require.NotEmpty(t, s.Declined, "a transfer is no answer")
	require.NoError(t, s.Reply(at(999), s.AgentID))
	assert.Empty(t, s.Declined)
}

// An operation on a copy leaves the original as it was. Package desk tries operations on copies.
func TestOperationsOnCopies(t *testing.T) {
	s := session.Session{
		ID: "s", Status: session.Assigned, AgentID: "ann",
		// Both slices have spare capacity, which an append could overwrite.
		Declined:  append(make([]string, 0, 4), "dan"),
		Transfers: append(make([]session.Transfer, 0, 4), session.Transfer{From: "dan", To: "ann"}),
	}
	one, other := s, s
	require.NoError(t, one.Transfer(at(1), "ben", 0, "", "one"))
	require.NoError(t, other.Transfer(at(2), "cid", 0, "", "other"))
	assert.Equal(t, "one", one.Transfers[1].Reason)
	one, other = s, s
	other.AgentID = "ben"
	require.NoError(t, one.Decline(at(1), "ann"))
	require.NoError(t, other.Decline(at(1), "ben"))
	assert.Equal(t, []string{"dan", "ann"}, one.Declined)
	other = s
	require.NoError(t, other.Reply(at(1), "ann"))
	assert.Equal(t, []string{"dan"}, s.Declined)
}

// A session that was abandoned was never open, and never will be.
func TestAbandon(t *testing.T) {
	each(t, func(b *fixture) {
		got, err := b.sessions.Abandon(b.Context(), "s", minute(0), "v")
		require.NoError(b, err)
		assert.Equal(b, session.Session{
			Header: domains.Header{Format: 1, Version: 1}, ID: "s", VisitorID: "v", Status: session.Closed, Epoch: 1,
			CreatedAt: at(0), ClosedAt: at(0), UpdatedAt: at(0), CloseReason: session.Abandoned,
		}, got)
		b.untouched("session:s", "whatever follows", func() {
			_, err = b.sessions.Create(b.Context(), "s", b.op(1), session.Session{Status: session.Queued})
			assert.ErrorIs(b, err, session.ErrSessionExists)
			_, err = b.sessions.Rate(b.Context(), "s", b.op(1), 5, "")
			assert.ErrorIs(b, err, session.ErrRateLate)
			again, err := b.sessions.Abandon(b.Context(), "s", minute(1), "w")
			require.NoError(b, err)
			assert.Equal(b, got, again)
		})
	})
	each(t, func(b *fixture) {
		before := b.in(session.Active)
		b.untouched("session:s", "Abandon", func() {
			s, err := b.sessions.Abandon(b.Context(), "s", minute(9), "v")
			require.NoError(b, err)
			assert.Equal(b, before, s)
		})
	})
}

// The default windows, and that a negative one is never.
func TestWindows(t *testing.T) {
	for _, c := range []struct {
		rate, reopen time.Duration
		want         session.Windows
	}{
		{0, 0, session.Windows{Rate: 24 * time.Hour}},
		{-1, -1, session.Windows{}},
		{time.Hour, time.Minute, session.Windows{Rate: time.Hour, Reopen: time.Minute}},
	} {
		cfg := session.Config{RateWindow: c.rate, ReopenWindow: c.reopen}
		assert.Equal(t, c.want, cfg.Windows())
		assert.Equal(t, c.want, session.New(nil, cfg).Windows())
	}
}
