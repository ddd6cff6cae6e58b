package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// audit asks whether the free run lost an update or applied one twice, and whether it
// could have: where nobody met anybody, the zero is empty.
func (j *judgement) audit() {
	var blocked, audited, contended int64
	var differences []difference
	for _, op := range j.report.Operations {
		calls, _, found := op.blocking(Free, j.policy)
		blocked += calls
		differences = append(differences, found...)
		audited += op.Audited
		contended += op.Contended
	}
	j.differences = append(j.differences, differences...)
	need := max(j.policy.Contended, 0)
	g := openGate("audit",
		fmt.Sprintf("%s in %s, %s contended", counted(blocked, "fork"), counted(audited, "commit"), grouped(contended)),
		"0 in "+counted(need, "contended commit"))
	switch {
	case blocked > 0:
		g.State = NotReady
		g.Why = listed(differences) + ". What to do: " + worst(differences).info().todo
	case contended < need:
		g.State = NotEnoughData
		g.Why = fmt.Sprintf("the zero is empty: only %s met another writer; run longer, or raise Config.Percent so that busier keys are in it",
			counted(contended, "commit"))
	}
	j.add(share(contended, need), g)
}

// endState asks whether both stores hold the same at rest.
func (j *judgement) endState() {
	v := j.report.Verify
	var confirmed int64
	var kinds []string
	var first Class
	for _, class := range Classes() {
		if n := v.Findings[class]; n > 0 && class.Blocks() && !j.policy.knows("", "", class, "") {
			confirmed += n
			first = cmp.Or(first, class)
			kinds = append(kinds, fmt.Sprintf("%s, %s", class.info().text, times(n)))
		}
	}
	need := max(j.policy.Rounds, 0)
	g := Gate{
		Name: "end state", State: NotEnoughData,
		Have: fmt.Sprintf("%s of %s equal, %s", grouped(v.Equal), counted(v.Checked, "key"), rounds(v.Settled)),
		Need: "all equal, " + rounds(need),
	}
	switch {
	case confirmed > 0:
		g.State = NotReady
		g.Have = fmt.Sprintf("%s confirmed", counted(confirmed, "key that differs"))
		if confirmed > 1 {
			g.Have = fmt.Sprintf("%s keys that differ confirmed", grouped(confirmed))
		}
		g.Why = strings.Join(kinds, "; ") + ". Both stores were at rest. What to do: " + first.info().todo
	case need == 0:
		g.State = Ready
	case v.Rounds == 0 || v.Checked == 0:
		g.Have, g.Why = "no round of the verifier", "run VerifyEvery and wait for its first rounds; without lockstep (Config.Skip) it has nothing to verify"
	case v.Evicted > 0:
		g.Have, g.Why = counted(v.Evicted, "key")+" not in the registry", "they were not verified before others came: raise Config.Keys, or verify more often"
	case v.Touched > v.Checked:
		g.Why = fmt.Sprintf("%s of a process that verifies none: each has to run VerifyEvery", counted(v.Touched-v.Checked, "key"))
	case v.Settled < need && v.Unknown > 0:
		g.Why = fmt.Sprintf("%s could not be read, or moved all the time: run VerifyEvery through a quiet hour", counted(v.Unknown, "key"))
	case v.Settled < need && v.Pending > 0:
		g.Why = fmt.Sprintf("%s differed and will be looked at again: wait for the next round of VerifyEvery", counted(v.Pending, "key"))
	case v.Settled < need:
		g.Why = "wait for the next rounds of VerifyEvery"
	default:
		g.State = Ready
		if v.Untimed > 0 {
			g.Why = fmt.Sprintf("%s without the expiry, which a store cannot tell", counted(v.Untimed, "key"))
		}
	}
	j.add(share(int64(v.Settled), int64(need)), g)
}

func rounds(n int) string {
	if n == 1 {
		return "1 round"
	}
	return fmt.Sprintf("%d rounds in a row", n)
}

// health asks how the candidate and the shadow did.
func (j *judgement) health() {
	h := j.report.Health
	n := h.Candidate.Calls
	contended := h.Candidate.Errors["contended"]
	failed := total(h.Candidate.Errors) - contended
	var allowed float64
	if h.Legacy.Calls > 0 {
		allowed = float64(total(h.Legacy.Errors)-h.Legacy.Errors["contended"]) / float64(h.Legacy.Calls)
	}
	j.rate("errors", failed, n, min(allowed+j.policy.Errors, 1), "see why in health: mend the candidate's store, or its client's settings", "Policy.Errors")
	j.rate("lock timeouts", contended, n, j.policy.LockTimeouts, "the candidate was contended: raise its lockupdate.Config.MaxWait, find what holds the lock (Config.Lease, Config.LockName), or split the hot key", "Policy.LockTimeouts")

	g := Gate{Name: "lag", State: NotEnoughData, Need: "p99 < " + took(j.policy.Lag)}
	need := valuesFor(0.99, (1+j.policy.Confidence)/2)
	lag, known := h.Lag.interval(0.99, j.policy.Confidence)
	switch {
	case !known:
		g.Have, g.Why = counted(h.Lag.Count(), "call"), fmt.Sprintf("it takes %s: wait, or raise Config.Percent", counted(need, "call"))
	case lag.high < j.policy.Lag:
		g.State, g.Have = Ready, "p99 <= "+took(lag.high)
	case lag.low >= j.policy.Lag:
		g.State, g.Have = NotReady, "p99 >= "+took(lag.low)
		g.Why = "comparisons come late: raise Config.Workers, lower Config.Percent, or look at the candidate's latencies; Policy.Lag is the limit"
	default:
		g.Have = fmt.Sprintf("p99 from %s to %s", took(lag.low), took(lag.high))
		g.Why = "too few calls to tell: wait, or raise Config.Percent"
	}
	j.add(share(h.Lag.Count(), need), g)

	g = openGate("breaker", cmp.Or(h.Breaker, "closed"), "closed")
	if g.Have != g.Need {
		g.State, g.Why = NotReady, "the candidate's store fails, or did a moment ago: see its errors"
	}
	j.add(1, g)

	g = openGate("panics", grouped(h.Panics), "0")
	if h.Panics > 0 {
		g.State, g.Why = NotReady, "the candidate or a comparison panicked: its stack is in the log"
	}
	j.add(1, g)
}

// rate asks that what is counted stays below a limit, per call.
func (j *judgement) rate(name string, events, n int64, limit float64, todo, field string) {
	g := openGate(name, fmt.Sprintf("%s in %s", grouped(events), counted(n, "call")), "rate <= "+scientific(limit))
	upper := rateUpper(events, n, j.policy.Confidence)
	g.Why = fmt.Sprintf("rate < %s at %s", scientific(upper), percentage(j.policy.Confidence))
	done := 0.0
	switch {
	case n == 0:
		g.State, g.Why = NotEnoughData, "wait for calls"
	case rateLower(events, n, j.policy.Confidence) > limit:
		g.State, g.Why = NotReady, todo+"; "+field+" is the limit"
	case upper > limit:
		g.State = NotEnoughData
		g.Why += ": wait for more calls; " + field + " is the limit"
		done = min(limit/upper, 1)
	}
	j.add(done, g)
}

// fleet asks whether all processes do the same, and whether all are heard of.
func (j *judgement) fleet() {
	r := j.report
	g := openGate("fleet", counted(len(r.Processes), "process"), "one mode, one build, none behind")
	var problems []string
	if r.Mode == mixed {
		problems = append(problems, "several modes")
	}
	builds := splitList(r.Build)
	percents := map[float64]bool{}
	for _, p := range r.Processes {
		builds = append(builds, p.Build)
		percents[p.Percent] = true
		switch behind := r.Taken.Sub(p.Seen); {
		case behind > j.policy.Silence:
			problems = append(problems, fmt.Sprintf("%s was not heard of for %s", p.Name, behind.Round(1e9)))
		case p.Asked != "" && p.Mode != p.Asked:
			problems = append(problems, strings.TrimSuffix(fmt.Sprintf("%s is in %s, not %s: %s", p.Name, p.Mode, p.Asked, p.Reason), ": "))
		case r.Mode != mixed && r.Mode != "" && p.Mode != r.Mode:
			problems = append(problems, fmt.Sprintf("%s is in %s, not %s", p.Name, p.Mode, r.Mode))
		}
	}
	slices.Sort(builds)
	builds = slices.DeleteFunc(slices.Compact(builds), func(b string) bool { return b == "" })
	if len(builds) > 1 {
		problems = append(problems, "several builds: "+strings.Join(builds, ", "))
	}
	if len(percents) > 1 {
		problems = append(problems, "several shares of the keys")
	}
	if n := len(problems); n > 0 {
		g.State, g.Have = NotReady, fmt.Sprintf("%s, %s", g.Have, counted(n, "disagreement"))
		g.Why = firstOf(problems)
		g.Why += ". Bring them together (Config.Build, Config.Percent, Config.Serve), or take what is gone off the list; then count anew"
	}
	j.add(1, g)
}

// mixed is the Mode of processes that do not agree.
const mixed = "mixed"

// splitList reads what is listed with commas.
func splitList(list string) []string {
	if list == "" {
		return nil
	}
	return strings.Split(list, ",")
}
