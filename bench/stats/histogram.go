package stats

import (
	"maps"
	"math/bits"
	"slices"
	"time"
)

// subBits gives 16 buckets per doubling, so quantiles have an error of at most 3 %.
const subBits = 4

// Histogram counts durations. The zero Histogram is empty. It is not safe for concurrent use: each
// goroutine fills its own, to be merged at the end.
type Histogram struct {
	counts [60 << subBits]uint32
	n      int64
	max    time.Duration
}

// Add counts one duration. A negative one counts as 0.
func (h *Histogram) Add(d time.Duration) {
	d = max(d, 0)
	h.counts[bucket(uint64(d))]++
	h.n++
	h.max = max(h.max, d)
}

// Merge adds the counts of o.
func (h *Histogram) Merge(o *Histogram) {
	for i, c := range o.counts {
		h.counts[i] += c
	}
	h.n += o.n
	h.max = max(h.max, o.max)
}

// N returns the number of durations.
func (h *Histogram) N() int64 { return h.n }

// Max returns the longest duration.
func (h *Histogram) Max() time.Duration { return h.max }

// Quantile returns the duration below which the share q lies, or 0 for an empty Histogram.
func (h *Histogram) Quantile(q float64) time.Duration {
	if h.n == 0 {
		return 0
	}
	rank := int64(q * float64(h.n-1))
	for i, c := range h.counts {
		if rank -= int64(c); rank < 0 {
			return min(middle(i), h.max)
		}
	}
	return h.max
}

// Sparse is the JSON form of a Histogram: the buckets that are not empty.
type Sparse struct {
	Counts map[int]uint32 `json:"counts"`
	Max    time.Duration  `json:"max_ns"`
}

// Sparse returns h without its empty buckets.
func (h *Histogram) Sparse() Sparse {
	s := Sparse{map[int]uint32{}, h.max}
	for i, c := range h.counts {
		if c > 0 {
			s.Counts[i] = c
		}
	}
	return s
}

// Dense is the inverse of [Histogram.Sparse]. It ignores invalid buckets of an edited file.
func (s Sparse) Dense() *Histogram {
	h := &Histogram{max: s.Max}
	for _, i := range slices.Sorted(maps.Keys(s.Counts)) {
		if i >= 0 && i < len(h.counts) {
			h.counts[i] += s.Counts[i]
			h.n += int64(s.Counts[i])
		}
	}
	return h
}

func bucket(v uint64) int {
	high := bits.Len64(v) - 1 - subBits
	if high < 0 {
		return int(v)
	}
	return (high+1)<<subBits + int(v>>high) - 1<<subBits
}

// middle returns the middle value of a bucket.
func middle(i int) time.Duration {
	if i < 1<<subBits {
		return time.Duration(i)
	}
	high := i>>subBits - 1
	low := uint64(i&(1<<subBits-1)+1<<subBits) << high
	return time.Duration(low + uint64(1)<<high/2)
}
