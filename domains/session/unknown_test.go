package session_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/domains/session"
	"github.com/unwatch/unwatch/rmw"
)

// foreign is what another service has put beside the fields that are known here: more
// digits than a float64 has, and text that HTML would escape.
const foreign = `{"list":[1.50,12345678901234567890],"text":"<a&b>\u2028","null":null}`

// field returns one field of what is stored; of a document, its JSON text.
func field(t testing.TB, v rmw.Value, name string) string {
	t.Helper()
	if v.Kind() == rmw.KindHash {
		text, _ := v.Field(name)
		return text
	}
	var fields map[string]json.RawMessage
	require.NoError(t, json.Unmarshal([]byte(v.Text()), &fields))
	return string(fields[name])
}

// sameJSON compares two JSON texts: their numbers by their digits.
func sameJSON(t testing.TB, want, got, what string) {
	t.Helper()
	var a, b json.RawMessage
	require.NoError(t, json.Unmarshal([]byte(want), &a), what)
	require.NoError(t, json.Unmarshal([]byte(got), &b), "%s: %q", what, got)
	assert.Equal(t, canonical(t, want), canonical(t, got), what)
}

func canonical(t testing.TB, text string) string {
	t.Helper()
	b, err := json.Marshal(json.RawMessage(text)) // escapes alike, and drops blanks
	require.NoError(t, err)
	return string(b)
}

// withForeign is the document of a session in a state, after another service has been
// at it.
func withForeign(t testing.TB, status session.Status) string {
	t.Helper()
	s := made(t, status)
	s.Transfers = []session.Transfer{{From: "ben", To: "ann", Kind: session.ToAgent, At: at(1)}}
	text, err := json.Marshal(s)
	require.NoError(t, err)
	var fields map[string]any
	require.NoError(t, json.Unmarshal(text, &fields))
	fields["foreign"] = json.RawMessage(foreign)
	fields["transfers"].([]any)[0].(map[string]any)["foreign"] = json.RawMessage(foreign)
	text, err = json.Marshal(fields)
	require.NoError(t, err)
	return string(text)
}

// What another service has stored stays through a session's life, within transfers, too.
func TestUnknownFieldsStay(t *testing.T) {
	each(t, func(b *bench) {
		b.put(withForeign(b, session.Assigned))
		for i, change := range []func(s *session.Session, at domains.Time) error{
			func(s *session.Session, at domains.Time) error { return s.Reply(at, "ann") },
			func(s *session.Session, at domains.Time) error { return s.Transfer(at, "ben", s.Epoch, "", "") },
			func(s *session.Session, at domains.Time) error { return s.Decline(at, "ben") },
			func(s *session.Session, at domains.Time) error { return s.Close(at, session.BySystem, windows) },
			func(s *session.Session, at domains.Time) error { return s.Reopen(at, s.Epoch) },
		} {
			s := b.edit(9+i, change)
			v, _ := b.look("session:s")
			sameJSON(b, foreign, field(b, v, "foreign"), "at the top")
			var transfers []map[string]json.RawMessage
			require.NoError(b, json.Unmarshal([]byte(field(b, v, "transfers")), &transfers))
			sameJSON(b, foreign, string(transfers[0]["foreign"]), "in a transfer")
			raw, ok := s.Transfers[0].Unknown.Field("foreign")
			assert.True(b, ok)
			sameJSON(b, foreign, string(raw), "as it was read")
		}
	})
}

// So is what lies beside the rating, by all that may still happen to a session that is
// rated.
func TestUnknownInRating(t *testing.T) {
	each(t, func(b *bench) {
		s := made(b, session.Closed)
		b.put(`{"id":"s","status":"closed","closed_at":5,"close_reason":"agent","epoch":2,
			"rating":{"score":4,"at":6,"foreign":` + foreign + `}}`)
		s, err := b.sessions.Fence(b.Context(), "s", minute(10), s.Epoch)
		require.NoError(b, err)
		raw, ok := s.Rating.Unknown.Field("foreign")
		assert.True(b, ok)
		sameJSON(b, foreign, string(raw), "as it was read")
		v, _ := b.look("session:s")
		var rating map[string]json.RawMessage
		require.NoError(b, json.Unmarshal([]byte(field(b, v, "rating")), &rating))
		sameJSON(b, foreign, string(rating["foreign"]), "in the rating")
		sameJSON(b, `4`, string(rating["score"]), "the score")
	})
}

// And what lies in the index.
func TestUnknownInVisitor(t *testing.T) {
	each(t, func(b *bench) {
		require.NoError(b, b.target.Direct.Set(b.Context(), "visitor:v", stored(b, b.layout,
			`{"id":"v","session_id":"s1","state":"reserved","until":9,"foreign":`+foreign+`}`), rmw.NoTTL))
		b.confirm("s1")
		b.reserve(b.entry(), "s2", 3)
		v, _ := b.look("visitor:v")
		sameJSON(b, foreign, field(b, v, "foreign"), "at the top")
		assert.Equal(b, "s2", b.entry().SessionID)
	})
}

// A new session takes along what whoever makes it has put beside the known fields; a
// hash keeps what is unknown only where it lies.
func TestUnknownInCreate(t *testing.T) {
	var info session.Session
	require.NoError(t, json.Unmarshal([]byte(`{"id":"x","status":"bot","foreign":`+foreign+`}`), &info))
	b := onMemory(t, domains.JSON)
	_, err := b.sessions.Create(b.Context(), "s", b.op(0), info)
	require.NoError(b, err)
	v, _ := b.look("session:s")
	sameJSON(b, foreign, field(b, v, "foreign"), "at the top")
}
