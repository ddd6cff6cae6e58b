package report

import (
	"fmt"
	"time"
)

// interval is between which durations a quantile lies, with the confidence of a Policy.
type interval struct{ low, high time.Duration }

func (l Latency) interval(q, confidence float64) (interval, bool) {
	low, high := quantileRanks(l.Count(), q, confidence)
	if low == 0 || high == 0 {
		return interval{}, false
	}
	return interval{l.rank(low), l.rank(high)}, true
}

// latency asks that the candidate is not slower than the policy permits. Both bounds of
// the p99 have to hold at once; each of them fails in half of the cases that the
// confidence leaves, so together they keep it (Bonferroni).
func (j *judgement) latency(op Operation) {
	p := j.policy
	g := Gate{Name: "latency", State: NotEnoughData}
	need := valuesFor(0.99, (1+p.Confidence)/2)
	n := min(op.Legacy.Count(), op.Candidate.Count())
	legacy, known := op.Legacy.interval(0.99, p.Confidence)
	candidate, knownToo := op.Candidate.interval(0.99, p.Confidence)
	if !known || !knownToo {
		g.Have, g.Need = counted(n, "call")+" of both paths", counted(need, "call")
		g.Why = "below that, nothing can be said of a p99: wait for more calls, or raise Config.Percent"
		j.add(share(n, need), g)
		return
	}
	allowed := func(d time.Duration) time.Duration {
		return time.Duration(float64(d)*p.LatencyFactor) + p.LatencySlack
	}
	p50, limit50 := op.Candidate.Quantile(0.5), op.Legacy.Quantile(0.5)+2*p.RTT
	g.Have = fmt.Sprintf("p99 <= %s, p50 %s", took(candidate.high), took(p50))
	g.Need = fmt.Sprintf("p99 <= %s, p50 <= %s", took(allowed(legacy.low)), took(limit50))
	switch {
	case candidate.low > allowed(legacy.high):
		g.State = NotReady
		g.Why = "the p99 is slower than permitted, beyond doubt: look at the lock waits, and at the candidate's store; Policy.LatencyFactor and Policy.LatencySlack are the limit"
	case p50 > limit50:
		g.State = NotReady
		g.Why = "the usual call takes more than two round trips longer: measure the round trip to the candidate, and set Policy.RTT"
	case candidate.high > allowed(legacy.low):
		g.Why = fmt.Sprintf("%s leave the p99 open, %s to %s: wait for more calls, or raise Config.Percent", counted(n, "call"),
			took(candidate.low), took(candidate.high))
	default:
		g.State = Ready
	}
	j.add(share(n, 10*need), g)
}
