package session_test

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/domains/session"
	"github.com/unwatch/unwatch/internal/testing/entities"
	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/rmwtest"
)

// full is a document with every field, and foreign ones beside each. Its fields are in the order in which they
// are written.
const full = `{"format":1,"version":9,"applied":[{"id":"x","op":"Rate"}],"id":"s","tenant_id":"t","visitor_id":"v","room_id":"r",` +
	`"queue_id":"q","merchant_id":"m","status":"closed","priority":2,"last_agent_id":"ann","epoch":7,"declined":["dan"],` +
	`"transfers":[{"from":"ben","to":"ann","kind":"agent","by":"boss","at":4,"reason":"ill","foreign":` + entities.Foreign + `}],` +
	`"created_at":1,"queued_at":2,"taken_at":3,"assigned_at":4,"first_response_at":5,"last_visitor_at":6,"last_agent_at":7,` +
	`"resumed_at":8,"updated_at":11,"closed_at":10,"close_reason":"agent","rate_until":20,"reopen_until":21,` +
	`"rating":{"score":4,"comment":"so so","at":11,"foreign":` + entities.Foreign + `},"foreign":` + entities.Foreign + `}`

// The stored form of a session is a contract with other services, whose fields are kept.
func TestWireFormat(t *testing.T) {
	entities.WireFormat(t, full, func(s session.Session) {
		for _, unknown := range []domains.Unknown{s.Transfers[0].Unknown, s.Rating.Unknown} {
			raw, _ := unknown.Field("foreign")
			assert.Equal(t, entities.Foreign, string(raw))
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

// A session that breaks a rule is an error that says which.
func TestCheck(t *testing.T) {
	const active = `{"id":"s","status":"active","agent_id":"ann","created_at":10,"queued_at":10,"taken_at":11,"assigned_at":11,
		"first_response_at":12,"last_agent_at":12,"updated_at":12}`
	many := func(n int, one string) string { return strings.TrimSuffix(strings.Repeat(one+",", n), ",") }
	entities.AssertBroken[session.Session](t, active, map[string][]string{
		"the id of the session":                             {`{"id":""}`, `{"id":"LONG"}`},
		"the status is unknown":                             {`{"status":null}`, `{"status":"done"}`},
		"this one is assigned":                              {`{"status":"assigned","agent_id":null}`},
		"this one is active":                                {`{"agent_id":null}`},
		"this one is on_hold":                               {`{"status":"on_hold","agent_id":null}`},
		"this one is queued":                                {`{"status":"queued"}`},
		"this one is bot":                                   {`{"status":"bot"}`},
		"this one is closed":                                {`{"status":"closed","closed_at":13,"close_reason":"agent"}`},
		"the epoch is above 9007199254740991":               {`{"epoch":9007199254740992}`},
		"of closing if and only if it is closed":            {`{"closed_at":13}`, `{"close_reason":"agent"}`},
		"a session is rated that is not closed":             {`{"rating":{"score":3}}`},
		"17 transfers, at most 16":                          {`{"transfers":[` + many(17, `{}`) + `]}`},
		"the id of the transfer's source has 5000":          {`{"transfers":[{"from":"LONG"}]}`},
		"the id of the transfer's destination has 5000":     {`{"transfers":[{"to":"LONG"}]}`},
		"the id of the requester has 5000":                  {`{"transfers":[{"by":"LONG"}]}`},
		"the reason has 5000 bytes, at most 256":            {`{"transfers":[{"reason":"LONG"}]}`},
		"something happened before the session was created": {`{"transfers":[{"at":9}]}`},
		"17 agents have declined, at most 16":               {`{"declined":[` + many(17, `"a"`) + `]}`},
		"the id of the agent":                               {`{"declined":[""]}`, `{"declined":["LONG"]}`, `{"agent_id":"LONG"}`},
		"the id of the tenant has 5000":                     {`{"tenant_id":"LONG"}`},
		"the id of the visitor has 5000":                    {`{"visitor_id":"LONG"}`},
		"the id of the room has 5000":                       {`{"room_id":"LONG"}`},
		"the id of the queue has 5000":                      {`{"queue_id":"LONG"}`},
		"the id of the merchant has 5000":                   {`{"merchant_id":"LONG"}`},
		"the id of the last agent has 5000":                 {`{"last_agent_id":"LONG"}`},
		"the session was assigned before it was queued":     {`{"queued_at":12}`, `{"created_at":9,"assigned_at":9}`},
	})
	closed := map[string][]string{
		"of closing if and only if it is closed":   {`{"closed_at":null}`, `{"close_reason":null}`},
		"the reason has 5000 bytes, at most 256":   {`{"close_reason":"LONG"}`},
		"a score is not from 1 to 5":               {`{"rating":{"score":0}}`, `{"rating":{"score":6}}`},
		"the comment has 5000 bytes, at most 4096": {`{"rating":{"comment":"LONG"}}`},
		"a session was rated before it was closed": {`{"rating":{"at":9}}`},
		"a session was rated too late":             {`{"rating":{"at":21}}`},
		"a time is before 1970 or after 9999":      {`{"updated_at":-1}`, `{"rate_until":253402300800000}`, `{"reopen_until":-1}`},
	}
	for _, name := range []string{
		"queued_at", "taken_at", "assigned_at", "first_response_at", "last_visitor_at", "last_agent_at", "hold_at", "resumed_at",
	} {
		for says, patches := range map[string][]string{
			"something happened before the session was created": {`{"created_at":2,"NAME":1}`},
			"something happened after the session was closed":   {`{"assigned_at":null,"NAME":11}`},
			"a time is before 1970 or after 9999":               {`{"NAME":253402300800000}`, `{"created_at":null,"NAME":-1}`},
		} {
			for _, patch := range patches {
				closed[says] = append(closed[says], strings.ReplaceAll(patch, "NAME", name))
			}
		}
	}
	entities.AssertBroken[session.Session](t, full, closed)
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

// stored runs test in each layout, with sessions in whose store a document of a T lies.
func stored[T any](t *testing.T, key, document string, test func(t *testing.T, m *rmwtest.Memory, sessions session.Sessions)) {
	t.Helper()
	for _, layout := range entities.Layouts() {
		t.Run(layout.String(), func(t *testing.T) {
			m := rmwtest.NewMemory()
			require.NoError(t, m.Set(t.Context(), key, entities.Stored[T](t, layout, document), rmw.NoTTL))
			test(t, m, session.New(m, session.Config{Layout: layout}))
		})
	}
}

// A service that knows the session's times but not updated_at, taken_at and the like may write after this one:
// its times count, whatever updated_at says.
func TestMixedFleet(t *testing.T) {
	const document = `{"id":"s","status":"assigned","agent_id":"ben","format":1,"version":7,"epoch":4,"created_at":1000,
		"queued_at":5000,"taken_at":2000,"assigned_at":6000,"last_visitor_at":7000,"updated_at":3000}`
	stored[session.Session](t, "session:s", document, func(t *testing.T, _ *rmwtest.Memory, sessions session.Sessions) {
		s, err := sessions.Get(t.Context(), "s")
		require.NoError(t, err)
		assert.Equal(t, time.Second, s.Waited(minute(0)), "taken_at is of an earlier time")
		s, err = sessions.Edit(t.Context(), "s", op("a", 0), func(s *session.Session) error { return s.Reply(4000, "ben") })
		require.NoError(t, err)
		assert.Equal(t, domains.Time(7000), s.LastAgentAt, "times do not run backwards")
		assert.Equal(t, domains.Time(7000), s.UpdatedAt)
		assert.Equal(t, uint64(8), s.Version)
	})
	const rated = `{"id":"s","status":"closed","closed_at":5,"close_reason":"agent","rating":{"score":3}}` // without a time
	stored[session.Session](t, "session:s", rated, func(t *testing.T, _ *rmwtest.Memory, sessions session.Sessions) {
		_, err := sessions.Rate(t.Context(), "s", op("a", 1), 5, "")
		assert.ErrorIs(t, err, session.ErrRated)
	})
}

// A stored session keeps the rules and accepts operations, or is undecodable.
func FuzzDecodeSession(f *testing.F) {
	for _, status := range session.Transitions().States() {
		document, _ := json.Marshal(older(status))
		entities.Seed[session.Session](f, string(document))
	}
	entities.Seed[session.Session](f, full,
		`{"id":"s","status":"closed","closed_at":5,"close_reason":"x","rate_until":9,"rating":{"score":4,"at":6,"x":"<"}}`,
		`{"id":"s","status":"queued","epoch":9007199254740991,"declined":["a","b"],"transfers":[null,{}],"version":18446744073709551615}`,
		`{"id":"s","status":"active","agent_id":"a","updated_at":253402300799999,"applied":[{"id":"x","number":3,"y":1}],"ID":1}`)
	entities.Seed[session.Session](f, `{"id":"","status":"queued"}`, `{"id":"cs-s","status":"queued"}`)
	for _, times := range []string{ // of clocks that were ahead, and of services that do not store all times
		`"status":"queued","created_at":%[1]d,"queued_at":%[2]d`,
		`"status":"queued","created_at":%[3]d,"queued_at":%[2]d,"taken_at":%[1]d`,
		`"status":"active","agent_id":"a","created_at":%[3]d,"first_response_at":%[2]d,"last_visitor_at":%[1]d`,
		`"status":"active","agent_id":"a","created_at":%[1]d,"queued_at":%[2]d,"taken_at":%[1]d,"assigned_at":%[2]d`,
	} {
		entities.Seed[session.Session](f, fmt.Sprintf(`{"id":"s",`+times+`}`, at(5), at(6), at(4)))
	}
	get := func(ctx context.Context, store rmw.Store, layout domains.Layout) (session.Session, error) {
		return session.New(store, session.Config{Layout: layout}).Get(ctx, "s")
	}
	entities.Fuzz(f, "session:s", get, func(t *testing.T, layout domains.Layout, s session.Session, cur rmw.Value) {
		require.Equal(t, "s", s.ID)
		everyOperation(t, layout, s, cur)
	})
}

// everyOperation applies each operation to a session that was read: one that succeeds leaves a session that can
// be stored, and one that is refused leaves it as it was.
func everyOperation(t *testing.T, layout domains.Layout, s session.Session, cur rmw.Value) {
	for _, d := range []time.Duration{s.Waited(minute(0)), s.FirstResponse(), s.Lasted(minute(0)), s.Chatted()} {
		require.GreaterOrEqual(t, d, time.Duration(0))
	}
	for _, op := range allOperations() {
		for _, moment := range []domains.Time{1, max(1, s.UpdatedAt), max(1, s.RateUntil), at(0), maxTime} {
			one := usual(op, s)
			if one.At = moment; moment == 1 {
				one.agent, one.number, one.windows = "", -1, session.Windows{}
			}
			after := s
			if err := one.run(&after); err != nil {
				require.True(t, reflect.DeepEqual(s, after), "%s: %v, and the session has changed", op, err)
				continue
			}
			if after.Epoch > maxEpoch {
				require.NotEqual(t, "Fence", op)
				continue // there is no later one: it cannot be stored
			}
			require.NoError(t, after.Check(), "%s at %d", op, moment)
			entities.RoundTrip[session.Session](t, layout, &after, cur)
		}
	}
}
