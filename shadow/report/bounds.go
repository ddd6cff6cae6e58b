package report

import (
	"math"
	"slices"
	"sort"
)

// rateUpper returns the rate, per call, that the true one does not exceed, with the given
// confidence, after events of n calls: the one-sided bound of Clopper and Pearson (Biometrika
// 26, 1934), exact for independent calls. Without events it is the rule of three, 2.9957/n at
// 95 %. Calls of one key are not independent: that is why a Policy asks for keys as well.
func rateUpper(events, n int64, confidence float64) float64 {
	switch {
	case n <= 0 || events >= n:
		return 1
	case events <= 0:
		return -math.Expm1(math.Log1p(-confidence) / float64(n))
	}
	return solve(1-confidence, func(p float64) float64 { return binomial{n, p}.atMost(events) })
}

// rateLower is the other bound of Clopper and Pearson: 0 without events.
func rateLower(events, n int64, confidence float64) float64 {
	if events <= 0 || n <= 0 {
		return 0
	}
	events = min(events, n)
	return solve(confidence, func(p float64) float64 { return binomial{n, p}.atMost(events - 1) })
}

// callsFor returns how many calls it takes until events of them support a rate: the smallest
// n whose rateUpper is not above it. Without events and at 95 % these are 29,956 for 1e-4.
func callsFor(rate float64, events int64, confidence float64) int64 {
	const most = math.MaxInt64 / 8 // nobody counts further, and nothing overflows
	switch {
	case rate <= 0 || confidence >= 1 || events > most:
		return math.MaxInt64
	case rate >= 1:
		return 1
	}
	events = max(events, 0)
	enough := func(n int64) bool { return binomial{n, rate}.atMost(events) <= 1-confidence }
	if events == 0 {
		return max(1, int64(math.Ceil(math.Log1p(-confidence)/math.Log1p(-rate))))
	}
	high := events + 1
	for !enough(high) {
		if high > most {
			return math.MaxInt64
		}
		high *= 2
	}
	low := high / 2 // not enough, or too few to hold the events
	return low + int64(sort.Search(int(high-low), func(i int) bool { return enough(low + int64(i)) }))
}

// upperRank returns the rank, counted from 1 for the smallest, of that of n values which
// the q-quantile (0.99 for the p99) of where they come from does not exceed, with the given
// confidence; 0 if there are too few values for any to do. It needs no assumption about the
// distribution: how many of n values lie below the quantile is binomial (Thompson, Annals of
// Mathematical Statistics 7, 1936; Hahn and Meeker, Statistical Intervals, 1991, section 5.2).
func upperRank(n int64, q, confidence float64) int64 {
	if n <= 0 || q <= 0 || q >= 1 || float64(n)*math.Log(q) > math.Log1p(-confidence) {
		return 0
	}
	return n - rankAtLeast(n, 1-q, confidence) + 1
}

// lowerRank returns the rank of that of n values which the q-quantile does not fall
// below, with the given confidence; 0 if there are too few values. See upperRank.
func lowerRank(n int64, q, confidence float64) int64 {
	if n <= 0 || q <= 0 || q >= 1 {
		return 0
	}
	return rankAtLeast(n, q, confidence)
}

// quantileRanks returns the ranks of two of n values between which the q-quantile lies, with
// the given confidence: what is left is split evenly between both sides. The p99 of 10,000
// calls lies between the 9,880th and the 9,920th at 95 %. Each is 0 if there are too few
// values. The normal approximation is no bound: at 99 %, each of its sides errs too often for some n.
func quantileRanks(n int64, q, confidence float64) (low, high int64) {
	side := (1 + confidence) / 2
	return lowerRank(n, q, side), upperRank(n, q, side)
}

// valuesFor returns how many values it takes until upperRank has an answer: 299 for the p99
// at 95 %, 2,995 for the p99.9.
func valuesFor(q, confidence float64) int64 {
	if q <= 0 || q >= 1 || confidence >= 1 {
		return math.MaxInt64
	}
	n := max(1, int64(math.Ceil(math.Log1p(-confidence)/math.Log(q))))
	// What was rounded must not contradict upperRank.
	for upperRank(n, q, confidence) == 0 {
		n++
	}
	return n
}

// rankAtLeast returns the largest k for which at least k of n values lie below the
// quantile with the given confidence: P(B <= k-1) <= 1 - confidence.
func rankAtLeast(n int64, q, confidence float64) int64 {
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
		below += weight
		if below > (1-confidence)*total {
			break
		}
		k++
	}
	return k
}

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
