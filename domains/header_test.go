package domains_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/rmw"
)

// Find goes by the id, and by the names if both have one. Has goes by the id.
func TestHeaderFind(t *testing.T) {
	h := domains.Header{Applied: []domains.Applied{{ID: "a"}, {ID: "b", Op: "Post", Number: 7}, {ID: ""}}}
	for _, test := range []struct {
		id, name string
		number   uint64
		done     bool
		invalid  bool
	}{
		{"a", "", 0, true, false},
		{"a", "Join", 0, true, false},
		{"b", "", 7, true, false},
		{"b", "Post", 7, true, false},
		{"b", "post", 0, false, true},
		{"b", "Join", 0, false, true},
		{"c", "Post", 0, false, false},
		{"", "Post", 0, false, false},
	} {
		number, done, err := h.Find(opAt(test.id).As(test.name))
		assert.Equal(t, test.number, number, test)
		assert.Equal(t, test.done, done, test)
		assert.Equal(t, test.invalid, errors.Is(err, rmw.ErrInvalid), test)
	}
	number, done := h.Has("b")
	assert.Equal(t, uint64(7), number)
	assert.True(t, done)
	assert.Same(t, &h, h.Head())
}
