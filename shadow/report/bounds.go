package report

import (
	"math"
	"sort"
)

// RateUpper returns the rate, per call, that the true one does not exceed, with the given
// confidence (0.95: in 95 of 100 such samples), after events of n calls. It is the
// one-sided bound of Clopper and Pearson (Biometrika 26, 1934), exact for independent
// calls: the p at which so few events have a probability of 1 - confidence. Without
// events it is the rule of three, 2.9957/n at 95 %; for 1, 2 and 3 events about 4.744/n,
// 6.296/n and 7.754/n, the bounds of a Poisson distribution.
//
// Calls of one key are not independent: that is why a Policy asks for keys as well.
func RateUpper(events, n int64, confidence float64) float64 {
	switch {
	case n <= 0 || events >= n:
		return 1
	case events <= 0:
		return -math.Expm1(math.Log1p(-confidence) / float64(n))
	}
	return solve(1-confidence, func(p float64) float64 { return binomial{n, p}.atMost(events) })
}

// RateLower returns the rate, per call, that the true one does not fall below, with the
// given confidence: the other bound of Clopper and Pearson, see [RateUpper]. It is 0
// without events.
func RateLower(events, n int64, confidence float64) float64 {
	if events <= 0 || n <= 0 {
		return 0
	}
	events = min(events, n)
	return solve(confidence, func(p float64) float64 { return binomial{n, p}.atMost(events - 1) })
}

// CallsFor returns how many calls it takes until events of them support a rate of at
// most rate: the smallest n whose [RateUpper] is not above it. Without events and at
// 95 % these are 2,995 for 1e-3, 29,956 for 1e-4 and 299,572 for 1e-5.
func CallsFor(rate float64, events int64, confidence float64) int64 {
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

// UpperRank returns the rank, counted from 1 for the smallest, of that of n values which
// the q-quantile (0.99 for the p99) of where they come from does not exceed, with the
// given confidence; 0 if there are too few values for any to do, see [ValuesFor].
//
// It needs no assumption about the distribution: how many of n values lie below the
// quantile is binomial (Thompson, Annals of Mathematical Statistics 7, 1936; Hahn and
// Meeker, Statistical Intervals, 1991, section 5.2).
func UpperRank(n int64, q, confidence float64) int64 {
	if n <= 0 || q <= 0 || q >= 1 || float64(n)*math.Log(q) > math.Log1p(-confidence) {
		return 0
	}
	return n - rankAtLeast(n, 1-q, confidence) + 1
}

// LowerRank returns the rank of that of n values which the q-quantile does not fall
// below, with the given confidence; 0 if there are too few values. See [UpperRank].
func LowerRank(n int64, q, confidence float64) int64 {
	if n <= 0 || q <= 0 || q >= 1 {
		return 0
	}
	return rankAtLeast(n, q, confidence)
}

// QuantileRanks returns the ranks of two of n values between which the q-quantile lies,
// with the given confidence: what is left is split evenly between both sides. The p99 of
// 10,000 calls lies between the 9,880th and the 9,920th at 95 %. (The normal
// approximation np ± 1.96 √(np(1-p)), rounded outwards and one rank more, ends at the
// 9,921st. It is no bound at every confidence: at 99 %, each of its sides errs too often for some n.)
// Each is 0 if there are too few values.
func QuantileRanks(n int64, q, confidence float64) (low, high int64) {
	side := (1 + confidence) / 2
	return LowerRank(n, q, side), UpperRank(n, q, side)
}

// ValuesFor returns how many values it takes until [UpperRank] has an answer: the
// smallest n at which the largest of them exceeds the q-quantile with the given
// confidence. At 95 % these are 299 for the p99 and 2,995 for the p99.9.
func ValuesFor(q, confidence float64) int64 {
	if q <= 0 || q >= 1 || confidence >= 1 {
		return math.MaxInt64
	}
	n := max(1, int64(math.Ceil(math.Log1p(-confidence)/math.Log(q))))
	// What was rounded must not contradict UpperRank.
	for UpperRank(n, q, confidence) == 0 {
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
