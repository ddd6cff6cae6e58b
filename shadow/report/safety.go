package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/unwatch/unwatch/internal/wrap"
)

// audit is the gate for lost updates and double applies in the free run. Without contention,
// their absence proves nothing.
func (j *judgement) audit() {
	var blocked, audited, contended int64
	var differences []difference
	for _, op := range j.report.Operations {
		calls, found := j.blocking(op, Free)
		blocked += calls
		differences = append(differences, found...)
		audited += op.Audited
		contended += op.Contended
	}
	need := max(j.policy.Contended, 0)
	g := j.gate("audit", share(contended, need),
		fmt.Sprintf("%s in %s, %s contended", wrap.Counted(blocked, "fork"), wrap.Counted(audited, "commit"), wrap.Grouped(contended)),
		"0 in "+wrap.Counted(need, "contended commit"))
	switch {
	case blocked > 0:
		g.fail("%s", listed(differences))
	case contended < need:
		g.wait("the zero is empty: only %s met another writer; run longer, or raise Config.Percent so that busier keys are in it",
			wrap.Counted(contended, "commit"))
	}
}

// health adds the gates for the candidate's errors, and for the shadow itself.
func (j *judgement) health() {
	h := j.report.Health
	n, contended := h.Candidate.Calls, h.Candidate.Errors["contended"]
	var allowed float64
	if h.Legacy.Calls > 0 {
		allowed = float64(total(h.Legacy.Errors)-h.Legacy.Errors["contended"]) / float64(h.Legacy.Calls)
	}
	j.rate("errors", total(h.Candidate.Errors)-contended, n, min(allowed+j.policy.Errors, 1),
		"see why in health: mend the candidate's store, or its client's settings", "Policy.Errors")
	j.rate("lock timeouts", contended, n, j.policy.LockTimeouts,
		"the candidate was contended: raise its lockupdate.Config.MaxWait, find what holds the lock (Config.Lease, Config.LockName), "+
			"or split the hot key", "Policy.LockTimeouts")

	need := valuesFor(0.99, (1+j.policy.Confidence)/2)
	g := j.gate("lag", share(h.Lag.Count(), need), "", "p99 < "+wrap.Duration(j.policy.Lag))
	lag, known := h.Lag.interval(0.99, j.policy.Confidence)
	switch {
	case !known:
		g.Have = wrap.Counted(h.Lag.Count(), "call")
		g.wait("it takes %s: wait, or raise Config.Percent", wrap.Counted(need, "call"))
	case lag.high < j.policy.Lag:
		g.Have = "p99 <= " + wrap.Duration(lag.high)
	case lag.low >= j.policy.Lag:
		g.Have = "p99 >= " + wrap.Duration(lag.low)
		g.fail("comparisons come late: raise Config.Workers, lower Config.Percent, or look at the candidate's latencies; Policy.Lag is the limit")
	default:
		g.Have = fmt.Sprintf("p99 from %s to %s", wrap.Duration(lag.low), wrap.Duration(lag.high))
		g.wait("too few calls to tell: wait, or raise Config.Percent")
	}

	g = j.gate("breaker", 1, cmp.Or(h.Breaker, "closed"), "closed")
	if g.Have != g.Need {
		g.fail("the candidate's store fails, or did a moment ago: see its errors")
	}
	g = j.gate("panics", 1, wrap.Grouped(h.Panics), "0")
	if h.Panics > 0 {
		g.fail("the candidate or a comparison panicked: the log of the process has the stack of the first panic")
	}
}

// rate adds a gate for the rate of events in n calls. The field of Policy sets the limit.
func (j *judgement) rate(name string, events, n int64, limit float64, todo, field string) {
	g := j.gate(name, 0, wrap.Grouped(events)+" in "+wrap.Counted(n, "call"), "rate <= "+scientific(limit))
	upper := rateUpper(events, n, j.policy.Confidence)
	g.Why = fmt.Sprintf("rate < %s at %s", scientific(upper), percentage(j.policy.Confidence))
	switch {
	case n == 0:
		g.wait("wait for calls")
	case rateLower(events, n, j.policy.Confidence) > limit:
		g.fail("%s; %s is the limit", todo, field)
	case upper > limit:
		g.wait("%s: wait for more calls; %s is the limit", g.Why, field)
		g.done = min(limit/upper, 1)
	}
}

// fleet is the gate for processes that agree, and that are all alive.
func (j *judgement) fleet() {
	r := j.report
	g := j.gate("fleet", 1, wrap.Counted(len(r.Processes), "process"), "one mode, one build, none behind")
	var found problems
	if r.Mode == mixed {
		found.add("several modes")
	}
	builds, percents := splitList(r.Build), map[float64]bool{}
	for _, p := range r.Processes {
		builds = append(builds, p.Build)
		percents[p.Percent] = true
		switch behind := r.Taken.Sub(p.Seen); {
		case behind > j.policy.Silence:
			found.add("%s was not heard of for %s", p.Name, behind.Round(1e9))
		case p.Asked != "" && p.Mode != p.Asked && p.Reason != "":
			found.add("%s is in %s, not %s: %s", p.Name, p.Mode, p.Asked, p.Reason)
		case p.Asked != "" && p.Mode != p.Asked:
			found.add("%s is in %s, not %s", p.Name, p.Mode, p.Asked)
		case r.Mode != mixed && r.Mode != "" && p.Mode != r.Mode:
			found.add("%s is in %s, not %s", p.Name, p.Mode, r.Mode)
		}
	}
	slices.Sort(builds)
	if builds = slices.DeleteFunc(slices.Compact(builds), func(b string) bool { return b == "" }); len(builds) > 1 {
		found.add("several builds: %s", strings.Join(builds, ", "))
	}
	if len(percents) > 1 {
		found.add("several shares of the keys")
	}
	if n := len(found); n > 0 {
		g.Have += ", " + wrap.Counted(n, "disagreement")
		g.fail("%s. Bring them together (Config.Build, Config.Percent), or take what is gone off the list; then count anew",
			wrap.First(found))
	}
}

// mixed is the Mode of processes that do not agree.
const mixed = "mixed"

// splitList reads a list with commas.
func splitList(list string) []string {
	if list == "" {
		return nil
	}
	return strings.Split(list, ",")
}

// Peak describes the busiest time: a shadow that drops calls under load misses the differences
// that occur under load. A merged Report has the Peak of the worst process.
type Peak struct {
	Busiest Minute `json:"busiest"` // of all minutes since the share of the keys was last changed
	Clear   Minute `json:"clear"`   // the busiest minute without a drop
}

// calls is the number of comparisons, done or missed.
func (m Minute) calls() int64 { return m.Compared + m.NotCompared }

// Add includes a minute that is over.
func (p *Peak) Add(m Minute) {
	if m.calls() > p.Busiest.calls() {
		p.Busiest = m
	}
	if m.Dropped == 0 && m.calls() > p.Clear.calls() {
		p.Clear = m
	}
}

// share is the load of the Clear minute, as a share of the busiest.
func (p Peak) share() float64 { return share(p.Clear.calls(), p.Busiest.calls()) }

// merge keeps the worse of both.
func (p *Peak) merge(other Peak) {
	other.Busiest.At, other.Clear.At = utc(other.Busiest.At), utc(other.Clear.At)
	order := cmp.Or(cmp.Compare(other.share(), p.share()), cmp.Compare(p.Busiest.calls(), other.Busiest.calls()),
		cmp.Compare(p.Busiest.Dropped, other.Busiest.Dropped), compareText(other, *p))
	if other.Busiest.calls() > 0 && (p.Busiest.calls() == 0 || order < 0) {
		*p = other
	}
}

// peak is the gate for a busy minute without a drop.
func (j *judgement) peak() {
	p, need := j.report.Peak, max(j.policy.Peak, 0)
	if j.policy.Peak < 0 || len(j.report.Operations) == 0 {
		return
	}
	g := j.gate("peak", p.share()/need, percentage(p.share())+" of the busiest minute's load without a drop", percentage(need))
	switch {
	case p.Busiest.calls() == 0:
		g.Have = "no minute"
		g.wait("no minute of traffic was seen yet: see that Config.Off is false")
	case p.share() < need:
		g.wait("at %s, of %s, %s; raise Config.QueueCalls, Config.Workers or Config.Rate, or lower Config.Percent, and wait for the next peak",
			p.Busiest.At.Format("15:04"), wrap.Counted(p.Busiest.calls(), "comparison"), wrap.Counted(p.Busiest.Dropped, "drop"))
	}
}
