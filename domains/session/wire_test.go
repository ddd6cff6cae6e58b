package session_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/domains/session"
	"github.com/unwatch/unwatch/internal/testing/entities"
	"github.com/unwatch/unwatch/rmw"
)

// foreign is what another service has put beside the fields that are known here, with more digits than a
// float64 has.
const foreign = `{"list":[1.50,12345678901234567890],"null":null}`

// full is a document with every field, and foreign ones beside each. Its fields are in the order in which they
// are written.
const full = `{"format":1,"version":9,"applied":[{"id":"x","op":"Rate"}],"id":"s","tenant_id":"t","visitor_id":"v","room_id":"r",` +
	`"queue_id":"q","merchant_id":"m","status":"closed","priority":2,"last_agent_id":"ann","epoch":7,"declined":["dan"],` +
	`"transfers":[{"from":"ben","to":"ann","kind":"agent","by":"boss","at":4,"reason":"ill","foreign":` + foreign + `}],` +
	`"created_at":1,"queued_at":2,"taken_at":3,"assigned_at":4,"first_response_at":5,"last_visitor_at":6,"last_agent_at":7,` +
	`"resumed_at":8,"updated_at":11,"closed_at":10,"close_reason":"agent","rate_until":20,"reopen_until":21,` +
	`"rating":{"score":4,"comment":"so so","at":11,"foreign":` + foreign + `},"foreign":` + foreign + `}`

// The stored form of a session is a contract with other services, whose fields are kept.
func TestWireFormat(t *testing.T) {
	inForm := func(layout domains.Layout) rmw.Value { return stored(t, layout, full) }
	entities.WireFormat(t, inForm, func(s session.Session) {
		for _, unknown := range []domains.Unknown{s.Transfers[0].Unknown, s.Rating.Unknown} {
			raw, _ := unknown.Field("foreign")
			assert.Equal(t, foreign, string(raw))
		}
		s.Unknown, s.Transfers[0].Unknown, s.Rating.Unknown = domains.Unknown{}, domains.Unknown{}, domains.Unknown{}
		assert.Equal(t, session.Session{
			Header: domains.Header{Format: 1, Version: 9, Applied: []domains.Applied{{ID: "x", Op: "Rate"}}},
			ID:     "s", TenantID: "t", VisitorID: "v", RoomID: "r", QueueID: "q", MerchantID: "m", Status: session.Closed, Priority: 2,
			LastAgentID: "ann", Epoch: 7, Declined: []string{"dan"},
			Transfers: []session.Transfer{{From: "ben", To: "ann", Kind: session.ToAgent, By: "boss", At: 4, Reason: "ill"}},
			CreatedAt: 1, QueuedAt: 2, TakenAt: 3, AssignedAt: 4, FirstResponseAt: 5, LastVisitorAt: 6, LastAgentAt: 7, ResumedAt: 8,
			UpdatedAt: 11, ClosedAt: 10, CloseReason: session.ByAgent, RateUntil: 20, ReopenUntil: 21,
			Rating: &session.Rating{Score: 4, Comment: "so so", At: 11},
		}, s)
	})
	var held session.Session
	const onHold = `{"id":"s","status":"on_hold","agent_id":"ann","hold_at":9}`
	require.NoError(t, json.Unmarshal([]byte(onHold), &held))
	assert.Equal(t, session.Session{ID: "s", Status: session.OnHold, AgentID: "ann", HoldAt: 9}, held)
}

// The same of an entry of the index, also when it changes.
func TestWireFormatOfVisitor(t *testing.T) {
	const entry = `{"id":"v","session_id":"s1","epoch":3,"state":"reserved","until":9,"foreign":` + foreign + `}`
	each(t, session.Config{}, func(b *fixture) {
		b.put("visitor:v", entry)
		v, err := b.sessions.Visitor(b.Context(), "v")
		require.NoError(b, err)
		assert.Equal(b, session.Visitor{
			ID: "v", SessionID: "s1", Epoch: 3, State: session.Reserved, Until: 9, Unknown: v.Unknown,
		}, v)
		v, err = b.sessions.ReserveVisitor(b.Context(), "v", minute(1), v, "s2", 3, minute(2))
		require.NoError(b, err)
		raw, _ := b.look("visitor:v").Field("foreign")
		if b.layout == domains.JSON {
			field, _ := v.Unknown.Field("foreign")
			raw = string(field)
		}
		assert.Equal(b, foreign, raw)
	})
}

// older is a session of an older service: without a format, a version, an epoch or times.
func older(status string) session.Session {
	s := session.Session{ID: "s", Status: session.Status(status)}
	switch {
	case s.Held():
		s.AgentID = "ann"
	case s.Status == session.Closed:
		s.ClosedAt, s.CloseReason = 5, session.ByAgent
	}
	return s
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
