package report

import (
	"math"
	"slices"
	"sort"
)

// rateUpper returns the upper bound of the rate of events in n calls, with the given one-sided
// confidence: the bound of Clopper and Pearson (Biometrika 26, 1934), exact for independent calls.
// Without events it is the rule of three, 2.9957/n at 95 %. Calls of the same key depend on each
// other, so a Policy asks for a number of keys as well.
func rateUpper(events, n int64, confidence float64) float64 {
	switch {
	case n <= 0 || events >= n:
		return 1
	case events <= 0:
		return -math.Expm1(math.Log1p(-confidence) / float64(n))
	}
	return solve(1-confidence, func(p float64) float64 { return binomial{n, p}.atMost(events) })
}

// rateLower returns the lower bound of Clopper and Pearson: 0 without events.
func rateLower(events, n int64, confidence float64) float64 {
	if events <= 0 || n <= 0 {
		return 0
	}
	events = min(events, n)
	return solve(confidence, func(p float64) float64 { return binomial{n, p}.atMost(events - 1) })
}

// callsFor returns the smallest n for which rateUpper(events, n, confidence) is at most rate:
// 29,956 for a rate of 1e-4 without events at 95 %.
func callsFor(rate float64, events int64, confidence float64) int64 {
	const most = math.MaxInt64 / 8 // doubling it twice does not overflow
	switch {
	case rate <= 0 || confidence >= 1 || events > most:
		return math.MaxInt64
	case rate >= 1:
		return 1
	case events <= 0:
		return max(1, int64(math.Ceil(math.Log1p(-confidence)/math.Log1p(-rate))))
	}
	enough := func(n int64) bool { return binomial{n, rate}.atMost(events) <= 1-confidence }
	high := events + 1
	for ; !enough(high); high *= 2 {
		if high > most {
			return math.MaxInt64
		}
	}
	low := high / 2
	return low + int64(sort.Search(int(high-low), func(i int) bool { return enough(low + int64(i)) }))
}

// upperRank returns a rank, counted from 1 for the smallest of n values. With the given confidence,
// the value of that rank is at least the q-quantile of the distribution. It returns 0 if n is too
// small. Any distribution will do: the number of values below a quantile is binomial (Thompson,
// Annals of Mathematical Statistics 7, 1936; Hahn and Meeker, Statistical Intervals, 1991, section 5.2).
func upperRank(n int64, q, confidence float64) int64 {
	if k := lowerRank(n, 1-q, confidence); k > 0 {
		return n - k + 1
	}
	return 0
}

// lowerRank is the counterpart of upperRank: the value of its rank is at most the q-quantile.
// It is the largest k with P(B < k) <= 1-confidence.
func lowerRank(n int64, q, confidence float64) (k int64) {
	if n <= 0 || q <= 0 || q >= 1 {
		return 0
	}
	b := binomial{n, q}
	if b.huge() {
		z := math.Sqrt2 * math.Erfinv(2*confidence-1)
		return max(0, int64(math.Floor(float64(n)*q-z*math.Sqrt(b.variance()))))
	}
	k, weights := b.terms()
	var total, below float64
	for _, weight := range weights {
		total += weight
	}
	for _, weight := range weights {
		if below += weight; below > (1-confidence)*total {
			break
		}
		k++
	}
	return k
}

// quantileRanks returns the ranks of two of n values between which the q-quantile lies, with
// the given confidence, half of the error on each side: 9,880 and 9,920 for the p99 of 10,000
// calls at 95 %. Each is 0 if n is too small. The normal approximation is no bound here: at 99 %,
// each of its sides errs too often for some n.
func quantileRanks(n int64, q, confidence float64) (low, high int64) {
	side := (1 + confidence) / 2
	return lowerRank(n, q, side), upperRank(n, q, side)
}

// valuesFor returns the smallest n for which upperRank has an answer: 299 for the p99 at 95 %,
// 2,995 for the p99.9.
func valuesFor(q, confidence float64) int64 {
	if q <= 0 || q >= 1 || confidence >= 1 {
		return math.MaxInt64
	}
	n := max(1, int64(math.Ceil(math.Log1p(-confidence)/math.Log(q))))
	for upperRank(n, q, confidence) == 0 { // rounding may be off by one
		n++
	}
	return n
}

// binomial is the distribution of the hits in n calls, each with probability p.
type binomial struct {
	n int64
	p float64
}

func (b binomial) variance() float64 { return float64(b.n) * b.p * (1 - b.p) }

// huge reports whether the normal distribution is exact enough, and adding terms too slow.
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

// terms returns the probabilities of first, first+1, … that are not negligible, as multiples of
// the largest. It starts at the mode and multiplies by the ratio of neighbours: no logarithm
// of a factorial can cancel, and the cost grows with the standard deviation only.
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

// solve returns the p in [0, 1] at which the decreasing function f passes target.
func solve(target float64, f func(p float64) float64) float64 {
	low, high := 0.0, 1.0
	for range 200 {
		middle := (low + high) / 2
		if low > 0 {
			middle = math.Sqrt(low * high) // full precision for small rates
		}
		switch {
		case middle <= low || middle >= high:
			return high
		case f(middle) > target:
			low = middle
		default:
			high = middle
		}
	}
	return high
}
