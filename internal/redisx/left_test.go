package redisx_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/rmw"
)

func TestLeft(t *testing.T) {
	for pttl, want := range map[int64]time.Duration{
		-2: 0, -1: rmw.NoTTL, 0: time.Millisecond, 1: time.Millisecond, 1500: 1500 * time.Millisecond,
	} {
		left, gone := redisx.Left(pttl)
		assert.Equal(t, want, left, pttl)
		assert.Equal(t, pttl == -2, gone, pttl)
	}
	left, gone := redisx.Left(math.MaxInt64)
	assert.Greater(t, left, 290*365*24*time.Hour, "not one that has passed")
	assert.False(t, gone)
}
