package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/unwatch/unwatch/internal/wrap"
)

// Judge returns the verdict under p; under r.Policy if p is zero. It has a gate for each condition, and for each operation where
// that applies, so that the smallest sample decides and not the total. A failed gate outweighs a
// gate that lacks data.
//
// A calibration (AA) needs no gates for latency and calibration. Ready then means that the
// harness finds no difference between two legacy paths.
func (r *Report) Judge(p Policy) Verdict {
	p = r.under(p)
	j := judgement{report: r, policy: p.withDefaults()}
	if err := p.Validate(); err != nil {
		g := j.gate("policy", 1, "a policy that makes no sense", "one that does")
		g.fail("%s", strings.ReplaceAll(err.Error(), "\n", "; "))
		g.cause = g.Why
		return j.verdict()
	}
	j.accounting()
	if len(r.Operations) == 0 {
		g := j.gate("divergence", 0, "0 calls", "calls to compare")
		g.wait("nothing was called yet: see that the shadow is on, and that calls go through it")
	}
	for _, op := range sortedBy(r.Operations, compareOperations) {
		from := len(j.gates)
		j.divergence(op)
		j.keys(op)
		j.outcomes(op)
		j.coverage(op)
		if !r.AA {
			j.latency(op)
		}
		for _, g := range j.gates[from:] {
			g.Domain, g.Operation = op.Domain, op.Name
		}
	}
	j.peak()
	j.audit()
	j.health()
	j.fleet()
	if !r.AA {
		j.calibration()
	}
	return j.verdict()
}

// judgement is a Verdict under construction.
type judgement struct {
	report      *Report
	policy      Policy
	gates       []*gate
	differences []difference
}

// gate is a Gate under construction.
type gate struct {
	Gate
	done  float64 // the share of its sample that is there, 0 to 1
	cause string  // of the verdict; empty: Have and Need say it
}

// gate adds an open gate.
func (j *judgement) gate(name string, done float64, have, need string) *gate {
	g := &gate{Gate: Gate{Name: name, State: Ready, Have: have, Need: need}, done: done}
	j.gates = append(j.gates, g)
	return g
}

func (g *gate) fail(why string, args ...any) { g.State, g.Why = NotReady, fmt.Sprintf(why, args...) }
func (g *gate) wait(why string, args ...any) {
	g.State, g.Why = NotEnoughData, fmt.Sprintf(why, args...)
}

func (j *judgement) verdict() Verdict {
	v := Verdict{State: Ready}
	for _, g := range j.gates {
		v.Gates = append(v.Gates, g.Gate)
		if g.State == NotReady || v.State == Ready {
			v.State = g.State
		}
	}
	v.Cause = j.cause(v.State)
	v.Headline = strings.ToUpper(string(v.State)) + ": " + v.Cause
	return v
}

// accounting is the first gate: no other number is reliable if calls are missing.
func (j *judgement) accounting() {
	g := j.gate("accounting", 1, "every call is accounted for", "every call accounted for")
	found := j.report.accounting()
	g.cause = "the accounting does not add up"
	if len(found) == 0 {
		found, g.cause = j.report.implausible(), "the report is not plausible"
	}
	if n := len(found); n > 0 {
		more := ""
		if n > 1 {
			more = fmt.Sprintf("; and %d more", n-1)
		}
		g.Have = wrap.Counted(n, "contradiction")
		g.fail("%s: %s%s. Believe no other number here: it is a bug of the shadow, or the report was edited", g.cause, found[0], more)
	}
}

// calibration is the gate for the A/A run.
func (j *judgement) calibration() {
	need := callsFor(j.policy.Rate, 0, j.policy.Confidence)
	g := j.gate("calibration", 0, "none", wrap.Counted(need, "call")+" of an A/A run, 0 differences")
	c := j.report.Calibration
	if c != nil && !j.policy.Uncalibrated {
		g.Have = wrap.Counted(c.Blocking, "difference") + " in " + wrap.Counted(c.Compared, "call")
	}
	switch {
	case j.policy.Uncalibrated:
		g.Need, g.Why = "none", "the policy does not ask for one"
	case c == nil:
		g.wait("run it with a second legacy path as the candidate (A/A, Config.AA) first, and pass its report as Config.Calibration: " +
			"what differs then is noise of the harness")
	case c.Blocking > 0:
		g.fail("the harness has noise of its own: make the A/A run quiet (Config.Domains), then count anew")
	case c.Compared < need:
		g.wait("the A/A run of Config.Calibration was too short by %s", wrap.Counted(need-c.Compared, "call"))
		g.done = share(c.Compared, need)
	}
}

// AsCalibration summarises the report of an A/A run, for Config.Calibration of the next run.
func (r *Report) AsCalibration() (*Calibration, error) {
	if !r.AA {
		return nil, fmt.Errorf("report: %q is no A/A run: its candidate is not a second legacy path", r.Name)
	}
	c := &Calibration{Taken: r.Taken}
	for _, op := range r.Operations {
		_, n, _ := op.evidence(Policy{}.withDefaults())
		c.Compared += n
		for _, comparator := range Comparators() {
			c.Blocking += blocked(op.Tallies[comparator].Classes)
		}
	}
	return c, nil
}

// share returns have/need, from 0 to 1.
func share(have, need int64) float64 {
	if have <= 0 || need <= 0 {
		return 0
	}
	return min(1, float64(have)/float64(need))
}

// cause names the single most likely cause of a state.
func (j *judgement) cause(state State) string {
	if state == Ready {
		return j.proved()
	}
	closed := slices.DeleteFunc(slices.Clone(j.gates), func(g *gate) bool { return g.State != state })
	if state == NotEnoughData {
		return waitsLongest(closed)
	}
	// Upstream causes come first: a fleet that does not agree makes errors, and errors make drops.
	upstream := []string{
		"policy", "accounting", "divergence", "audit", "calibration", "fleet", "panics", "breaker", "errors", "coverage",
		"lock timeouts", "latency", "lag",
	}
	place := func(g *gate) int { return slices.Index(upstream, g.Name) }
	first := slices.MinFunc(closed, func(a, b *gate) int { return cmp.Compare(place(a), place(b)) })
	if first.Name == "divergence" || first.Name == "audit" {
		return j.mostlyDiffers()
	}
	return cmp.Or(first.cause, first.lacks())
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
func waitsLongest(waiting []*gate) string {
	text := slices.MinFunc(waiting, func(a, b *gate) int { return cmp.Compare(a.done, b.done) }).lacks()
	switch more := len(waiting) - 1; more {
	case 0:
	case 1:
		text += "; one more gate waits"
	default:
		text += fmt.Sprintf("; %d more gates wait", more)
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

// State is the state of a gate, or of a Verdict.
type State string

// The states.
const (
	Ready         State = "ready"           // the sample supports a cut-over
	NotReady      State = "not ready"       // a condition is violated
	NotEnoughData State = "not enough data" // no condition is violated, but the sample is too small
)

// ExitCode returns the exit code for a program: 0 ready, 1 not ready, 2 not enough data.
func (s State) ExitCode() int {
	switch s {
	case Ready:
		return 0
	case NotReady:
		return 1
	default:
		return 2
	}
}

// Gate is a condition for a cut-over.
type Gate struct {
	Name      string `json:"name"`                // "divergence", "coverage", "audit", "latency", "errors", …
	Domain    string `json:"domain,omitempty"`    // empty for a gate over all operations
	Operation string `json:"operation,omitempty"` // empty for a gate over all operations
	State     State  `json:"state"`
	Have      string `json:"have"`          // the measurement
	Need      string `json:"need"`          // the condition
	Why       string `json:"why,omitempty"` // the bound that the sample supports, or a remedy
}

// Verdict summarises all gates.
type Verdict struct {
	State    State  `json:"state"`
	Headline string `json:"headline"` // the state and its single most likely cause, in a line
	Cause    string `json:"cause,omitempty"`
	Gates    []Gate `json:"gates"`
}

// String returns the Headline, or the State if the Headline is empty.
func (v Verdict) String() string { return cmp.Or(v.Headline, string(v.State)) }

// in returns the gates of a state.
func (v Verdict) in(state State) []Gate {
	return slices.DeleteFunc(slices.Clone(v.Gates), func(g Gate) bool { return g.State != state })
}

func stateOrder(s State) int { return slices.Index([]State{NotReady, NotEnoughData, Ready, ""}, s) }

// of returns the worst state of an operation's gates, and lists the gates that are closed.
func (v Verdict) of(o Operation) (state State, missing string) {
	var lacks []string
	for _, g := range v.Gates {
		if g.Domain != o.Domain || g.Operation != o.Name {
			continue
		}
		if stateOrder(g.State) < stateOrder(state) {
			state = g.State
		}
		if g.State != Ready {
			lacks = append(lacks, fmt.Sprintf("%s: %s, need %s", g.Name, g.Have, g.Need))
		}
	}
	return state, strings.Join(lacks, "; ")
}
