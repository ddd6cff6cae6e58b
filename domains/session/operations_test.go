package session_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/domains/session"
	"github.com/unwatch/unwatch/rmw"
)

// The latest transfers and declining agents are kept, also of more agents than the random runs have.
func TestBoundedLists(t *testing.T) {
	var m model
	var steps []step
	add := func(op string, to int) {
		s := usual(op, m.Session)
		s.ID, s.to = fmt.Sprint(len(steps)), fmt.Sprint("agent-", to)
		assert.Equal(t, changed, m.do(s, session.Config{}), op)
		steps = append(steps, s)
	}
	add("Open", 0)
	for i := range 3 * 16 {
		add("Assign", i%20)
		add("Decline", 0)
	}
	add("Assign", 0)
	for i := range 3 * 16 {
		add("Transfer", 1+i)
	}
	require.NoError(t, newRun(session.Config{}, model{}).Play(steps))
	assert.Len(t, m.Declined, 16, "a transfer is no answer")
	assert.Len(t, m.Transfers, 16)
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
		assert.Equal(t, c.want, session.New(nil, session.Config{RateWindow: c.rate, ReopenWindow: c.reopen}).Windows())
	}
}

// The prefixes of the keys, a codec instead of the layout, and the table as a copy.
func TestConfig(t *testing.T) {
	each(t, session.Config{Prefix: "p:", VisitorPrefix: "w:", Codec: rmw.JSON[session.Session]()}, func(b *fixture) {
		_, err := b.sessions.Create(b.Context(), "s", op("a", 0), session.Session{Status: session.Queued})
		require.NoError(b, err)
		_, err = b.sessions.ReserveVisitor(b.Context(), "v", minute(0), session.Visitor{}, "s", 0, minute(1))
		require.NoError(b, err)
		assert.Equal(b, rmw.KindString, b.look("p:s").Kind())
		assert.Equal(b, b.layout != domains.JSON, b.look("w:v").Kind() == rmw.KindHash)
	})
	err := session.New(nil, session.Config{}).Validate("s", op("", 0), session.Session{Status: session.Bot})
	require.ErrorIs(t, err, rmw.ErrInvalid, "Validate accepts what Create accepts, no more")
	table := session.Transitions()
	table.Rows[0].To, table.Rows[3].From[0] = "x", "y"
	assert.Equal(t, []string{"bot", "queued", "closed", "assigned", "active", "on_hold"}, session.Transitions().States())
}
