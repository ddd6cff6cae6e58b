package report

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/unwatch/unwatch/internal/wrap"
)

// cause names the single most likely cause of a state.
func (j *judgement) cause(state State) string {
	switch state {
	case Ready:
		return j.proved()
	case NotEnoughData:
		return j.waitsLongest()
	}
	// Upstream causes come first: a fleet that does not agree makes errors, errors make drops,
	// and drops make keys differ.
	for _, name := range []string{
		"policy", "accounting", "divergence", "calibration", "fleet", "panics", "breaker", "errors", "end state", "coverage",
		"lock timeouts", "latency", "lag",
	} {
		i := slices.IndexFunc(j.gates, func(g *gate) bool { return g.Name == name && g.State == NotReady })
		switch {
		case name == "divergence" && len(j.differences) > 0:
			return j.mostlyDiffers()
		case i < 0 || name == "divergence":
		case name == "policy":
			return j.gates[i].Why
		case name == "accounting" && len(j.report.accounting()) > 0:
			return notAddingUp
		case name == "accounting":
			return implausible
		default:
			return j.gates[i].lacks()
		}
	}
	return "a gate is closed"
}

// about names the gate, and its operation.
func (g Gate) about() string {
	if where := operationName(g.Domain, g.Operation); where != "" {
		return where + ", " + g.Name
	}
	return g.Name
}

func (g Gate) lacks() string { return g.about() + ": " + g.Have + "; need " + g.Need }

// mostlyDiffers names the kind of four in five differences, or says that there is none.
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
		return fmt.Sprintf("all %s differences are %s; one cause", wrap.Grouped(sum), first)
	case float64(first.count) >= 0.8*float64(sum):
		return fmt.Sprintf("%s of %s differences are %s; one cause for most", wrap.Grouped(first.count), wrap.Grouped(sum), first)
	}
	// One cause can show at several places of a document.
	together := slices.Clone(kinds)
	for i := range together {
		together[i].path = ""
	}
	if most := gathered(together)[0]; float64(most.count) >= 0.8*float64(sum) && most.count > first.count {
		return fmt.Sprintf("%s of %s differences are %s, at several places", wrap.Grouped(most.count), wrap.Grouped(sum), most)
	}
	return fmt.Sprintf("%s differences of %d kinds, most often (%s) %s", wrap.Grouped(sum), len(kinds), wrap.Grouped(first.count), first)
}

// waitsLongest names the gate with the smallest share of its sample.
func (j *judgement) waitsLongest() string {
	waiting := slices.DeleteFunc(slices.Clone(j.gates), func(g *gate) bool { return g.State != NotEnoughData })
	text := slices.MinFunc(waiting, func(a, b *gate) int { return cmp.Compare(a.done, b.done) }).lacks()
	switch len(waiting) {
	case 1:
	case 2:
		text += "; one more gate waits"
	default:
		text += fmt.Sprintf("; %d more gates wait", len(waiting)-1)
	}
	return text
}

// proved says which rate the sample supports.
func (j *judgement) proved() string {
	var calls int64
	thinnest, worst, quiet := "", 0.0, ""
	for _, op := range j.report.Operations {
		_, n, bound := op.evidence(j.policy)
		calls += n
		if bound > worst {
			thinnest, worst = operationName(op.Domain, op.Name), bound
		}
	}
	if j.report.AA {
		quiet = "the harness is quiet: "
	}
	return fmt.Sprintf("%s0 differences in %s; the thinnest, %s, supports a rate < %s at %s",
		quiet, wrap.Counted(calls, "call"), thinnest, scientific(worst), percentage(j.policy.Confidence))
}
