package domains_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/rmw"
)

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
