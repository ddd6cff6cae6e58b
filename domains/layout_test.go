package domains_test

import (
	"maps"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/driver"
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

// Coupon is an entity that relies on the defaults of encoding/json: a field without a tag, structs embedded for
// their fields or, with a tag, as a field, and no entries with fields of their own.
type Coupon struct {
	domains.Header
	Audit
	Place  `json:"place"`
	ID     string `json:"id"`
	Hits   int
	Memo   string `json:",omitempty"`
	Hidden string `json:"-"`
	inner  string
}

// Audit is promoted, Place is one field.
type Audit struct {
	By string `json:"by,omitempty"`
}

// Place has fields, too, that must not be taken for those of the Coupon.
type Place struct {
	City string `json:"city"`
	Hits string `json:"hits"`
}

func (c *Coupon) Check() error { return domains.CheckID("coupon", c.ID) }

func couponCodec(layout domains.Layout) rmw.Codec[Coupon] {
	return domains.CodecOf[Coupon, *Coupon](layout, nil)
}

// The hash has the fields that the document has.
func TestLayoutsStoreTheSameFields(t *testing.T) {
	want := Coupon{ID: "7", Hits: 2, Memo: "m", Audit: Audit{By: "ann"}, Place: Place{City: "c", Hits: "h"}}
	want.Version = 3
	document, err := couponCodec(domains.JSON).Encode(&want, rmw.Value{})
	require.NoError(t, err)
	hash, err := couponCodec(domains.Hash).Encode(&want, rmw.Value{})
	require.NoError(t, err)
	assert.Equal(t, map[string]string{
		"version": "3", "id": "7", "Hits": "2", "Memo": "m", "by": "ann", "place": `{"city":"c","hits":"h"}`,
	}, hash.Fields())
	for name := range reading(t, []byte(document.Text())) {
		_, ok := hash.Field(name)
		assert.True(t, ok, name)
	}
	for v, codec := range map[*rmw.Value]rmw.Codec[Coupon]{&document: couponCodec(domains.JSON), &hash: couponCodec(domains.Hash)} {
		var got Coupon
		require.NoError(t, codec.Decode(*v, &got))
		assert.Equal(t, want, got)
	}
	assert.Empty(t, want.inner)
}

// guarded changes a stored hash by a codec, and returns the fields of the guard, sorted, or "all".
func guarded[T any](t *testing.T, codec rmw.Codec[T], stored map[string]string, change func(*T)) (guard string, next rmw.Value) {
	t.Helper()
	v := driver.Traced(rmw.Hash(stored))
	var e T
	require.NoError(t, codec.Decode(v, &e))
	change(&e)
	next, err := codec.Encode(&e, v)
	require.NoError(t, err)
	if fields, ok := driver.Reads(v, next, nil); ok {
		return strings.Join(fields, " "), next
	}
	return "all", next
}

// The guard of a Hash covers the known fields, and with entries that have fields of their own all; that of a HashByVersion
// covers the version and the changed fields, for any size of the rest.
func TestGuardedFields(t *testing.T) {
	guard, next := guarded(t, couponCodec(domains.Hash), map[string]string{"id": "7", "Hits": "1", "Memo": "m", "other": "x"},
		func(c *Coupon) { c.Hits, c.Memo = 2, "" })
	assert.Equal(t, "Hits Memo applied by format id place version", guard)
	assert.Equal(t, map[string]string{"id": "7", "Hits": "2", "other": "x", "place": `{"city":"","hits":""}`}, next.Fields())

	ticket := map[string]string{
		"id": "7", "big": "0", "loud": "0", "version": "4", "size": "1", "title": "t",
		"part:p": `{"name":"p"}`, "part:q": `{"name":"q"}`, "x": "y",
	}
	change := func(n *Ticket) {
		n.Size, n.Version, n.Title = 2, 5, ""
		delete(n.Parts, "p")
	}
	guard, _ = guarded(t, ticketCodec(domains.Hash), ticket, change)
	assert.Equal(t, "all", guard)
	guard, _ = guarded(t, ticketCodec(domains.HashByVersion), ticket, func(*Ticket) {})
	assert.Equal(t, "version", guard, "what refuses, or keeps, goes by the version alone")
	guard, next = guarded(t, ticketCodec(domains.HashByVersion), ticket, change)
	assert.Equal(t, "part:p size title version", guard)
	assert.Equal(t, map[string]string{
		"id": "7", "big": "0", "loud": "0", "version": "5", "size": "2", "part:q": `{"name":"q"}`, "x": "y",
	}, next.Fields())

	// A Mend may have read any field.
	for size, want := range map[string]string{"-1": "all", "1": "size version"} {
		ticket["size"] = size
		guard, next = guarded(t, domains.CodecOf(domains.HashByVersion, nil, bySize), ticket, func(n *Ticket) { n.Size += 2 })
		assert.Equal(t, want, guard, "a Mend that changes nothing costs nothing")
		size, _ := next.Field("size")
		assert.NotEqual(t, "-1", size)
	}
}
