package rmw_test

import (
	"cmp"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

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
	assert.Equal(t, 500*time.Millisecond, rmw.Backoff{Base: time.Minute, Max: time.Second}.Delay(1, 0.5), "a Base above Max")
}

func TestZeroBackoffDoesNotWait(t *testing.T) {
	for _, b := range []rmw.Backoff{{}, {Max: time.Second}, {Base: -time.Second}, {Base: math.MinInt64, Max: time.Second}} {
		assert.Zero(t, b.Delay(1, almostOne))
		assert.Zero(t, b.Delay(1<<30, almostOne), "and takes no time to say so")
	}
}

// Each Delay is within the ceiling, and the longest one does not fall from attempt to attempt.
func TestBackoffProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := rmw.Backoff{
			Base: time.Duration(rapid.Int64Min(1).Draw(t, "Base")), Max: time.Duration(rapid.Int64Min(0).Draw(t, "Max")),
		}
		ceiling := cmp.Or(b.Max, 1<<62)
		attempt := rapid.OneOf(rapid.IntRange(1, 70), rapid.IntMin(1)).Draw(t, "attempt")
		delay, longest := b.Delay(attempt, rapid.Float64Range(0, almostOne).Draw(t, "jitter")), b.Delay(attempt, almostOne)
		if before := b.Delay(attempt-1, almostOne); delay < 0 || delay > longest || longest > ceiling || longest < before {
			t.Fatalf("%d of up to %d, with a ceiling of %d, after up to %d", delay, longest, ceiling, before)
		}
	})
}
