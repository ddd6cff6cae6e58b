package domains_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/driver"
)

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
