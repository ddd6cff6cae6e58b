package domains_test

import (
	"maps"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/rmw"
)

// aTicket is any Ticket that Check accepts. Empty maps and lists are nil: neither layout tells them apart.
func aTicket(t *rapid.T) Ticket {
	text := rapid.StringN(0, 5, 10)
	ticket := Ticket{
		ID:    rapid.StringN(1, 10, 40).Draw(t, "id"),
		Title: rapid.StringN(0, 10, 40).Draw(t, "title"),
		Done:  rapid.Bool().Draw(t, "done"),
		Loud:  rapid.Bool().Draw(t, "loud"),
		Size:  rapid.IntMin(0).Draw(t, "size"),
		Big:   rapid.Uint64().Draw(t, "big"),
		Rate:  rapid.Float64().Draw(t, "rate"),
		Due:   domains.Time(rapid.Int64().Draw(t, "due")),
		Tags:  rapid.SliceOfN(text, 0, 3).Draw(t, "tags"),
		Parts: rapid.MapOfN(text, rapid.Custom(func(t *rapid.T) Part {
			return Part{Name: text.Draw(t, "name"), Count: rapid.Uint64().Draw(t, "count")}
		}), 0, 3).Draw(t, "parts"),
		Votes: rapid.MapOfN(text, rapid.Int64(), 0, 3).Draw(t, "votes"),
	}
	ticket.Version = rapid.Uint64().Draw(t, "version")
	for _, id := range rapid.SliceOfNDistinct(rapid.StringN(1, 5, 10), 0, 5, rapid.ID).Draw(t, "applied") {
		ticket.Applied = append(ticket.Applied, domains.Applied{ID: id, Number: rapid.Uint64().Draw(t, "number")})
	}
	if rapid.Bool().Draw(t, "noted") {
		ticket.Note = &Note{Text: text.Draw(t, "note")}
	}
	return tidy(ticket)
}

func tidy(t Ticket) Ticket {
	if len(t.Tags) == 0 {
		t.Tags = nil
	}
	if len(t.Parts) == 0 {
		t.Parts = nil
	}
	if len(t.Votes) == 0 {
		t.Votes = nil
	}
	return t
}

// An encoded entity decodes to the same, also over an earlier value.
func TestLayoutsRoundTrip(t *testing.T) {
	eachLayout(t, func(t *testing.T, layout domains.Layout) {
		codec := ticketCodec(layout)
		rapid.Check(t, func(t *rapid.T) {
			var cur rmw.Value
			for range rapid.IntRange(1, 3).Draw(t, "writes") {
				want := aTicket(t)
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
	})
}

// The hash holds a field per attribute, as services in other languages expect it.
func TestHashLayoutGolden(t *testing.T) {
	ticket := fullTicket()
	v, err := ticketCodec(domains.Hash).Encode(&ticket, rmw.Value{})
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

func TestJSONLayoutGolden(t *testing.T) {
	ticket := fullTicket()
	v, err := ticketCodec(domains.JSON).Encode(&ticket, rmw.Value{})
	require.NoError(t, err)
	assert.Equal(t, `{"format":1,"version":1,"applied":[{"id":"a","number":2}],"id":"7","title":"t","done":true,"loud":true,`+
		`"size":3,"big":9007199254740993,"rate":0.5,"due":4,"tags":["x"],"note":{"text":"n"},`+
		`"parts":{"p":{"name":"p","count":5}},"votes":{"ann":-6}}`, v.Text())
}

// Unknown fields of the hash and unknown members of its entries survive every change.
func TestUnknownHashFieldsStay(t *testing.T) {
	codec := ticketCodec(domains.Hash)
	rapid.Check(t, func(t *rapid.T) {
		first, second := aTicket(t), aTicket(t)
		v, err := codec.Encode(&first, rmw.Value{})
		require.NoError(t, err)
		strangers := rapid.MapOf(rapid.StringN(0, 8, 16), rapid.String()).Draw(t, "strangers")
		maps.DeleteFunc(strangers, func(name, _ string) bool {
			for _, prefix := range []string{"part:", "vote:"} {
				if len(name) >= len(prefix) && name[:len(prefix)] == prefix {
					return true
				}
			}
			return false
		})
		maps.Copy(strangers, map[string]string{"par": "p", "part": "q", "Part:x": "r", "ID": "s", "Version": "t", "": "u"})
		known := v.Fields()
		for name := range strangers {
			if _, ok := known[name]; ok {
				delete(strangers, name)
			}
		}
		v = v.Edit(func(fields map[string]string) { maps.Copy(fields, strangers) })
		v, err = codec.Encode(&second, v)
		require.NoError(t, err)

		alone, err := codec.Encode(&second, rmw.Value{})
		require.NoError(t, err)
		want := alone.Fields()
		maps.Copy(want, strangers)
		require.Equal(t, want, v.Fields())
	})
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

func TestLayoutString(t *testing.T) {
	assert.Equal(t, "json", domains.JSON.String())
	assert.Equal(t, "hash", domains.Hash.String())
	assert.Equal(t, rmw.KindString, ticketCodec(domains.JSON).Kind())
	assert.Equal(t, "hash by version", domains.HashByVersion.String())
	assert.Equal(t, rmw.KindHash, ticketCodec(domains.Hash).Kind())
	assert.Equal(t, rmw.KindHash, ticketCodec(domains.HashByVersion).Kind())
}
