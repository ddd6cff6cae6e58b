package session_test

import (
	"context"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/domains/session"
	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/rmwtest"
)

// The bytes of a fuzz test are a document, or the fields of a hash: names and values in turn, each ended by a
// zero.

func valueOf(layout domains.Layout, data []byte) rmw.Value {
	if layout == domains.JSON {
		return rmw.Bytes(data)
	}
	parts := strings.Split(string(data), "\x00")
	fields := map[string]string{}
	for i := 0; i+1 < len(parts); i += 2 {
		fields[parts[i]] = parts[i+1]
	}
	return rmw.Hash(fields)
}

func bytesOf(t testing.TB, layout domains.Layout, document string) []byte {
	if layout == domains.JSON {
		return []byte(document)
	}
	var b strings.Builder
	for name, text := range stored(t, layout, document).Fields() {
		b.WriteString(name + "\x00" + text + "\x00")
	}
	return []byte(b.String())
}

// seeds adds documents, in both layouts.
func seeds(f *testing.F, documents ...string) {
	for _, document := range documents {
		for _, layout := range []domains.Layout{domains.JSON, domains.Hash} {
			f.Add(layout == domains.Hash, bytesOf(f, layout, document))
		}
	}
	for _, text := range []string{"", "null", "[]", `"x"`, "{}", "id\x00s\x00status\x00queued\x00queued_at\x001e3\x00"} {
		f.Add(false, []byte(text))
		f.Add(true, []byte(text))
	}
}

// again encodes a value, decodes it, and encodes that: the same must come out.
func again[T any, E domains.Entity[T]](t *testing.T, layout domains.Layout, value *T, cur rmw.Value) {
	codec := domains.CodecOf[T, E](layout, nil)
	once, err := codec.Encode(value, cur)
	require.NoError(t, err, "what was read cannot be written")
	var back T
	require.NoError(t, codec.Decode(once, &back), "what was written cannot be read")
	twice, err := codec.Encode(&back, once)
	require.NoError(t, err)
	require.True(t, once.Equal(twice), "%q, then %q", once.Text(), twice.Text())
}

// read decodes data as Sessions does, and fails unless the result is a value or a clear error.
func read[T any](t *testing.T, data rmw.Value, key string, get func(s session.Sessions) (T, error)) (T, bool) {
	for _, layout := range layouts() {
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

// layoutOf is the layout of a fuzz test's value.
func layoutOf(hash bool) domains.Layout {
	if hash {
		return domains.Hash
	}
	return domains.JSON
}

func FuzzDecodeSession(f *testing.F) {
	for _, status := range session.Transitions().States() {
		seeds(f, legacy(session.Status(status)))
	}
	seeds(f, full, `{"id":"s","status":"closed","closed_at":5,"close_reason":"x","rate_until":9,"rating":{"score":4,"at":6,"x":"<"}}`,
		`{"id":"s","status":"queued","epoch":9007199254740991,"declined":["a","b"],"transfers":[null,{}],"version":18446744073709551615}`,
		`{"id":"s","status":"active","agent_id":"a","updated_at":253402300799999,"applied":[{"id":"x","number":3,"y":1}],"ID":1}`)
	f.Fuzz(func(t *testing.T, hash bool, data []byte) {
		layout := layoutOf(hash)
		v := valueOf(layout, data)
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
		again[session.Session](t, layout, &s, v)
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
			again[session.Session](t, layout, &after, cur)
		}
	}
}

func FuzzDecodeVisitor(f *testing.F) {
	seeds(f, `{"id":"v","session_id":"s","state":"held"}`,
		`{"id":"v","session_id":"s","state":"reserved","until":253402300799999,"epoch":9007199254740991,"foreign":`+foreign+`}`,
		`{"id":"v","session_id":"s","state":"reserved","format":1,"version":3,"applied":[{"id":"x"}],"State":1}`)
	f.Fuzz(func(t *testing.T, hash bool, data []byte) {
		layout := layoutOf(hash)
		value := valueOf(layout, data)
		v, ok := read(t, value, "visitor:v", func(s session.Sessions) (session.Visitor, error) {
			return s.Visitor(context.Background(), "v")
		})
		if !ok {
			return
		}
		require.NoError(t, v.Check())
		again[session.Visitor](t, layout, &v, value)
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
			again[session.Visitor](t, layout, &n, value)
		}
	})
}
