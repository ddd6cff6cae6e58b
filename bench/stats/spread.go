package stats

import (
	"math"
	"slices"
)

// Spread is what a table shows of several runs. The runs are few, so that the
// extremes say more than a deviation would.
type Spread struct {
	Median, Min, Max float64
	N                int
}

// Of returns the spread of the values; that of none is all zero.
func Of(values []float64) Spread {
	if len(values) == 0 {
		return Spread{}
	}
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return Spread{(sorted[(n-1)/2] + sorted[n/2]) / 2, sorted[0], sorted[n-1], n}
}

// By returns the spread of what get returns for each item.
func By[T any](items []T, get func(T) float64) Spread {
	values := make([]float64, 0, len(items))
	for _, item := range items {
		values = append(values, get(item))
	}
	return Of(values)
}

// Ratio is a/b, and NaN where that means nothing.
func Ratio(a, b float64) float64 {
	if b == 0 {
		return math.NaN()
	}
	return a / b
}
