// Package entities provides helpers for the tests of the entities of package domains.
package entities

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/rmwtest"
)

// The outcomes of a call besides the codes of refusals.
const (
	Changed = "changed"
	Kept    = "kept"
	Invalid = "invalid"
)

// Outcome returns the outcome of a call in the words of a model: the code of a refusal, and what its text adds to that
// of the refusal and of its subject.
func Outcome(subject string, err error, changed bool) string {
	switch refusal := domains.RefusalOf(err); {
	case refusal != nil:
		return refusal.Code() + strings.TrimPrefix(err.Error(), subject+": "+refusal.Error())
	case errors.Is(err, rmw.ErrInvalid):
		return Invalid
	case err != nil:
		return err.Error()
	case changed:
		return Changed
	}
	return Kept
}

// Layouts are all layouts.
func Layouts() []domains.Layout {
	return []domains.Layout{domains.JSON, domains.Hash, domains.HashByVersion}
}

// Foreign is what another service has put beside the fields that are known here, with more digits than a float64 has.
const Foreign = `{"list":[1.50,12345678901234567890,"é"],"null":null}`

// Unknown returns the field "foreign" with the value [Foreign], as Create keeps it. A hash keeps it only where the other
// service stored it.
func Unknown(layout domains.Layout) (u domains.Unknown) {
	if layout == domains.JSON {
		if err := domains.NamesOf[struct{}]().Unmarshal([]byte(`{"foreign":`+Foreign+`}`), &struct{}{}, &u); err != nil {
			panic(err)
		}
	}
	return u
}

// Stored is a document of a T as it lies in the store.
func Stored[T any](t require.TestingT, layout domains.Layout, document string) rmw.Value {
	if layout == domains.JSON {
		return rmw.String(document)
	}
	var fields map[string]json.RawMessage
	require.NoError(t, json.Unmarshal([]byte(document), &fields))
	hash := map[string]string{}
	for f := range reflect.TypeFor[T]().Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		prefix, ok := f.Tag.Lookup("hash") // each entry has a field of its own
		if raw := fields[name]; ok && raw != nil {
			var entries map[string]json.RawMessage
			require.NoError(t, json.Unmarshal(raw, &entries))
			for id, entry := range entries {
				hash[prefix+id] = string(entry)
			}
			delete(fields, name)
		}
	}
	for name, raw := range fields {
		hash[name] = string(raw)
		switch raw[0] {
		case '"':
			var text string
			require.NoError(t, json.Unmarshal(raw, &text))
			hash[name] = text
		case 't':
			hash[name] = "1"
		}
	}
	return rmw.Hash(hash)
}

// fuzzed is the value of a fuzz test: a document, or the fields of a hash, names and values in turn, each ended by a zero.
func fuzzed(hash bool, data []byte) (domains.Layout, rmw.Value) {
	if !hash {
		return domains.JSON, rmw.Bytes(data)
	}
	parts := strings.Split(string(data), "\x00")
	fields := map[string]string{}
	for i := 0; i+1 < len(parts); i += 2 {
		fields[parts[i]] = parts[i+1]
	}
	return domains.Hash, rmw.Hash(fields)
}

// Seed adds documents of a T to a fuzz test, each also as a hash, and texts that are no documents.
func Seed[T any](f *testing.F, documents ...string) {
	for _, document := range documents {
		f.Add(false, []byte(document))
		var b strings.Builder
		for name, text := range Stored[T](f, domains.Hash, document).Fields() {
			b.WriteString(name + "\x00" + text + "\x00")
		}
		f.Add(true, []byte(b.String()))
	}
	for _, text := range []string{
		"", "null", "[]", `"x"`, "{}", "id\x00a\x00status\x00online\x00accepting\x00true\x00slot:\x00{}\x00",
		"id\x00s\x00status\x00queued\x00queued_at\x001e3\x00",
	} {
		f.Add(false, []byte(text))
		f.Add(true, []byte(text))
	}
}

// Fuzz reads fuzzed values of a key, and calls then with each entity that is read. The error of any other value says that
// it cannot be decoded.
func Fuzz[T any, E domains.Entity[T]](
	f *testing.F, key string, get func(context.Context, rmw.Store, domains.Layout) (T, error),
	then func(t *testing.T, layout domains.Layout, entity T, cur rmw.Value),
) {
	f.Fuzz(func(t *testing.T, hash bool, data []byte) {
		layout, v := fuzzed(hash, data)
		m := rmwtest.NewMemory()
		require.NoError(t, m.Set(t.Context(), key, v, rmw.NoTTL))
		entity, err := get(t.Context(), m, layout)
		switch {
		case !v.Exists():
		case err != nil:
			require.Nil(t, domains.RefusalOf(err), "%v", err)
			require.ErrorIs(t, err, rmw.ErrUndecodable)
			require.NotErrorIs(t, err, rmw.ErrInvalid)
			require.Zero(t, entity)
		default:
			require.NoError(t, E(&entity).Check())
			RoundTrip[T, E](t, layout, &entity, v)
			then(t, layout, entity, v)
		}
	})
}

// WireFormat checks that a document, and the hash of the same fields, is written as it was read, and calls check with the
// entity.
func WireFormat[T any, E domains.Entity[T]](t *testing.T, document string, check func(T)) {
	for _, layout := range Layouts()[:2] {
		v, codec := Stored[T](t, layout, document), domains.CodecOf[T, E](layout, nil)
		var entity T
		require.NoError(t, codec.Decode(v, &entity))
		again, err := codec.Encode(&entity, v)
		require.NoError(t, err)
		require.Equal(t, v.Text(), again.Text())
		require.Equal(t, v.Fields(), again.Fields())
		check(entity)
	}
}

// AssertBroken asserts that a document is that of an entity, and that none of its changes is. The error of a change
// contains the key of the map, and quotes nothing of the document. A change is a JSON merge patch (RFC 7396), in which LONG
// stands for 5,000 bytes.
func AssertBroken[T any, E domains.Entity[T]](t *testing.T, document string, changes map[string][]string) {
	t.Helper()
	long, codec := strings.Repeat("x", 5000), domains.CodecOf[T, E](domains.JSON, nil)
	require.NoError(t, codec.Decode(rmw.String(document), new(T)))
	for says, patches := range changes {
		for _, patch := range patches {
			broken, err := json.Marshal(merged(parsed(t, document), parsed(t, strings.ReplaceAll(patch, "LONG", long))))
			require.NoError(t, err)
			err = codec.Decode(rmw.Bytes(broken), new(T))
			require.ErrorContains(t, err, says, patch)
			require.NotContains(t, err.Error(), long)
		}
	}
}

// parsed keeps the digits of numbers.
func parsed(t *testing.T, text string) (v any) {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	require.NoError(t, dec.Decode(&v), text)
	return v
}

// merged applies a merge patch.
func merged(target, patch any) any {
	changes, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	object, ok := target.(map[string]any)
	if !ok {
		object = map[string]any{}
	}
	for name, change := range changes {
		if change == nil {
			delete(object, name)
			continue
		}
		object[name] = merged(object[name], change)
	}
	return object
}

// RoundTrip encodes an entity, decodes it, and requires that the result is encoded the same. cur is the stored value.
func RoundTrip[T any, E domains.Entity[T]](t *testing.T, layout domains.Layout, entity *T, cur rmw.Value) {
	codec := domains.CodecOf[T, E](layout, nil)
	once, err := codec.Encode(entity, cur)
	require.NoError(t, err, "the decoded entity cannot be encoded")
	var back T
	require.NoError(t, codec.Decode(once, &back), "the encoded entity cannot be decoded")
	twice, err := codec.Encode(&back, once)
	require.NoError(t, err)
	require.True(t, once.Equal(twice), "%q, then %q", once.Text(), twice.Text())
}
