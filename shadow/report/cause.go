package report

import (
	"fmt"
	"slices"
)

// cause names the single most likely one.
func (j *judgement) cause(state State) string {
	switch state {
	case Ready:
		return j.proved()
	case NotEnoughData:
		return j.waitsLongest()
	}
	for _, first := range []string{"policy", "accounting"} {
		if g, ok := j.failed(first); ok {
			if first == "policy" {
				return g.Why
			}
			if len(j.report.accounting()) > 0 {
				return notAddingUp
			}
			return implausible
		}
	}
	if len(j.differences) > 0 {
		return j.mostlyDiffers()
	}
	// What is upstream comes first: a fleet that does not agree makes errors, errors make
	// drops, and drops make keys differ.
	for _, name := range []string{
		"calibration", "fleet", "panics", "breaker", "errors", "end state", "coverage", "lock timeouts", "latency", "lag",
	} {
		if g, ok := j.failed(name); ok {
			return about(g) + g.Have + "; need " + g.Need
		}
	}
	return "a gate is closed"
}

// failed returns the first gate of a name that stands against a cut-over.
func (j *judgement) failed(name string) (Gate, bool) {
	i := slices.IndexFunc(j.gates, func(g Gate) bool { return g.Name == name && g.State == NotReady })
	if i < 0 {
		return Gate{}, false
	}
	return j.gates[i], true
}

// about says what a gate is about.
func about(g Gate) string {
	if where := operationName(g.Domain, g.Operation); where != "" {
		return where + ", " + g.Name + ": "
	}
	return g.Name + ": "
}

// mostlyDiffers names the kind of difference that makes up four of five, or says that
// there is none.
func (j *judgement) mostlyDiffers() string {
	kinds := gathered(j.differences)
	var sum int64
	for _, d := range kinds {
		sum += d.count
	}
	first := kinds[0]
	switch {
	case sum == 1:
		return fmt.Sprintf("the only difference is %s", first)
	case first.count == sum:
		return fmt.Sprintf("all %s differences are %s; one cause", grouped(sum), first)
	case float64(first.count) >= 0.8*float64(sum):
		return fmt.Sprintf("%s of %s differences are %s; one cause for most", grouped(first.count), grouped(sum), first)
	}
	// One cause can show at several places of a document.
	var together []difference
	for _, d := range kinds {
		d.path = ""
		together = append(together, d)
	}
	if most := gathered(together)[0]; float64(most.count) >= 0.8*float64(sum) && most.count > first.count {
		return fmt.Sprintf("%s of %s differences are %s, at several places", grouped(most.count), grouped(sum), most)
	}
	return fmt.Sprintf("%s differences of %d kinds, most often (%s) %s", grouped(sum), len(kinds), grouped(first.count), first)
}

// waitsLongest names the gate that has least of what it needs.
func (j *judgement) waitsLongest() string {
	first, waiting := -1, 0
	for i, g := range j.gates {
		if g.State != NotEnoughData {
			continue
		}
		waiting++
		if first < 0 || j.done[i] < j.done[first] {
			first = i
		}
	}
	g := j.gates[first]
	text := about(g) + g.Have + "; need " + g.Need
	switch waiting {
	case 1:
	case 2:
		text += "; one more gate waits"
	default:
		text += fmt.Sprintf("; %d more gates wait", waiting-1)
	}
	return text
}

// proved says how much the sample supports.
func (j *judgement) proved() string {
	var calls int64
	thinnest, worst := "", 0.0
	for _, op := range j.report.Operations {
		_, n, bound := op.evidence(j.policy)
		calls += n
		if bound > worst {
			thinnest, worst = operationName(op.Domain, op.Name), bound
		}
	}
	text := fmt.Sprintf("0 differences in %s; the thinnest, %s, supports a rate < %s at %s",
		counted(calls, "call"), thinnest, scientific(worst), percentage(j.policy.Confidence))
	if j.report.AA {
		return "the harness is quiet: " + text
	}
	return text
}
