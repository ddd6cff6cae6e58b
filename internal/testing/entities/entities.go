// Package entities provides helpers for the tests of the entities of package domains.
package entities

import (
	"context"
	"encoding/json"
	"errors"
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

// Stored is a document as it lies in the store. In a hash, each entry of the field parts, which may be "", has a field of
// its own, whose name begins with prefix.
func Stored(t require.TestingT, layout domains.Layout, document, parts, prefix string) rmw.Value {
	if layout == domains.JSON {
		return rmw.String(document)
	}
	var fields, entries map[string]json.RawMessage
	require.NoError(t, json.Unmarshal([]byte(document), &fields))
	if raw, ok := fields[parts]; ok {
		require.NoError(t, json.Unmarshal(raw, &entries))
		delete(fields, parts)
	}
	hash := map[string]string{}
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
	for name, raw := range entries {
		hash[prefix+name] = string(raw)
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

// Seed adds documents to a fuzz test, each also as the hash that asHash makes of it, and texts that are no documents.
func Seed(f *testing.F, asHash func(document string) rmw.Value, documents ...string) {
	for _, document := range documents {
		f.Add(false, []byte(document))
		var b strings.Builder
		for name, text := range asHash(document).Fields() {
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

// WireFormat checks that an entity is written as it was read, in each form, and calls check with it.
func WireFormat[T any, E domains.Entity[T]](t *testing.T, stored func(domains.Layout) rmw.Value, check func(T)) {
	for _, layout := range Layouts()[:2] {
		v, codec := stored(layout), domains.CodecOf[T, E](layout, nil)
		var entity T
		require.NoError(t, codec.Decode(v, &entity))
		again, err := codec.Encode(&entity, v)
		require.NoError(t, err)
		require.Equal(t, v.Text(), again.Text())
		require.Equal(t, v.Fields(), again.Fields())
		check(entity)
	}
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
