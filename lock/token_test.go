package lock_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/rmw"
)

func TestTokenNeedsALock(t *testing.T) {
	_, err := lock.Token(t.Context())
	assert.ErrorIs(t, err, rmw.ErrInvalid)
	assert.ErrorContains(t, err, "pass the ctx that WithLock or Update gave to fn")
}
