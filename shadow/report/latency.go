package report

import (
	"fmt"
	"math"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/unwatch/unwatch/internal/wrap"
)

// Latency is a histogram of durations from a microsecond to a minute, with two significant digits.
// Its JSON is base64 of the compressed form (V2) that every implementation of HdrHistogram reads,
// or "" for an empty histogram. The zero Latency is empty. It is not safe for concurrent use.
type Latency struct{ h *hdrhistogram.Histogram }

// Histograms add up only if all have the same limits. A longer duration counts as longest.
const (
	longest = time.Minute
	digits  = 2
)

// Record counts a duration. Only the first call allocates.
func (l *Latency) Record(d time.Duration) {
	if l.h == nil {
		l.h = hdrhistogram.New(1, longest.Microseconds(), digits)
	}
	_ = l.h.RecordValue(min(max(d, time.Microsecond), longest).Microseconds()) // within the limits
}

// Count returns the number of durations.
func (l Latency) Count() int64 {
	if l.h == nil {
		return 0
	}
	return l.h.TotalCount()
}

// rank returns the n-th shortest duration, counted from 1; 0 if n is out of range.
func (l Latency) rank(n int64) time.Duration {
	count := l.Count()
	if n < 1 || n > count {
		return 0
	}
	// The library adds half a rank and drops the fraction, so n has the largest margin of rounding.
	return time.Duration(l.h.ValueAtPercentile(100*float64(n)/float64(count))) * time.Microsecond
}

// Quantile returns the smallest duration that at least a share q of all, 0 to 1, do not exceed;
// 0 for an empty histogram.
func (l Latency) Quantile(q float64) time.Duration {
	if l.Count() == 0 {
		return 0
	}
	return time.Duration(l.h.ValueAtQuantile(100*q)) * time.Microsecond
}

// within counts the durations up to each of bounds, in seconds, and all durations, with their sum in seconds.
// A duration counts with the upper end of its bar, as in Quantile. The sum has the middle of
// each bar, where errors would add up.
func (l Latency) within(bounds []float64) (within []int64, count int64, sum float64) {
	within = make([]int64, len(bounds))
	if l.h == nil {
		return within, 0, 0
	}
	for _, bar := range l.h.Distribution() {
		count += bar.Count
		sum += float64(bar.Count) * float64(bar.From+bar.To) / 2
		for i, bound := range bounds {
			if float64(bar.To) <= math.Round(bound*1e6) {
				within[i] += bar.Count
			}
		}
	}
	return within, count, sum / 1e6
}

// Add adds the counts of other.
func (l *Latency) Add(other Latency) {
	switch {
	case other.h == nil:
	case l.h == nil:
		l.h = other.h.Clone()
	default:
		l.h.Merge(other.h)
	}
}

// Clone returns a deep copy.
func (l Latency) Clone() (c Latency) {
	c.Add(l)
	return c
}

// MarshalText implements [encoding.TextMarshaler].
func (l Latency) MarshalText() ([]byte, error) {
	if l.Count() == 0 {
		return nil, nil
	}
	return l.h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
}

// UnmarshalText implements [encoding.TextUnmarshaler].
func (l *Latency) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*l = Latency{}
		return nil
	}
	if len(text) > 64<<10 {
		return fmt.Errorf("report: not a histogram: %d bytes are too long", len(text))
	}
	h, err := hdrhistogram.Decode(text)
	if err != nil {
		return fmt.Errorf("report: not a histogram: %w", err)
	}
	if h.LowestTrackableValue() != 1 || h.HighestTrackableValue() != longest.Microseconds() || h.SignificantFigures() != digits {
		return fmt.Errorf("report: a histogram of other limits: want 1 to %d with %d digits", longest.Microseconds(), digits)
	}
	l.h = h
	return nil
}

// interval is a confidence interval of a quantile.
type interval struct{ low, high time.Duration }

func (l Latency) interval(q, confidence float64) (interval, bool) {
	low, high := quantileRanks(l.Count(), q, confidence)
	return interval{l.rank(low), l.rank(high)}, low != 0 && high != 0
}

// latency is the gate for the candidate's p50 and p99. Both bounds of the p99 must hold at once.
// Each of them fails in half of the cases that the confidence leaves, so together they keep the
// confidence (Bonferroni).
func (j *judgement) latency(op Operation) {
	p := j.policy
	need := valuesFor(0.99, (1+p.Confidence)/2)
	n := min(op.Legacy.Count(), op.Candidate.Count())
	legacy, known := op.Legacy.interval(0.99, p.Confidence)
	candidate, knownToo := op.Candidate.interval(0.99, p.Confidence)
	if !known || !knownToo {
		g := j.gate("latency", share(n, need), wrap.Counted(n, "call")+" of both paths", wrap.Counted(need, "call"))
		g.wait("below that, nothing can be said of a p99: wait for more calls, or raise Config.Percent")
		return
	}
	allowed := func(d time.Duration) time.Duration {
		return time.Duration(float64(d)*p.LatencyFactor) + p.LatencySlack
	}
	p50, limit50 := op.Candidate.Quantile(0.5), op.Legacy.Quantile(0.5)+2*p.RTT
	g := j.gate("latency", share(n, 10*need), fmt.Sprintf("p99 <= %s, p50 %s", wrap.Duration(candidate.high), wrap.Duration(p50)),
		fmt.Sprintf("p99 <= %s, p50 <= %s", wrap.Duration(allowed(legacy.low)), wrap.Duration(limit50)))
	switch {
	case candidate.low > allowed(legacy.high):
		g.fail("the p99 is slower than permitted, beyond doubt: look at the lock waits, and at the candidate's store; " +
			"Policy.LatencyFactor and Policy.LatencySlack are the limit")
	case p50 > limit50:
		g.fail("the usual call takes more than two round trips longer: measure the round trip to the candidate, and set Policy.RTT")
	case candidate.high > allowed(legacy.low):
		g.wait("%s leave the p99 open, %s to %s: wait for more calls, or raise Config.Percent", wrap.Counted(n, "call"),
			wrap.Duration(candidate.low), wrap.Duration(candidate.high))
	}
}
