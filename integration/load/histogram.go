package load

import (
	"math/bits"
	"sync/atomic"
	"time"
)

// Durations are counted in microseconds, in buckets that are a 32nd of a power of two wide:
// what is told of them is at most 3 % too high.
const (
	perOctave = 32
	octaves   = 40 // 2^45 µs is a year
)

// histogram counts durations. It is safe for concurrent use, and takes 10 KB however many there are.
type histogram struct {
	buckets [octaves * perOctave]atomic.Int64
	longest atomic.Int64
}

// add counts a duration.
func (h *histogram) add(d time.Duration) {
	h.buckets[bucketOf(d)].Add(1)
	for {
		was := h.longest.Load()
		if int64(d) <= was || h.longest.CompareAndSwap(was, int64(d)) {
			return
		}
	}
}

func bucketOf(d time.Duration) int {
	us := uint64(max(d.Microseconds(), 0))
	shift := max(bits.Len64(us)-bits.Len(perOctave), 0)
	return min(shift*perOctave+int(us>>shift), octaves*perOctave-1)
}

// endOf is the first duration that is too long for a bucket.
func endOf(bucket int) time.Duration {
	shift := max(bucket/perOctave-1, 0)
	return time.Duration(bucket-shift*perOctave+1) << shift * time.Microsecond
}

// waits sums the histogram up.
func (h *histogram) waits() Waits {
	w := Waits{Longest: time.Duration(h.longest.Load())}
	for i := range h.buckets {
		w.N += h.buckets[i].Load()
	}
	quantile := func(q float64) time.Duration {
		left := int64(q * float64(w.N))
		for i := range h.buckets {
			if left -= h.buckets[i].Load(); left < 0 {
				return min(endOf(i), w.Longest)
			}
		}
		return w.Longest
	}
	w.P50, w.P99, w.P999 = quantile(0.5), quantile(0.99), quantile(0.999)
	return w
}

// reset begins anew. What is added meanwhile may be counted or not.
func (h *histogram) reset() {
	for i := range h.buckets {
		h.buckets[i].Store(0)
	}
	h.longest.Store(0)
}
