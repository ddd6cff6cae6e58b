package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// difference is what blocks, of an operation, by class and place.
type difference struct {
	domain, operation string
	class             Class
	path              string
	count             int64
}

func (d difference) String() string {
	where := operationName(d.domain, d.operation)
	if where == "" {
		where = "the end state"
	}
	if d.path != "" {
		where += ", " + d.path
	}
	return where + ": " + d.class.info().text
}

// blocking splits what one Comparator found of an operation: calls whose differences
// block, the same by class and place, and calls that differed by what is known only. A
// call with both blocks. Calls that no Finding accounts for, block.
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

// evidence is how many calls say how often the paths differ, how many known events are
// left among them, and the bound of the rate that follows. It is the larger sample of the
// seeded comparison and of the lockstep, with the events of whichever saw more: they may
// have seen the same calls, so neither adds up.
func (op Operation) evidence(p Policy) (events, n int64, bound float64) {
	for _, comparator := range []Comparator{Seeded, Lockstep} {
		t := op.Tallies[comparator]
		_, known, _ := op.blocking(comparator, p)
		events = max(events, known)
		// What could not follow the call before it has compared nothing.
		n = max(n, t.Compared-t.Classes[DriftGap]-t.Classes[DriftInherited])
	}
	return events, n, rateUpper(events, n, p.Confidence)
}

// divergence asks whether an operation has differed, and how much that says.
func (j *judgement) divergence(op Operation) {
	var blocked int64
	var differences []difference
	for _, comparator := range []Comparator{Seeded, Lockstep} {
		calls, _, found := op.blocking(comparator, j.policy)
		blocked += calls
		differences = append(differences, found...)
	}
	j.differences = append(j.differences, differences...)
	events, n, bound := op.evidence(j.policy)
	need := callsFor(j.policy.Rate, events, j.policy.Confidence)
	g := openGate("divergence", fmt.Sprintf("%s in %s", counted(blocked, "difference"), counted(n, "call")), "0 in "+counted(need, "call"))
	if events > 0 {
		g.Have += fmt.Sprintf(", %s known", grouped(events))
	}
	supports := fmt.Sprintf("rate < %s at %s", scientific(bound), percentage(j.policy.Confidence))
	switch {
	case blocked > 0:
		g.State = NotReady
		g.Why = listed(differences) + ". What to do: " + worst(differences).info().todo
	case n == 0:
		g.State, g.Why = NotEnoughData, "no call was compared: see why not under coverage, or raise Config.Percent and wait for calls"
	case bound > j.policy.Rate:
		g.State = NotEnoughData
		g.Why = fmt.Sprintf("%s of %s: %s; wait for %s more, or raise Config.Percent",
			grouped(n), counted(need, "call"), supports, grouped(need-n))
	default:
		g.Why = supports
	}
	j.add(share(n, need), g)
}

// keys asks whether calls of enough keys were compared: those of one are much alike.
func (j *judgement) keys(op Operation) {
	if j.policy.Keys < 0 {
		return
	}
	n := op.Keys.Count()
	g := openGate("keys", counted(n, "key"), counted(j.policy.Keys, "key"))
	if n < j.policy.Keys {
		g.State = NotEnoughData
		g.Why = "wait for calls of other keys, or raise Config.Percent; if there are no more, lower Policy.Keys"
	}
	j.add(share(n, j.policy.Keys), g)
}

// outcomes asks whether each answer that was seen was compared more than by chance.
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
	g := openGate("outcomes", counted(len(op.Outcomes), "outcome")+" seen", "each compared "+times(need))
	switch {
	case name != "":
		g.State, g.Have = NotEnoughData, fmt.Sprintf("%s compared %s", name, times(least))
		g.Why = "a refusal is an answer too: wait for more of them, provoke them in a test against the shadow; Policy.Outcomes is the limit"
	case !success && op.Tallies[Seeded].Compared > 0:
		g.State, g.Have = NotEnoughData, "no call that succeeded"
		g.Why = "only refusals were compared: raise Config.Percent, or wait for calls that the operation does something for"
	}
	j.add(share(least, need), g)
}

func times(n int64) string {
	if n == 1 {
		return "once"
	}
	return grouped(n) + " times"
}

// coverage asks whether too many calls went by without a comparison.
func (j *judgement) coverage(op Operation) {
	g := Gate{
		Name: "coverage", State: NotEnoughData, Have: "no call",
		Need: "less than " + percentage(j.policy.NotCompared) + " not compared",
		Why:  "nothing was eligible yet: see that calls go through the shadow, and that Config.Off is false",
	}
	worst := -1.0
	for _, comparator := range Comparators() {
		t := op.Tallies[comparator]
		calls, missed := t.Compared, int64(0)
		reason, most := Reason(""), int64(0)
		for _, r := range sortedKeys(t.NotCompared) {
			n := t.NotCompared[r]
			if r.Excused() {
				continue
			}
			calls, missed = calls+n, missed+n
			if n > most {
				reason, most = r, n
			}
		}
		lost := missed
		calls, missed = calls+t.InFlight, missed+t.InFlight
		if calls <= 0 || float64(missed)/float64(calls) <= worst {
			continue
		}
		worst = float64(missed) / float64(calls)
		g.State, g.Why = Ready, ""
		g.Have = fmt.Sprintf("%s not compared (%s)", percentage(worst), comparator)
		if worst >= j.policy.NotCompared {
			g.State = NotReady
			g.Why = fmt.Sprintf("mostly %s, %s: %s", reason, times(most), reason.info().todo)
			// The first calls can look worse than they are, and so can calls on their way.
			if rateLower(lost, calls, j.policy.Confidence) < j.policy.NotCompared {
				g.State = NotEnoughData
			}
			if t.InFlight > most {
				g.Why = counted(t.InFlight, "call") + " on their way: wait, raise Config.Workers, or see what holds the candidate up"
			}
		}
	}
	j.add(0, g)
}

// listed names the most frequent differences.
func listed(differences []difference) string {
	const shown = 3
	sorted := gathered(differences)
	var parts []string
	for _, d := range sorted[:min(shown, len(sorted))] {
		text := d.class.info().text
		if d.path != "" {
			text += " at " + d.path
		}
		parts = append(parts, fmt.Sprintf("%s, %s", text, times(d.count)))
	}
	if more := len(sorted) - shown; more > 0 {
		parts = append(parts, fmt.Sprintf("and %d more kinds", more))
	}
	return strings.Join(parts, "; ")
}

// worst returns the class that comes first in the order of precedence.
func worst(differences []difference) Class {
	return slices.MinFunc(differences, func(a, b difference) int { return cmp.Compare(a.class.rank(), b.class.rank()) }).class
}

// gathered adds up differences of one kind that several Comparators have found, and puts
// the most frequent first.
func gathered(differences []difference) []difference {
	var out []difference
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
