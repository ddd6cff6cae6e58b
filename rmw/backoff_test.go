package rmw_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/unwatch/unwatch/rmw"
)

// almostOne is the largest jitter there is.
var almostOne = math.Nextafter(1, 0)

func TestBackoffDoublesUpToItsCeiling(t *testing.T) {
	b := rmw.Backoff{Base: 10 * time.Millisecond, Max: 50 * time.Millisecond}
	for attempt, want := range map[int]time.Duration{1: 5, 2: 10, 3: 20, 4: 25, 5: 25, 1 << 30: 25} {
		assert.Equal(t, want*time.Millisecond, b.Delay(attempt, 0.5), "attempt %d", attempt)
	}
	for _, attempt := range []int{0, -1, math.MinInt} {
		assert.Equal(t, b.Delay(1, 0.5), b.Delay(attempt, 0.5), "attempt %d", attempt)
	}
	assert.Zero(t, b.Delay(4, 0))
	assert.Equal(t, time.Minute/2, rmw.Backoff{Base: time.Minute}.Delay(1, 0.5), "no Max")
	for _, b := range []rmw.Backoff{{Base: 3}, {Base: math.MaxInt64}, {Base: 3, Max: 1 << 62}} {
		assert.Equal(t, time.Duration(1<<61), b.Delay(1<<30, 0.5), "half of 2^62 ns, without an overflow: %+v", b)
	}
	assert.Equal(t, 500*time.Millisecond, rmw.Backoff{Base: time.Minute, Max: time.Second}.Delay(1, 0.5), "a Base above Max")
}

func TestZeroBackoffDoesNotWait(t *testing.T) {
	for _, b := range []rmw.Backoff{{}, {Max: time.Second}, {Base: -time.Second}, {Base: math.MinInt64, Max: time.Second}} {
		assert.Zero(t, b.Delay(1, almostOne))
		assert.Zero(t, b.Delay(1<<30, almostOne), "and takes no time to say so")
	}
}
