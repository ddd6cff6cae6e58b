package session_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/domains/session"
	"github.com/unwatch/unwatch/internal/testing/entities"
)

// legacy is the document of an older service, with few fields.
func legacy(status session.Status) string {
	rest := ""
	switch status {
	case session.Assigned, session.Active, session.OnHold:
		rest = `,"agent_id":"ann"`
	case session.Closed:
		rest = `,"closed_at":5,"close_reason":"agent"`
	}
	return `{"id":"s","status":"` + string(status) + `"` + rest + `}`
}

// Operations work on a session without a format, a version, an epoch or times, as the model says. Operations that need a
// time are refused: the session is not idle, and no window is open.
func TestLegacyDocuments(t *testing.T) {
	each(t, session.Config{}, func(b *fixture) {
		for _, status := range session.Transitions().States() {
			for _, op := range allOperations() {
				b.put("session:s", legacy(session.Status(status)))
				before := b.get()
				require.Zero(b, before.Header)
				s, m := usual(op, before), model{Session: before}
				want := m.do(s, session.Config{})
				after, err := s.send(b.sessions, b.layout)
				assert.Equal(b, want, entities.Outcome(`session "s"`, err, after.Version != before.Version), "%s of %s", op, status)
				assert.Equal(b, m.Session, b.get(), "%s of %s", op, status)
			}
		}
	})
}

// A service that knows the session's times but not updated_at, taken_at and the like may write after this one:
// its times count, whatever updated_at says.
func TestMixedFleet(t *testing.T) {
	each(t, session.Config{}, func(b *fixture) {
		b.put("session:s", `{"id":"s","status":"assigned","agent_id":"ben","format":1,"version":7,"epoch":4,"created_at":1000,
			"queued_at":5000,"taken_at":2000,"assigned_at":6000,"last_visitor_at":7000,"updated_at":3000}`)
		s := b.get()
		assert.Equal(b, time.Second, s.Waited(minute(0)), "taken_at is of an earlier time")
		s, err := b.sessions.Edit(b.Context(), "s", op("a", 0), func(s *session.Session) error { return s.Reply(4000, "ben") })
		require.NoError(b, err)
		assert.Equal(b, domains.Time(7000), s.LastAgentAt, "times do not run backwards")
		assert.Equal(b, domains.Time(7000), s.UpdatedAt)
		assert.Equal(b, uint64(8), s.Version)
	})
	each(t, session.Config{}, func(b *fixture) { // rated by a service that stores no time
		b.put("session:s", `{"id":"s","status":"closed","closed_at":5,"close_reason":"agent","rating":{"score":3}}`)
		assert.Equal(b, 3, b.get().Rating.Score)
		_, err := b.sessions.Rate(b.Context(), "s", op("a", 1), 5, "")
		assert.ErrorIs(b, err, session.ErrRated)
	})
}
