package report

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestRatesMatchPublishedTables(t *testing.T) {
	upper, lower := rateUpper, rateLower
	for _, c := range []struct {
		bound      func(events, n int64, confidence float64) float64
		events, n  int64
		confidence float64
		want       float64
	}{
		// n·p of a Poisson distribution: half the χ² quantile of 2x+2 degrees of freedom.
		{upper, 0, 1e6, 0.95, 2.9957e-6},
		{upper, 1, 1e6, 0.95, 4.7439e-6},
		{upper, 2, 1e6, 0.95, 6.2958e-6},
		{upper, 3, 1e6, 0.95, 7.7537e-6},
		{upper, 10, 1e6, 0.95, 16.962e-6},
		{upper, 0, 1e6, 0.99, 4.6052e-6},
		{upper, 5, 1e6, 0.99, 13.109e-6},
		{lower, 1, 1e6, 0.95, 0.0512933e-6},
		{lower, 2, 1e6, 0.95, 0.355362e-6},
		// Clopper and Pearson of small samples.
		{upper, 0, 10, 0.95, 0.258866},
		{upper, 1, 10, 0.95, 0.394163},
		{upper, 3, 10, 0.95, 0.606624},
		{upper, 5, 20, 0.975, 0.491046},
		{upper, 0, 27_434, 0.95, 1.0919e-4},
		{upper, 0, 0, 0.95, 1},
		{upper, 7, 7, 0.95, 1},
		{upper, -1, 10, 0.95, 0.258866},
		{lower, 5, 20, 0.975, 0.086571},
		{lower, 10, 10, 0.95, math.Pow(0.05, 0.1)},
		{lower, 11, 10, 0.95, math.Pow(0.05, 0.1)},
	} {
		assert.InEpsilon(t, c.want, c.bound(c.events, c.n, c.confidence), 1e-4, "%+v", c)
	}
	assert.Zero(t, rateLower(0, 10, 0.95))
	assert.Zero(t, rateLower(3, 0, 0.95))
	assert.Less(t, rateUpper(0, 29_956, 0.95), 1e-4)
	assert.Greater(t, rateUpper(0, 29_955, 0.95), 1e-4)
}

func TestCallsFor(t *testing.T) {
	assert.EqualValues(t, 2_995, callsFor(1e-3, 0, 0.95))
	assert.EqualValues(t, 29_956, callsFor(1e-4, 0, 0.95))
	assert.EqualValues(t, 299_572, callsFor(1e-5, 0, 0.95))
	assert.EqualValues(t, 46_050, callsFor(1e-4, 0, 0.99))
	assert.InEpsilon(t, 47_439, callsFor(1e-4, 1, 0.95), 1e-4)
	assert.EqualValues(t, 1, callsFor(1, 5, 0.95))
	assert.EqualValues(t, math.MaxInt64, callsFor(0, 0, 0.95))
	assert.EqualValues(t, math.MaxInt64, callsFor(1e-4, math.MaxInt64-1, 0.95))
	assert.EqualValues(t, math.MaxInt64, callsFor(1e-12, 1<<59, 0.95))
	for _, rate := range []float64{0.3, 0.02, 1e-3} {
		for events := range int64(12) {
			for _, confidence := range []float64{0.9, 0.95, 0.999} {
				n := callsFor(rate, events, confidence)
				assert.LessOrEqual(t, rateUpper(events, n, confidence), rate*(1+1e-9))
				assert.Greater(t, rateUpper(events, n-1, confidence), rate*(1-1e-9))
			}
		}
	}
}

func TestQuantileRanks(t *testing.T) {
	for _, c := range []struct {
		n         int64
		q         float64
		low, high int64
	}{
		{10_000, 0.99, 9_880, 9_920},
		// From the tables for the median in Conover, Practical Nonparametric Statistics.
		{10, 0.5, 2, 9}, {20, 0.5, 6, 15}, {6, 0.5, 1, 6}, {5, 0.5, 0, 0},
		{0, 0.99, 0, 0}, {10, 1, 0, 0},
		{368, 0.99, 360, 368}, {367, 0.99, 359, 0},
	} {
		low, high := quantileRanks(c.n, c.q, 0.95)
		assert.Equal(t, []int64{c.low, c.high}, []int64{low, high}, "%+v", c)
	}
	assert.EqualValues(t, 299, valuesFor(0.99, 0.95))
	assert.EqualValues(t, 2_995, valuesFor(0.999, 0.95))
	assert.EqualValues(t, 299, upperRank(299, 0.99, 0.95))
	assert.Zero(t, upperRank(298, 0.99, 0.95))
	assert.EqualValues(t, math.MaxInt64, valuesFor(1, 0.95))

	// The normal approximation takes over without a jump.
	low, high := quantileRanks(400_000_000, 0.5, 0.95)
	below, above := quantileRanks(401_000_000, 0.5, 0.95)
	assert.InDelta(t, 200_000_000-low, 200_500_000-below, 60)
	assert.InDelta(t, high-200_000_000, above-200_500_000, 60)
}
