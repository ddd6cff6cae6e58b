package rmw_test

import (
	"math"
	"math/rand/v2"
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
	assert.Equal(t, 500*time.Millisecond, rmw.Backoff{Base: time.Minute, Max: time.Second}.Delay(1, 0.5), "a Base above Max")
}

func TestZeroBackoffDoesNotWait(t *testing.T) {
	for _, b := range []rmw.Backoff{{}, {Max: time.Second}, {Base: -time.Second}, {Base: math.MinInt64, Max: time.Second}} {
		assert.Zero(t, b.Delay(1, almostOne))
		assert.Zero(t, b.Delay(1<<30, almostOne), "and takes no time to say so")
	}
}

// Everything that is promised of any Backoff, over many of them.
func TestBackoffProperties(t *testing.T) {
	const most = time.Duration(math.MaxInt64)
	edges := []time.Duration{
		1, 2, 3, time.Millisecond, time.Second, 1<<53 - 1, 1<<53 + 1, 1<<61 + 1,
		1<<62 - 1, 1 << 62, 1<<62 + 1, 1<<62 + 12345, most - 1, most,
	}
	random := rand.New(rand.NewPCG(1, 2))
	for len(edges) < 60 {
		edges = append(edges, 1+time.Duration(random.Int64()>>random.IntN(63)))
	}
	attempts := []int{1, 2, 3, 10, 61, 62, 63, 64, 65, 1000, 1 << 30, math.MaxInt}
	jitters := []float64{0, math.SmallestNonzeroFloat64, 0.5, random.Float64(), almostOne}
	for _, base := range edges {
		for _, limit := range append(edges, 0) {
			b := rmw.Backoff{Base: base, Max: limit}
			ceiling := limit
			if limit == 0 {
				ceiling = 1 << 62
			}
			var before time.Duration
			for _, attempt := range attempts {
				for _, jitter := range jitters {
					d := b.Delay(attempt, jitter)
					if d < 0 || d > ceiling {
						t.Fatalf("%+v: Delay(%d, %v) = %d, not within [0, %d]", b, attempt, jitter, d, ceiling)
					}
					if again := b.Delay(attempt, jitter); again != d {
						t.Fatalf("%+v: Delay(%d, %v) = %d, then %d", b, attempt, jitter, d, again)
					}
				}
				longest := b.Delay(attempt, almostOne)
				if longest < before {
					t.Fatalf("%+v: Delay(%d) may be %d, but was up to %d before", b, attempt, longest, before)
				}
				before = longest
			}
		}
	}
}
