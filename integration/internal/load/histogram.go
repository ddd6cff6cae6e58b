package load

import (
	"math"
	"sync"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// histogram counts durations, or other numbers, to within 1 %. It is safe for concurrent use.
type histogram[T ~int64] struct {
	mu     sync.Mutex
	values *hdrhistogram.Histogram // nil: empty
}

func newValues() *hdrhistogram.Histogram { return hdrhistogram.New(1, math.MaxInt64/2, 2) }

func (h *histogram[T]) add(v T) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.values == nil {
		h.values = newValues()
	}
	_ = h.values.RecordValue(int64(min(max(v, 0), math.MaxInt64/2))) // the value is within the limits
}

func (h *histogram[T]) spread() Spread[T] {
	h.mu.Lock()
	defer h.mu.Unlock()
	v := h.values
	if v == nil {
		return Spread[T]{}
	}
	at := func(percent float64) T { return T(v.ValueAtQuantile(percent)) }
	return Spread[T]{N: v.TotalCount(), P50: at(50), P99: at(99), P999: at(99.9), Longest: T(v.Max())}
}

func (h *histogram[T]) reset() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.values = newValues() // now, so that the heap does not grow later
}
