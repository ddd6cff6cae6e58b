package session_test

import (
	"context"
	"reflect"
	"testing"

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

// read decodes data as Sessions does, and fails unless the result is a value or a clear error.
func read[T any](t *testing.T, data rmw.Value, key string, get func(s session.Sessions) (T, error)) (T, bool) {
	for _, layout := range entities.Layouts() {
		if data.Exists() && (data.Kind() == rmw.KindHash) == (layout == domains.JSON) {
			continue
		}
		m := rmwtest.NewMemory()
		require.NoError(t, m.Set(t.Context(), key, data, rmw.NoTTL))
		got, err := get(session.New(m, session.Config{Layout: layout}))
		if err == nil {
			return got, data.Exists()
		}
		require.Nil(t, domains.RefusalOf(err), "%v", err)
		require.ErrorIs(t, err, rmw.ErrUndecodable)
	}
	var none T
	return none, false
}

func FuzzDecodeSession(f *testing.F) {
	for _, status := range session.Transitions().States() {
		seed(f, legacy(session.Status(status)))
	}
	seed(f, full, `{"id":"s","status":"closed","closed_at":5,"close_reason":"x","rate_until":9,"rating":{"score":4,"at":6,"x":"<"}}`,
		`{"id":"s","status":"queued","epoch":9007199254740991,"declined":["a","b"],"transfers":[null,{}],"version":18446744073709551615}`,
		`{"id":"s","status":"active","agent_id":"a","updated_at":253402300799999,"applied":[{"id":"x","number":3,"y":1}],"ID":1}`)
	f.Fuzz(func(t *testing.T, hash bool, data []byte) {
		layout, v := entities.Fuzzed(hash, data)
		s, ok := read(t, v, "session:s", func(s session.Sessions) (session.Session, error) {
			n, err := s.Get(context.Background(), "s")
			if domains.RefusalOf(err) == session.ErrNoSession && !v.Exists() {
				err = nil
			}
			return n, err
		})
		if !ok {
			return
		}
		require.NoError(t, s.Check())
		entities.RoundTrip[session.Session](t, layout, &s, v)
		everyOperation(t, layout, s, v)
	})
}

// everyOperation applies each operation to a session that was read: one that succeeds leaves a session that can
// be stored, and one that is refused leaves it as it was.
func everyOperation(t *testing.T, layout domains.Layout, s session.Session, cur rmw.Value) {
	s.Waited(minute(0))
	s.FirstResponse()
	s.Lasted(minute(0))
	s.Chatted()
	for _, op := range allOperations() {
		for _, moment := range []domains.Time{1, max(1, s.UpdatedAt), max(1, s.RateUntil), at(0), maxTime} {
			one := usual(op, s)
			if one.at = moment; moment == 1 {
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
	f.Fuzz(func(t *testing.T, hash bool, data []byte) {
		layout, value := entities.Fuzzed(hash, data)
		v, ok := read(t, value, "visitor:v", func(s session.Sessions) (session.Visitor, error) {
			return s.Visitor(context.Background(), "v")
		})
		if !ok {
			return
		}
		require.NoError(t, v.Check())
		entities.RoundTrip[session.Visitor](t, layout, &v, value)
		for _, op := range []func(v *session.Visitor) error{
			func(n *session.Visitor) error { return n.Reserve(v.ID, v, "s2", v.Epoch, at(1)) },
			func(n *session.Visitor) error { return n.Reserve(v.ID, session.Visitor{}, "s2", v.Epoch, at(1)) },
			func(n *session.Visitor) error { return n.Confirm(v.SessionID) },
			func(n *session.Visitor) error { return n.Release(v.SessionID, v.Epoch+1) },
		} {
			n := v
			if err := op(&n); err != nil {
				require.True(t, reflect.DeepEqual(v, n), "%v", err)
				continue
			}
			require.NoError(t, n.Check())
			entities.RoundTrip[session.Visitor](t, layout, &n, value)
		}
	})
}
