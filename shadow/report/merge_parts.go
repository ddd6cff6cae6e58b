package report

import (
	"slices"
	"strings"
	"time"
)

func (op *Operation) add(other Operation) {
	op.Since = earlier(op.Since, other.Since)
	for comparator, t := range other.Tallies {
		sum := op.Tallies[comparator]
		sum.Eligible += t.Eligible
		sum.Compared += t.Compared
		sum.InFlight += t.InFlight
		sum.NotCompared = added(sum.NotCompared, t.NotCompared)
		sum.Classes = added(sum.Classes, t.Classes)
		op.Tallies[comparator] = sum
	}
	op.Outcomes = added(op.Outcomes, other.Outcomes)
	for _, f := range other.Findings {
		op.addFinding(f)
	}
	op.Keys.Merge(other.Keys)
	op.Legacy.Add(other.Legacy)
	op.Candidate.Add(other.Candidate)
	op.Audited += other.Audited
	op.Contended += other.Contended
}

func (op *Operation) addFinding(f Finding) {
	f.First, f.Last = utc(f.First), utc(f.Last)
	i := slices.IndexFunc(op.Findings, func(g Finding) bool { return compareFindings(f, g) == 0 })
	if i < 0 {
		op.Findings = append(op.Findings, f)
		return
	}
	g := &op.Findings[i]
	g.Count += f.Count
	g.First, g.Last = earlier(g.First, f.First), later(g.Last, f.Last)
}

// add leaves a process out that has had no call yet: its rounds settle nothing. Each of
// the others has to verify the keys that it knows.
func (v *Verify) add(other Verify) {
	if other.idle() {
		return
	}
	if v.idle() {
		v.Settled = other.Settled
	}
	v.Settled = min(v.Settled, other.Settled)
	v.Rounds += other.Rounds
	v.Last = later(v.Last, other.Last)
	v.Touched += other.Touched
	v.Checked += other.Checked
	v.Equal += other.Equal
	v.Pending += other.Pending
	v.Unknown += other.Unknown
	v.Untimed += other.Untimed
	v.Evicted += other.Evicted
	v.Findings = added(v.Findings, other.Findings)
}

func (v *Verify) idle() bool {
	return v.Touched == 0 && v.Evicted == 0 && v.Checked == 0 && len(v.Findings) == 0
}

func (h *Health) add(other Health) {
	h.Legacy.add(other.Legacy)
	h.Candidate.add(other.Candidate)
	if breakerRank(other.Breaker) > breakerRank(h.Breaker) {
		h.Breaker = other.Breaker
	}
	h.BreakerTrips += other.BreakerTrips
	h.Queue += other.Queue
	h.QueueBytes += other.QueueBytes
	h.QueueMost = max(h.QueueMost, other.QueueMost)
	h.Panics += other.Panics
	h.Resyncs = added(h.Resyncs, other.Resyncs)
	h.Lag.Add(other.Lag)
	h.QueueWait.Add(other.QueueWait)
	h.LockWait.Add(other.LockWait)
}

func (p *PathHealth) add(other PathHealth) {
	p.Calls += other.Calls
	p.Errors = added(p.Errors, other.Errors)
}

func (m *Minute) add(other Minute) {
	m.Compared += other.Compared
	m.NotCompared += other.NotCompared
	m.Dropped += other.Dropped
	m.Diverged += other.Diverged
}

// breakerRank orders the states of a breaker, the worst last.
func breakerRank(state string) int {
	return slices.Index([]string{"closed", "half-open", "open"}, state)
}

// added returns the sum of counts, in a map of its own if there are any.
func added[K comparable](sum, counts map[K]int64) map[K]int64 {
	if sum == nil && len(counts) > 0 {
		sum = make(map[K]int64, len(counts))
	}
	for key, n := range counts {
		sum[key] += n
	}
	return sum
}

// joined lists what both name, once, with commas.
func joined(a, b string) string {
	all := slices.Concat(splitList(a), splitList(b))
	slices.Sort(all)
	return strings.Join(slices.Compact(all), ",")
}

// agreed is the mode of both, or "mixed".
func agreed(a, b string) string {
	switch {
	case a == "" || a == b:
		return b
	case b == "":
		return a
	default:
		return mixed
	}
}

// utc makes a time one that compares and prints the same, wherever it was taken.
func utc(t time.Time) time.Time { return t.Round(0).UTC() }

// earlier returns the first of two times; one that is not set does not count.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return utc(b)
	}
	return utc(a)
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return utc(b)
	}
	return utc(a)
}
