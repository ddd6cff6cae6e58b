package domains_test

import (
	"maps"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/rmw"
)

// extremeTicket has attributes at the ends of their ranges, and texts and names that a layout may misread.
func extremeTicket() Ticket {
	const text = " \x00\"\\,:{}[]<&>\u2028é🙂 part: "
	return Ticket{
		Header: domains.Header{Version: math.MaxUint64, Applied: []domains.Applied{{ID: text, Number: math.MaxUint64}, {ID: "1"}}},
		ID:     text, Title: text, Loud: true, Size: math.MaxInt, Big: math.MaxUint64, Rate: -math.SmallestNonzeroFloat64,
		Due: math.MinInt64, Tags: []string{"", text}, Note: &Note{},
		Parts: map[string]Part{"": {}, text: {Name: text, Count: math.MaxUint64}},
		Votes: map[string]int64{"": math.MinInt64, text: math.MaxInt64},
	}
}

// An encoded entity decodes to the same, also over an earlier value.
func TestLayoutsRoundTrip(t *testing.T) {
	full, extreme, empty := fullTicket(), extremeTicket(), Ticket{ID: "7"}
	eachLayout(t, func(t *testing.T, layout domains.Layout) {
		codec := ticketCodec(layout)
		var cur rmw.Value
		for _, want := range []Ticket{empty, full, extreme, full, empty, extreme, empty} {
			next, err := codec.Encode(&want, cur)
			require.NoError(t, err)
			require.Equal(t, codec.Kind(), next.Kind())
			require.Zero(t, next.TTL())
			var got Ticket
			require.NoError(t, codec.Decode(next, &got))
			require.Equal(t, want, got)

			again, err := codec.Encode(&got, next)
			require.NoError(t, err)
			require.True(t, next.Equal(again), "an unchanged entity is an unchanged value")
			cur = next
		}
	})
}

// The forms are a contract with services in other languages: a document, and a hash with a field per attribute.
func TestLayoutsGolden(t *testing.T) {
	ticket := fullTicket()
	v, err := ticketCodec(domains.JSON).Encode(&ticket, rmw.Value{})
	require.NoError(t, err)
	assert.Equal(t, `{"format":1,"version":1,"applied":[{"id":"a","number":2}],"id":"7","title":"t","done":true,"loud":true,`+
		`"size":3,"big":9007199254740993,"rate":0.5,"due":4,"tags":["x"],"note":{"text":"n"},`+
		`"parts":{"p":{"name":"p","count":5}},"votes":{"ann":-6}}`, v.Text())
	v, err = ticketCodec(domains.Hash).Encode(&ticket, rmw.Value{})
	require.NoError(t, err)
	assert.Equal(t, map[string]string{
		"format": "1", "version": "1", "applied": `[{"id":"a","number":2}]`, "id": "7", "title": "t", "done": "1", "loud": "1",
		"size": "3", "big": "9007199254740993", "rate": "0.5", "due": "4", "tags": `["x"]`, "note": `{"text":"n"}`,
		"part:p": `{"name":"p","count":5}`, "vote:ann": "-6",
	}, v.Fields())

	empty := Ticket{ID: "7"}
	v, err = ticketCodec(domains.Hash).Encode(&empty, v)
	require.NoError(t, err)
	assert.Equal(t, map[string]string{"id": "7", "loud": "0", "big": "0"}, v.Fields(),
		"what is empty has no field, and neither have the entries that are gone")
}

// Unknown fields of the hash survive every change, also if their names are almost those of known fields.
func TestUnknownHashFieldsStay(t *testing.T) {
	codec := ticketCodec(domains.Hash)
	strangers := map[string]string{"par": "p", "part": "q", "Part:x": "r", "vote": "s", "ID": "t", "Version": "u", "": "v", "x": "\xff"}
	full, empty := fullTicket(), Ticket{ID: "7"}
	v := rmw.Hash(strangers)
	for _, ticket := range []Ticket{full, empty, full} {
		alone, err := codec.Encode(&ticket, rmw.Value{})
		require.NoError(t, err)
		want := alone.Fields()
		maps.Copy(want, strangers)
		v, err = codec.Encode(&ticket, v)
		require.NoError(t, err)
		assert.Equal(t, want, v.Fields())
		var got Ticket
		require.NoError(t, codec.Decode(v, &got))
		assert.Equal(t, ticket, got)
	}
}

// A bool is decoded in several spellings, and encoded as 1 or 0.
func TestHashBoolSpellings(t *testing.T) {
	codec := ticketCodec(domains.Hash)
	for text, want := range map[string]bool{"1": true, "true": true, "TRUE": true, "0": false, "false": false} {
		var ticket Ticket
		require.NoError(t, codec.Decode(rmw.Hash(map[string]string{"id": "7", "loud": text}), &ticket), text)
		assert.Equal(t, want, ticket.Loud, text)
	}
}
