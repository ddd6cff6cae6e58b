package session_test

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/domains/session"
	"github.com/unwatch/unwatch/internal/testing/entities"
	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/rmwtest"
)

// seed adds documents, in both layouts.
func seed(f *testing.F, documents ...string) {
	entities.Seed(f, func(document string) rmw.Value { return stored(f, domains.Hash, document) }, documents...)
}

func FuzzDecodeSession(f *testing.F) {
	for _, status := range session.Transitions().States() {
		document, _ := json.Marshal(older(status))
		seed(f, string(document))
	}
	seed(f, full, `{"id":"s","status":"closed","closed_at":5,"close_reason":"x","rate_until":9,"rating":{"score":4,"at":6,"x":"<"}}`,
		`{"id":"s","status":"queued","epoch":9007199254740991,"declined":["a","b"],"transfers":[null,{}],"version":18446744073709551615}`,
		`{"id":"s","status":"active","agent_id":"a","updated_at":253402300799999,"applied":[{"id":"x","number":3,"y":1}],"ID":1}`)
	seed(f, `{"id":"","status":"queued"}`, `{"id":"cs-s","status":"queued"}`)
	for _, times := range []string{ // of clocks that were ahead, and of services that do not store all times
		`"status":"queued","created_at":%[1]d,"queued_at":%[2]d`,
		`"status":"queued","created_at":%[3]d,"queued_at":%[2]d,"taken_at":%[1]d`,
		`"status":"active","agent_id":"a","created_at":%[3]d,"first_response_at":%[2]d,"last_visitor_at":%[1]d`,
		`"status":"active","agent_id":"a","created_at":%[1]d,"queued_at":%[2]d,"taken_at":%[1]d,"assigned_at":%[2]d`,
	} {
		seed(f, fmt.Sprintf(`{"id":"s",`+times+`}`, at(5), at(6), at(4)))
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

func FuzzDecodeVisitor(f *testing.F) {
	seed(f, `{"id":"v","session_id":"s","state":"held"}`,
		`{"id":"v","session_id":"s","state":"reserved","until":253402300799999,"epoch":9007199254740991,"foreign":`+foreign+`}`,
		`{"id":"v","session_id":"s","state":"reserved","format":1,"version":3,"applied":[{"id":"x"}],"State":1}`)
	get := func(ctx context.Context, store rmw.Store, layout domains.Layout) (session.Visitor, error) {
		return session.New(store, session.Config{Layout: layout}).Visitor(ctx, "v")
	}
	entities.Fuzz(f, "visitor:v", get, func(t *testing.T, layout domains.Layout, v session.Visitor, cur rmw.Value) {
		m := rmwtest.NewMemory()
		require.NoError(t, m.Set(t.Context(), "visitor:v", cur, rmw.NoTTL))
		sessions := session.New(m, session.Config{Layout: layout})
		_, err := sessions.ReserveVisitor(t.Context(), "v", minute(1), session.Visitor{}, "s2", v.Epoch, minute(1))
		require.ErrorIs(t, err, session.ErrMovedOn)
		require.NoError(t, sessions.ConfirmVisitor(t.Context(), "v", minute(1), v.SessionID))
		v, err = sessions.Visitor(t.Context(), "v")
		require.NoError(t, err)
		require.Equal(t, session.Held, v.State)
		v, err = sessions.ReserveVisitor(t.Context(), "v", minute(1), v, "s2", v.Epoch, minute(1))
		require.NoError(t, err)
		require.NoError(t, sessions.ReleaseVisitor(t.Context(), "v", minute(1), "s2", v.Epoch+1))
		v, err = sessions.Visitor(t.Context(), "v")
		require.NoError(t, err)
		require.Zero(t, v)
	})
}
