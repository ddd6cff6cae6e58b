package session_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/domains/session"
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

// Operations work on a session without a format, a version, an epoch or times. Operations that need a time are
// refused: the session is not idle, and no window is open.
func TestLegacyDocuments(t *testing.T) {
	needsTime := map[string]string{"CloseIdle": "not_idle", "Rate": "rate_late", "Reopen": "reopen_late"}
	cells(func(op string, from session.Status, want string) {
		for _, layout := range layouts()[:2] {
			t.Run(op+" of "+string(from), func(t *testing.T) {
				b := onMemory(t, layout)
				b.put(legacy(from))
				before := b.get()
				require.Equal(b, from, before.Status)
				require.Zero(b, before.Header)
				to, grows := strings.CutSuffix(want, "+")
				if refusal, ok := needsTime[op]; ok && moves(to) {
					to = refusal
				}
				if !moves(to) {
					b.untouched("session:s", op, func() {
						_, err := usual(op, before).send(b.sessions, "s")
						assert.Equal(b, to == "keep", err == nil)
						if err != nil {
							assert.Equal(b, to, domains.RefusalOf(err).Code())
						}
					})
					return
				}
				s, err := usual(op, before).send(b.sessions, "s")
				require.NoError(b, err)
				assert.Equal(b, session.Status(to), s.Status)
				assert.Equal(b, domains.Format, s.Format)
				assert.Equal(b, uint64(1), s.Version)
				assert.Equal(b, grows, s.Epoch == 1)
				assert.Equal(b, at(10), s.UpdatedAt)
				assert.Equal(b, s, b.get())
			})
		}
	})
}

// A service that knows the session's times but not updated_at, taken_at and the like may write after this one:
// its times count, whatever updated_at says.
func TestMixedFleet(t *testing.T) {
	each(t, func(b *fixture) {
		b.put(`{"id":"s","status":"assigned","agent_id":"ben","format":1,"version":7,"epoch":4,"created_at":1000,
			"queued_at":5000,"taken_at":2000,"assigned_at":6000,"last_visitor_at":7000,"updated_at":3000}`)
		s := b.get()
		assert.Equal(b, time.Second, s.Waited(minute(0)), "taken_at is of an earlier time")
		s, err := b.sessions.Edit(b.Context(), "s", b.op(0), func(s *session.Session) error { return s.Reply(4000, "ben") })
		require.NoError(b, err)
		assert.Equal(b, domains.Time(7000), s.LastAgentAt, "times do not run backwards")
		assert.Equal(b, domains.Time(7000), s.UpdatedAt)
		assert.Equal(b, uint64(8), s.Version)
	})
	each(t, func(b *fixture) { // rated by a service that stores no time
		b.put(`{"id":"s","status":"closed","closed_at":5,"close_reason":"agent","rating":{"score":3}}`)
		assert.Equal(b, 3, b.get().Rating.Score)
		_, err := b.sessions.Rate(b.Context(), "s", b.op(1), 5, "")
		assert.ErrorIs(b, err, session.ErrRated)
	})
}
