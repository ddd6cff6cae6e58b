package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/unwatch/unwatch/internal/wrap"
)

// difference counts blocking differences of one class at one place.
type difference struct {
	domain, operation string
	class             Class
	path              string
	count             int64
}

func (d difference) String() string {
	where := operationName(d.domain, d.operation)
	if d.path != "" {
		where += ", " + d.path
	}
	return where + ": " + d.class.info().text
}

// blocking splits the calls of one Comparator that have a blocking class: known calls have only
// differences that the Policy knows, all others are blocked. Calls without a Finding are blocked.
func (op Operation) blocking(comparator Comparator, p Policy) (blocked, known int64, differences []difference) {
	for _, class := range Classes() {
		calls := op.Tallies[comparator].Classes[class]
		if calls <= 0 || !class.Blocks() {
			continue
		}
		var unknown, found int64
		for _, f := range op.Findings {
			if f.Comparator != comparator || f.Class != class {
				continue
			}
			found += f.Count
			if !p.knows(op.Domain, op.Name, class, f.Path) {
				unknown += f.Count
				differences = append(differences, difference{op.Domain, op.Name, class, f.Path, f.Count})
			}
		}
		if rest := calls - found; rest > 0 {
			unknown += rest
			differences = append(differences, difference{op.Domain, op.Name, class, "", rest})
		}
		unknown = min(unknown, calls)
		blocked += unknown
		known += calls - unknown
	}
	return blocked, known, differences
}

// evidence returns the sample size n, the known events in it, and the upper bound of the rate.
// The sample is that of the seeded comparator.
func (op Operation) evidence(p Policy) (events, n int64, bound float64) {
	_, events, _ = op.blocking(Seeded, p)
	n = op.Tallies[Seeded].Compared
	return events, n, rateUpper(events, n, p.Confidence)
}

// divergence is the gate for the differences of an operation, and for the size of its sample.
func (j *judgement) divergence(op Operation) {
	blocked, differences := j.blocking(op, Seeded)
	events, n, bound := op.evidence(j.policy)
	need := callsFor(j.policy.Rate, events, j.policy.Confidence)
	g := j.gate("divergence", share(n, need),
		wrap.Counted(blocked, "difference")+" in "+wrap.Counted(n, "call"), "0 in "+wrap.Counted(need, "call"))
	if events > 0 {
		g.Have += ", " + wrap.Grouped(events) + " known"
	}
	supports := fmt.Sprintf("rate < %s at %s", scientific(bound), percentage(j.policy.Confidence))
	switch {
	case blocked > 0:
		g.fail("%s", listed(differences))
	case n == 0:
		g.wait("no call was compared: see why not under coverage, or raise Config.Percent and wait for calls")
	case bound > j.policy.Rate:
		g.wait("%s of %s: %s; wait for %s more, or raise Config.Percent",
			wrap.Grouped(n), wrap.Counted(need, "call"), supports, wrap.Grouped(need-n))
	default:
		g.Why = supports
	}
}

// blocking adds the blocking differences of a Comparator to those of the verdict.
func (j *judgement) blocking(op Operation, comparator Comparator) (blocked int64, differences []difference) {
	blocked, _, differences = op.blocking(comparator, j.policy)
	j.differences = append(j.differences, differences...)
	return blocked, differences
}

// keys is the gate for the number of keys: calls of one key are much alike.
func (j *judgement) keys(op Operation) {
	if j.policy.Keys < 0 {
		return
	}
	n := op.Keys.Count()
	g := j.gate("keys", share(n, j.policy.Keys), wrap.Counted(n, "key"), wrap.Counted(j.policy.Keys, "key"))
	if n < j.policy.Keys {
		g.wait("wait for calls of other keys, or raise Config.Percent; if there are no more, lower Policy.Keys")
	}
}

// outcomes is the gate for each outcome that occurred.
func (j *judgement) outcomes(op Operation) {
	need := max(j.policy.Outcomes, 1)
	least, name, success := need, "", false
	for _, outcome := range sortedKeys(op.Outcomes) {
		n := op.Outcomes[outcome]
		if n < least {
			least, name = n, outcome
		}
		success = success || n > 0 && slices.Contains([]string{"ok", "no-op", "read"}, outcome)
	}
	g := j.gate("outcomes", share(least, need), wrap.Counted(len(op.Outcomes), "outcome")+" seen", "each compared "+times(need))
	switch {
	case name != "":
		g.Have = name + " compared " + times(least)
		g.wait("a refusal is an answer too: wait for more of them, provoke them in a test against the shadow; Policy.Outcomes is the limit")
	case !success && op.Tallies[Seeded].Compared > 0:
		g.Have = "no call that succeeded"
		g.wait("only refusals were compared: raise Config.Percent, or wait for calls that the operation does something for")
	}
}

func times(n int64) string {
	if n == 1 {
		return "once"
	}
	return wrap.Grouped(n) + " times"
}

// coverage is the gate for the share of calls that were not compared, by the worst Comparator.
func (j *judgement) coverage(op Operation) {
	g := j.gate("coverage", 0, "no call", "less than "+percentage(j.policy.NotCompared)+" not compared")
	g.wait("nothing was eligible yet: see that calls go through the shadow, and that Config.Off is false")
	worst := -1.0
	for _, comparator := range Comparators() {
		t := op.Tallies[comparator]
		missed, _ := t.missed()
		calls, late := t.Compared+missed+t.InFlight, missed+t.InFlight
		if calls <= 0 || float64(late)/float64(calls) <= worst {
			continue
		}
		worst = float64(late) / float64(calls)
		g.State, g.Why = Ready, ""
		g.Have = fmt.Sprintf("%s not compared (%s)", percentage(worst), comparator)
		if worst < j.policy.NotCompared {
			continue
		}
		reason, most := Reason(""), int64(0)
		for _, r := range sortedKeys(t.NotCompared) {
			if n := t.NotCompared[r]; n > most && !r.Excused() {
				reason, most = r, n
			}
		}
		g.fail("mostly %s, %s: %s", reason, times(most), reason.info().todo)
		// A small sample, or calls in flight, can look worse than they are.
		if rateLower(missed, calls, j.policy.Confidence) < j.policy.NotCompared {
			g.State = NotEnoughData
		}
		if t.InFlight > most {
			g.Why = wrap.Counted(t.InFlight, "call") + " on their way: wait, raise Config.Workers, or see what holds the candidate up"
		}
	}
}

// listed names the most frequent differences, and the remedy for the class with the highest precedence.
func listed(differences []difference) string {
	const shown = 3
	sorted := gathered(differences)
	var parts []string
	for _, d := range sorted[:min(shown, len(sorted))] {
		text := d.class.info().text
		if d.path != "" {
			text += " at " + d.path
		}
		parts = append(parts, text+", "+times(d.count))
	}
	if more := len(sorted) - shown; more > 0 {
		parts = append(parts, fmt.Sprintf("and %d more kinds", more))
	}
	worst := slices.MinFunc(differences, func(a, b difference) int { return cmp.Compare(a.class.rank(), b.class.rank()) })
	return strings.Join(parts, "; ") + ". What to do: " + worst.class.info().todo
}

// gathered adds up equal kinds of differences, and sorts them by frequency.
func gathered(differences []difference) (out []difference) {
	for _, d := range differences {
		sum, _ := entry(&out, func(o difference) bool { o.count = d.count; return o == d })
		d.count += sum.count
		*sum = d
	}
	slices.SortFunc(out, func(a, b difference) int {
		return cmp.Or(
			cmp.Compare(b.count, a.count), cmp.Compare(a.class.rank(), b.class.rank()),
			cmp.Compare(a.domain, b.domain), cmp.Compare(a.operation, b.operation), cmp.Compare(a.path, b.path))
	})
	return out
}
