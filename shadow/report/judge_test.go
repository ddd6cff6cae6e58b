package report_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/testing/reporttest"
	"github.com/unwatch/unwatch/shadow/report"
)

// gate returns the gate of that name, of session/close if the gate has operations.
func gate(t *testing.T, v report.Verdict, name string) report.Gate {
	t.Helper()
	for _, g := range v.Gates {
		if g.Name == name && (g.Operation == "" || g.Domain == "session" && g.Operation == "close") {
			return g
		}
	}
	require.Failf(t, "no such gate", "%s in %+v", name, v.Gates)
	return report.Gate{}
}

// closing returns session/close of a report.
func closing(r *report.Report) *report.Operation {
	for i := range r.Operations {
		if r.Operations[i].Domain == "session" && r.Operations[i].Name == "close" {
			return &r.Operations[i]
		}
	}
	return nil
}

// found adds differences to a report, and keeps the accounting balanced.
func found(r *report.Report, comparator report.Comparator, class report.Class, path string, n int64) {
	op := closing(r)
	op.Tallies[comparator].Classes[class] += n
	op.Tallies[comparator].Classes[report.Match] -= n
	op.Findings = append(op.Findings, report.Finding{
		Comparator: comparator, Class: class, Path: path, Count: n, First: r.Started, Last: r.Taken,
	})
}

func TestExamplesHaveTheirState(t *testing.T) {
	for headline, c := range map[string]struct {
		example *report.Report
		state   report.State
	}{
		"READY: 0 differences in 245,436 calls; the thinnest, session/transfer, supports a rate < 9.66e-5 at 95 %": {
			reporttest.Ready(), report.Ready},
		"NOT READY: all 3 differences are session/close, rating: value differs; one cause": {reporttest.NotReady(), report.NotReady},
		"NOT ENOUGH DATA: session/transfer, outcomes: moved_on compared 2 times; need each compared 5 times; 2 more gates wait": {
			reporttest.Thin(), report.NotEnoughData},
		"NOT ENOUGH DATA: divergence: 0 calls; need calls to compare; 5 more gates wait":        {reporttest.Empty(), report.NotEnoughData},
		"NOT READY: fleet: 5 processes, 5 disagreements; need one mode, one build, none behind": {reporttest.Fleet(), report.NotReady},
	} {
		t.Run(headline, func(t *testing.T) {
			require.NoError(t, c.example.Check())
			v := c.example.Judge(report.Policy{})
			assert.Equal(t, c.state, v.State)
			assert.Equal(t, headline, v.String())
			assert.Equal(t, v, merged(t, c.example).Judge(report.Policy{}), "a single report stays as it is")
			for _, g := range v.Gates {
				assert.NotEmpty(t, g.Have, g.Name)
				assert.NotEmpty(t, g.Need, g.Name)
				if g.State != report.Ready {
					assert.NotEmpty(t, g.Why, "%s/%s, %s says what to do", g.Domain, g.Operation, g.Name)
				}
			}
		})
	}
}

// Each gate decides in a report that is ready otherwise, so that the verdict must be the gate's.
func TestEachGateDecides(t *testing.T) {
	const fails, waits, passes = report.NotReady, report.NotEnoughData, report.Ready
	type rep = *report.Report
	policies := map[string]report.Policy{
		"a policy that makes no sense": {Rate: 7}, "a stricter rate": {Rate: 5e-5}, "refusals only": {Outcomes: -1},
		"not as busy as the policy asks": {Peak: 1},
	}
	peak := func(minutes ...report.Minute) func(rep) { return func(r rep) { r.Peak = peakOf(minutes...) } }
	for name, c := range map[string]struct {
		gate   string
		state  report.State
		says   string // in Have or Why
		change func(r rep)
	}{
		"lost count": {"accounting", fails, "does not add up: session/close, seeded",
			tally(report.Seeded, func(t *report.Tally) { t.Eligible++ })},
		"a finding without a call": {"accounting", fails, "1 ttl difference", func(r rep) {
			closing(r).Findings = []report.Finding{{Comparator: report.Seeded, Class: report.TTLDiffers, Count: 1}}
		}},
		"a class from the future": {"accounting", fails, "later version",
			tally(report.Seeded, func(t *report.Tally) { t.Classes["worse"] = 0 })},
		"a policy that makes no sense": {"policy", fails, "rate is 7", func(rep) {}},
		"another expiry": {"divergence", fails, "expiry differs, once. What to do: find the write",
			func(r rep) { found(r, report.Seeded, report.TTLDiffers, "", 1) }},
		"a difference without a finding": {"divergence", fails, "value differs, 2 times", func(r rep) {
			found(r, report.Seeded, report.ValueDiffers, "rating", 2)
			closing(r).Findings = nil
		}},
		"a stricter rate": {"divergence", waits, "46,113 of 59,914 calls: rate < 6.5e-5 at 95 %; wait for 13,801 more",
			func(rep) {}},
		"races compare no values": {"divergence", waits, "no call was compared", func(r rep) {
			closing(r).Tallies[report.Seeded], closing(r).Outcomes, closing(r).Findings = report.Tally{}, nil, nil
		}},
		"a call that differs at several places": {"divergence", fails, "2 differences in 46,113 calls", func(r rep) {
			found(r, report.Seeded, report.ValueDiffers, "rating", 2)
			closing(r).Findings = append(closing(r).Findings,
				report.Finding{Comparator: report.Seeded, Class: report.ValueDiffers, Path: "note", Count: 2},
				report.Finding{Comparator: report.Seeded, Class: report.ValueDiffers, Path: "other", Count: 9})
		}},
		"few keys": {"keys", waits, "wait for calls of other keys", func(r rep) { closing(r).Keys = nil }},
		"a rare refusal": {"outcomes", waits, "session_closed compared 4 times",
			func(r rep) { closing(r).Outcomes["session_closed"] = 4 }},
		"refusals only": {"outcomes", waits, "ok compared 0 times",
			func(r rep) { closing(r).Outcomes = map[string]int64{"session_closed": 900, "ok": 0} }},
		"no success": {"outcomes", waits, "no call that succeeded",
			func(r rep) { closing(r).Outcomes = map[string]int64{"session_closed": 900} }},
		"many drops": {"coverage", fails, "mostly dropped_bytes, 400 times: raise Config.Workers or Config.QueueBytes",
			missed("dropped_bytes", 400)},
		"excused calls":  {"coverage", passes, "", missed("not_applicable", 40_000)},
		"drops, maybe":   {"coverage", waits, "mostly dropped_queue", missed("dropped_queue", 200)},
		"slow":           {"latency", fails, "beyond doubt", candidate(50*time.Millisecond, 5000)},
		"slow as a rule": {"latency", fails, "two round trips longer", candidate(5*time.Millisecond, 5000)},
		"not yet slow":   {"latency", waits, "300 calls of both paths", candidate(5*time.Millisecond, 300)},
		"a lost update":  {"audit", fails, "update lost, once", func(r rep) { found(r, report.Free, report.LostUpdate, "", 1) }},
		"nobody met": {"audit", waits, "the zero is empty: only 1,000 commits met another writer", func(r rep) {
			for i := range r.Operations {
				r.Operations[i].Contended = 200
			}
		}},
		"errors":         {"errors", fails, "mend the candidate's store", failing("unavailable", 500)},
		"errors, maybe":  {"errors", waits, "wait for more calls", failing("unavailable", 150)},
		"lock timeouts":  {"lock timeouts", fails, "lockupdate.Config.MaxWait", failing("contended", 500)},
		"lag":            {"lag", fails, "raise Config.Workers", func(r rep) { r.Health.Lag = constant(3*time.Second, 500) }},
		"no lag":         {"lag", waits, "it takes 368 calls", func(r rep) { r.Health.Lag = constant(3*time.Second, 100) }},
		"open breaker":   {"breaker", fails, "did a moment ago", func(r rep) { r.Health.Breaker = "open" }},
		"a panic":        {"panics", fails, "log", func(r rep) { r.Health.Panics = 1 }},
		"no calibration": {"calibration", waits, "A/A", func(r rep) { r.Calibration = nil }},
		"a short calibration": {"calibration", waits, "too short by 9,956 calls",
			func(r rep) { r.Calibration.Compared = 20_000 }},
		"noise": {"calibration", fails, "noise of its own", func(r rep) { r.Calibration.Blocking = 1 }},
		"another build": {"fleet", fails, "several builds: 4f1c2e9, b7702ad",
			func(r rep) { r.Processes[0].Build = "b7702ad" }},
		"a process that fell silent": {"fleet", fails, "desk-0 was not heard of for 3m0s",
			func(r rep) { r.Processes[0].Seen = r.Taken.Add(-3 * time.Minute) }},
		"a process that does something else": {"fleet", fails, "desk-0 is in off, not shadow",
			func(r rep) { r.Processes[0].Mode = "off" }},
		"a mixed fleet":                  {"fleet", fails, "several modes", func(r rep) { r.Mode = "mixed" }},
		"no minute yet":                  {"peak", waits, "no minute", peak()},
		"no drop":                        {"peak", passes, "", peak(minute(0, 10, 0), minute(1, 90, 0))},
		"a drop whenever it is busy":     {"peak", waits, "79 %", peak(minute(0, 79, 0), minute(1, 99, 1))},
		"once nearly as busy":            {"peak", passes, "80 %", peak(minute(0, 80, 0), minute(1, 99, 1))},
		"drops when it is quiet":         {"peak", passes, "", peak(minute(0, 9, 1), minute(1, 99, 0))},
		"not as busy as the policy asks": {"peak", waits, "80 %", peak(minute(0, 80, 0), minute(1, 99, 1))},
	} {
		t.Run(name, func(t *testing.T) {
			r := reporttest.Ready()
			c.change(r)
			v := r.Judge(policies[name])
			g := gate(t, v, c.gate)
			assert.Equal(t, c.state, g.State, "%+v", g)
			assert.Contains(t, g.Have+"\n"+g.Why, c.says)
			assert.Equal(t, c.gate == "accounting", r.Check() != nil)
			differs := c.state == fails && slices.Contains([]string{"divergence", "audit"}, c.gate)
			if c.state != passes && !differs && !slices.Contains([]string{"accounting", "policy", "panics", "breaker"}, c.gate) {
				assert.Regexp(t, `\b(Config|Policy)\.[A-Z]`, g.Why, "%s says which setting helps", c.gate)
			}
			assert.Equal(t, c.state, v.State, v.Headline)
		})
	}
}

// tally returns a change of a tally of session/close.
func tally(c report.Comparator, change func(*report.Tally)) func(*report.Report) {
	return func(r *report.Report) {
		t := closing(r).Tallies[c]
		change(&t)
		closing(r).Tallies[c] = t
	}
}

// missed adds calls that the free run did not compare.
func missed(reason report.Reason, n int64) func(*report.Report) {
	return tally(report.Free, func(t *report.Tally) {
		t.NotCompared[reason] += n
		t.Eligible += n
	})
}

func failing(reason string, n int64) func(*report.Report) {
	return func(r *report.Report) { r.Health.Candidate.Errors[reason] = n }
}

func candidate(d time.Duration, n int) func(*report.Report) {
	return func(r *report.Report) { closing(r).Candidate = constant(d, n) }
}

// A Policy can waive some gates.
func TestPolicyWaivesGates(t *testing.T) {
	r := reporttest.Ready()
	r.Calibration = nil
	r.Peak = peakOf(minute(1, 99, 1))
	for i := range r.Operations {
		r.Operations[i].Keys = nil
		r.Operations[i].Contended = 0
		r.Operations[i].Outcomes["rare"] = 1
		r.Operations[i].Outcomes["ok"]--
	}
	v := r.Judge(report.Policy{Keys: -1, Contended: -1, Outcomes: -1, Peak: -1, Uncalibrated: true})
	assert.Equal(t, report.Ready, v.State, v.Headline)
}

func TestKnownDifferences(t *testing.T) {
	known := func(path string) report.Known {
		return report.Known{Domain: "session", Operation: "close", Class: report.ValueDiffers, Path: path, Why: "fixed in 4f1c2e9"}
	}
	r := reporttest.Ready()
	found(r, report.Seeded, report.ValueDiffers, "rating", 2)
	assert.Equal(t, report.NotReady, r.Judge(report.Policy{}).State)
	assert.Equal(t, report.NotReady, r.Judge(report.Policy{Known: []report.Known{known("note")}}).State, "of another place")

	// Known events count: with two of them, 1e-4 takes 62,956 calls.
	v := r.Judge(report.Policy{Known: []report.Known{known("rating")}})
	assert.Equal(t, report.NotEnoughData, v.State)
	g := gate(t, v, "divergence")
	assert.Equal(t, "0 differences in 46,113 calls, 2 known", g.Have)
	assert.Contains(t, g.Why, "46,113 of 62,956 calls: rate < 1.37e-4 at 95 %")
	v = r.Judge(report.Policy{Rate: 1.4e-4, Known: []report.Known{known("rating")}})
	assert.Equal(t, report.Ready, v.State, v.Headline)

	// A call with another difference blocks.
	closing(r).Findings = append(closing(r).Findings, report.Finding{
		Comparator: report.Seeded, Class: report.ValueDiffers, Path: "note", Count: 1,
	})
	v = r.Judge(report.Policy{Rate: 1.4e-4, Known: []report.Known{known("rating")}})
	assert.Equal(t, "1 difference in 46,113 calls, 1 known", gate(t, v, "divergence").Have)
	assert.Equal(t, "NOT READY: the only difference is session/close, note: value differs", v.Headline)
}

func TestHeadlineNamesTheCause(t *testing.T) {
	for want, change := range map[string]func(*report.Report){
		"NOT READY: all 4 differences are session/close, rating: value differs; one cause": func(r *report.Report) {
			found(r, report.Seeded, report.ValueDiffers, "rating", 4)
		},
		"NOT READY: 8 of 10 differences are session/close, rating: value differs; one cause for most": func(r *report.Report) {
			found(r, report.Seeded, report.ValueDiffers, "rating", 8)
			found(r, report.Seeded, report.TTLDiffers, "", 2)
		},
		"NOT READY: 10 differences of 3 kinds, most often (7) session/close, rating: value differs": func(r *report.Report) {
			found(r, report.Seeded, report.ErrorClass, "", 1)
			found(r, report.Seeded, report.ValueDiffers, "rating", 7)
			found(r, report.Free, report.LostUpdate, "", 2)
		},
		"NOT READY: 9 of 10 differences are session/close: value differs, at several places": func(r *report.Report) {
			found(r, report.Seeded, report.ValueDiffers, "rating", 5)
			found(r, report.Seeded, report.ValueDiffers, "note", 4)
			found(r, report.Free, report.LostUpdate, "", 1)
		},
		"NOT READY: the accounting does not add up": func(r *report.Report) {
			found(r, report.Seeded, report.ValueDiffers, "rating", 7)
			closing(r).Tallies[report.Seeded].Classes[report.Match]++
		},
		"NOT READY: the report is not plausible": func(r *report.Report) { r.Percent = -1 },
		"NOT READY: panics: 1; need 0":           func(r *report.Report) { r.Health.Panics = 1 },
	} {
		r := reporttest.Ready()
		change(r)
		assert.Equal(t, want, r.Judge(report.Policy{}).Headline)
	}
}

func TestCalibration(t *testing.T) {
	r := reporttest.Ready()
	_, err := r.AsCalibration()
	require.ErrorContains(t, err, "no A/A run")

	r.AA, r.Calibration = true, nil
	closing(r).Candidate = constant(time.Second, 1000) // without effect
	v := r.Judge(report.Policy{})
	assert.Equal(t, report.Ready, v.State, v.Headline)
	assert.Contains(t, v.Headline, "READY: the harness is quiet: 0 differences")
	c, err := r.AsCalibration()
	require.NoError(t, err)
	assert.Equal(t, &report.Calibration{Taken: r.Taken, Compared: 245_436}, c)

	found(r, report.Seeded, report.Nondeterministic, "at", 3)
	found(r, report.Seeded, report.EncodingOnly, "", 3)
	found(r, report.Free, report.LostUpdate, "", 1)
	assert.Equal(t, report.NotReady, r.Judge(report.Policy{}).State)
	c, err = r.AsCalibration()
	require.NoError(t, err)
	assert.EqualValues(t, 4, c.Blocking)
}

func TestExitCodes(t *testing.T) {
	assert.Equal(t, []int{0, 1, 2}, []int{report.Ready.ExitCode(), report.NotReady.ExitCode(), report.NotEnoughData.ExitCode()})
}

func constant(d time.Duration, n int) report.Latency {
	var l report.Latency
	for range n {
		l.Record(d)
	}
	return l
}

// The remedy for each Reason names a setting.
func TestRemediesNameSettings(t *testing.T) {
	for _, reason := range report.Reasons() {
		switch reason {
		case "primary_failed", "not_applicable", "primary_indeterminate", "dropped_mode":
			continue // without a remedy
		}
		r := reporttest.Ready()
		missed(reason, 4000)(r)
		assert.Regexp(t, `\bConfig\.[A-Z]`, gate(t, r.Judge(report.Policy{}), "coverage").Why, reason)
	}
}
