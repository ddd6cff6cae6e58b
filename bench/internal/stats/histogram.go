package stats

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Histogram counts durations, to within 1 %. The zero Histogram is empty. As JSON it is base64 of
// the compressed form (V2) of HdrHistogram. It is not safe for concurrent use: each goroutine fills
// its own, to be merged at the end.
type Histogram struct{ counts *hdrhistogram.Histogram }

// longest is the largest duration; longer ones count as this one.
const longest = time.Hour

func (h *Histogram) init() {
	if h.counts == nil {
		h.counts = hdrhistogram.New(1, int64(longest), 2)
	}
}

// Add counts one duration. A negative one counts as 0.
func (h *Histogram) Add(d time.Duration) {
	h.init()
	_ = h.counts.RecordValue(int64(min(max(d, 0), longest))) // it is within the limits
}

// Merge adds the counts of o.
func (h *Histogram) Merge(o *Histogram) {
	if o.counts != nil {
		h.init()
		h.counts.Merge(o.counts)
	}
}

// N returns the number of durations.
func (h *Histogram) N() int64 {
	if h.counts == nil {
		return 0
	}
	return h.counts.TotalCount()
}

// Max returns the longest duration.
func (h *Histogram) Max() time.Duration { return h.Quantile(1) }

// Quantile returns the duration below which the share q lies, or 0 for an empty Histogram.
func (h *Histogram) Quantile(q float64) time.Duration {
	if h.counts == nil {
		return 0
	}
	return time.Duration(h.counts.ValueAtQuantile(100 * q))
}

// MarshalText implements [encoding.TextMarshaler].
func (h Histogram) MarshalText() ([]byte, error) {
	if h.counts == nil {
		return nil, nil
	}
	return h.counts.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
}

// UnmarshalText implements [encoding.TextUnmarshaler].
func (h *Histogram) UnmarshalText(text []byte) (err error) {
	h.counts = nil
	if len(text) > 0 {
		h.counts, err = hdrhistogram.Decode(text)
	}
	return err
}
