package stats

import (
	"math"
	"slices"
)

// Spread summarises several runs. There are so few of them that the extremes say more than a
// deviation.
type Spread struct {
	Median, Min, Max float64
	N                int
}

// Of returns the spread of the values, or zeros for none.
func Of(values []float64) Spread {
	if len(values) == 0 {
		return Spread{}
	}
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return Spread{(sorted[(n-1)/2] + sorted[n/2]) / 2, sorted[0], sorted[n-1], n}
}

// By returns the spread of get over the items.
func By[T any](items []T, get func(T) float64) Spread {
	values := make([]float64, 0, len(items))
	for _, item := range items {
		values = append(values, get(item))
	}
	return Of(values)
}

// Ratio returns a/b, or NaN where it is undefined.
func Ratio(a, b float64) float64 {
	if b == 0 {
		return math.NaN()
	}
	return a / b
}
