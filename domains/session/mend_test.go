package session_test

import (
	"cmp"
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/domains/session"
	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/rmwtest"
)

// A service has noted neither when nor why it closed a session, and left its agent in it.
func ExampleConfig_mend() {
	ctx, store := context.Background(), rmwtest.NewMemory()
	_ = store.Set(ctx, "session:42", rmw.String(
		`{"id":"42","status":"closed","agent_id":"ann","created_at":1000,"last_agent_at":5000}`), rmw.NoTTL)

	sessions := session.New(store, session.Config{Mend: closedOnes})
	s, err := sessions.Get(ctx, "42")
	fmt.Println(s.CloseReason, s.ClosedAt, s.LastAgentID, err)
	// Output:
	// system 1970-01-01T00:00:05.000Z ann <nil>
}

// closedOnes gives sessions that were closed what they should have.
func closedOnes(s *session.Session) {
	if s.Status != session.Closed {
		return
	}
	if s.ClosedAt == 0 {
		s.ClosedAt = max(s.CreatedAt, s.LastVisitorAt, s.LastAgentAt, 1)
	}
	s.CloseReason = cmp.Or(s.CloseReason, session.BySystem)
	s.LastAgentID, s.AgentID = cmp.Or(s.AgentID, s.LastAgentID), ""
}

// A session that is mended is like any other, in every layout.
func TestMend(t *testing.T) {
	each(t, func(b *bench) {
		v := rmw.String(`{"id":"s","status":"closed","agent_id":"ann","x":1}`)
		if b.layout != domains.JSON {
			v = rmw.Hash(map[string]string{"id": "s", "status": "closed", "agent_id": "ann", "x": "1"})
		}
		require.NoError(b, b.target.Direct.Set(b.Context(), "session:s", v, rmw.NoTTL))
		_, err := b.sessions.Get(b.Context(), "s")
		require.ErrorIs(b, err, rmw.ErrUndecodable)
		sessions := session.New(b.target.Open(), session.Config{Layout: b.layout, Mend: closedOnes})
		_, err = sessions.Fence(b.Context(), "s", minute(1), 0)
		require.NoError(b, err)
		s, err := b.sessions.Get(b.Context(), "s")
		require.NoError(b, err)
		assert.Equal(b, []any{"ann", "", session.BySystem, uint64(1)}, []any{s.LastAgentID, s.AgentID, s.CloseReason, s.Epoch})
	})
}
