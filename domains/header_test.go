package domains_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/rmw"
)

// Find goes by the id, and by the names if both have one. Has goes by the id.
func TestHeaderFind(t *testing.T) {
	h := domains.Header{Applied: []domains.Applied{{ID: "a"}, {ID: "b", Op: "Post", Number: 7}, {ID: ""}}}
	for op, want := range map[domains.Op]string{
		{ID: "a"}:               "0 true false",
		{ID: "a", Name: "Join"}: "0 true false",
		{ID: "b"}:               "7 true false",
		{ID: "b", Name: "Post"}: "7 true false",
		{ID: "b", Name: "post"}: "0 false true",
		{ID: "c", Name: "Post"}: "0 false false",
		{ID: "", Name: "Post"}:  "0 false false",
	} {
		number, done, err := h.Find(op)
		assert.Equal(t, want, fmt.Sprint(number, done, errors.Is(err, rmw.ErrInvalid)), op)
	}
	number, done := h.Has("b")
	assert.Equal(t, "7 true", fmt.Sprint(number, done))
}
