package report

import (
	"math"
	"slices"
)

// binomial is the distribution of how many of n calls are hit, each with probability p.
type binomial struct {
	n int64
	p float64
}

func (b binomial) variance() float64 { return float64(b.n) * b.p * (1 - b.p) }

// huge reports whether there are more terms than it makes sense to add up: the normal
// distribution tells no other story then.
func (b binomial) huge() bool { return b.variance() > 1e8 }

// atMost returns P(B <= k).
func (b binomial) atMost(k int64) float64 {
	switch {
	case k < 0:
		return 0
	case k >= b.n || b.p <= 0:
		return 1
	case b.p >= 1:
		return 0
	case b.huge():
		return math.Erfc((float64(b.n)*b.p-float64(k)-0.5)/math.Sqrt(2*b.variance())) / 2
	}
	first, weights := b.terms()
	var below, above float64
	for i, weight := range weights {
		if first+int64(i) <= k {
			below += weight
		} else {
			above += weight
		}
	}
	return below / (below + above)
}

// terms returns the probabilities that count, from that of first on, as multiples of the
// largest. They are walked from there outwards, by the ratio of neighbours: no logarithm
// of a factorial can cancel, and what it costs grows with the standard deviation only.
func (b binomial) terms() (first int64, weights []float64) {
	const negligible = 1e-25
	mode := min(int64((float64(b.n)+1)*b.p), b.n)
	odds := b.p / (1 - b.p)
	weight := 1.0
	for first = mode; first > 0 && weight > negligible; first-- {
		weight *= float64(first) / (odds * float64(b.n-first+1))
		weights = append(weights, weight)
	}
	slices.Reverse(weights)
	weights = append(weights, 1)
	weight = 1.0
	for i := mode; i < b.n && weight > negligible; i++ {
		weight *= odds * float64(b.n-i) / float64(i+1)
		weights = append(weights, weight)
	}
	return first, weights
}

// solve returns the p within 0 and 1 at which falling, which falls in p, passes target.
func solve(target float64, falling func(p float64) float64) float64 {
	low, high := 0.0, 1.0
	for range 200 {
		middle := (low + high) / 2
		if low > 0 { // small rates need their own digits
			middle = math.Sqrt(low * high)
		}
		if middle <= low || middle >= high {
			break
		}
		if falling(middle) > target {
			low = middle
		} else {
			high = middle
		}
	}
	return high
}
