package report

import (
	"fmt"
	"strings"
)

// Judge makes a verdict of what was found: a gate for each condition, by operation where
// it makes sense, so that the thinnest decides and not the total. What stands against a
// cut-over outweighs what is missing.
//
// A Report of a calibration (AA) is judged likewise, but for what two legacy paths have
// not to prove: the latencies, and another calibration. Ready then means that the harness
// is quiet, and nothing else.
func (r *Report) Judge(p Policy) Verdict {
	j := judgement{report: r, policy: p.withDefaults()}
	if err := p.Validate(); err != nil {
		j.add(1, Gate{
			Name: "policy", State: NotReady, Have: "a policy that makes no sense", Need: "one that does",
			Why: strings.ReplaceAll(err.Error(), "\n", "; "),
		})
		return j.verdict()
	}
	j.accounting()
	if len(r.Operations) == 0 {
		j.add(0, Gate{
			Name: "divergence", State: NotEnoughData, Have: "0 calls", Need: "calls to compare",
			Why: "nothing was called yet: see that the shadow is on, and that calls go through it",
		})
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
		for i := range j.gates[from:] {
			j.gates[from+i].Domain, j.gates[from+i].Operation = op.Domain, op.Name
		}
	}
	j.peak()
	j.audit()
	j.endState()
	j.health()
	j.fleet()
	if !r.AA {
		j.calibration()
	}
	return j.verdict()
}

// judgement is a verdict in the making.
type judgement struct {
	report *Report
	policy Policy
	gates  []Gate
	// done is how much of what a gate needs is there, 0 to 1, to tell which of those that
	// wait for data waits longest.
	done        []float64
	differences []difference // that block
}

func openGate(name, have, need string) Gate {
	return Gate{Name: name, State: Ready, Have: have, Need: need}
}

func (j *judgement) add(done float64, g Gate) {
	j.gates = append(j.gates, g)
	j.done = append(j.done, done)
}

// verdict sums up.
func (j *judgement) verdict() Verdict {
	v := Verdict{State: Ready, Gates: j.gates}
	for _, g := range j.gates {
		if g.State == NotReady || v.State == Ready {
			v.State = g.State
		}
	}
	v.Cause = j.cause(v.State)
	v.Headline = strings.ToUpper(string(v.State)) + ": " + v.Cause
	return v
}

// accounting comes first: if calls are lost count of, no other number can be believed.
func (j *judgement) accounting() {
	problems := j.report.accounting()
	cause := notAddingUp
	if len(problems) == 0 {
		problems, cause = j.report.implausible(), implausible
	}
	g := openGate("accounting", "every call is accounted for", "every call accounted for")
	if n := len(problems); n > 0 {
		g.State, g.Have = NotReady, counted(n, "contradiction")
		g.Why = fmt.Sprintf("%s: %s", cause, problems[0])
		if n > 1 {
			g.Why += fmt.Sprintf("; and %d more", n-1)
		}
		g.Why += ". Believe no other number here: it is a bug of the shadow, or somebody changed the report"
	}
	j.add(1, g)
}

const (
	notAddingUp = "the accounting does not add up"
	implausible = "the report is not plausible"
)

// calibration asks whether the harness itself was quiet.
func (j *judgement) calibration() {
	const todo = "run it with a second legacy path as the candidate (A/A, Config.AA) first, and pass its report as Config.Calibration: what differs then is noise of the harness"
	need := callsFor(j.policy.Rate, 0, j.policy.Confidence)
	g := openGate("calibration", "none", counted(need, "call")+" of an A/A run, 0 differences")
	done := 0.0
	switch c := j.report.Calibration; {
	case j.policy.Uncalibrated:
		g.Need, g.Why = "none", "the policy does not ask for one"
	case c == nil:
		g.State, g.Why = NotEnoughData, todo
	default:
		g.Have = fmt.Sprintf("%s in %s", counted(c.Blocking, "difference"), counted(c.Compared, "call"))
		switch {
		case c.Blocking > 0:
			g.State, g.Why = NotReady, "the harness has noise of its own: make the A/A run quiet (Config.Domains), then count anew"
		case c.Compared < need:
			g.State = NotEnoughData
			g.Why = fmt.Sprintf("the A/A run of Config.Calibration was too short by %s", counted(need-c.Compared, "call"))
			done = share(c.Compared, need)
		}
	}
	j.add(done, g)
}

// AsCalibration sums up a report of an A/A run, for the reports that rely on it.
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
	c.Blocking += blocked(r.Verify.Findings)
	return c, nil
}

// share is a part of what is needed, 0 to 1.
func share(have, need int64) float64 {
	if have <= 0 || need <= 0 {
		return 0
	}
	return min(1, float64(have)/float64(need))
}
