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
	for name, c := range map[string]struct {
		example  *report.Report
		state    report.State
		headline string
	}{
		"ready": {
			reporttest.Ready(), report.Ready,
			"READY: 0 differences in 1,340,843 calls; the thinnest, session/transfer, supports a rate < 9.66e-5 at 95 %",
		},
		"not ready": {
			reporttest.NotReady(), report.NotReady,
			"NOT READY: all 3 differences are session/close, rating: value differs; one cause",
		},
		"thin": {
			reporttest.Thin(), report.NotEnoughData,
			"NOT ENOUGH DATA: session/transfer, outcomes: moved_on compared 2 times; need each compared 5 times; 2 more gates wait",
		},
		"empty": {
			reporttest.Empty(), report.NotEnoughData,
			"NOT ENOUGH DATA: divergence: 0 calls; need calls to compare; 6 more gates wait",
		},
		"fleet": {
			reporttest.Fleet(), report.NotReady,
			"NOT READY: fleet: 5 processes, 5 disagreements; need one mode, one build, none behind",
		},
	} {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, c.example.Check())
			v := c.example.Judge(report.Policy{})
			assert.Equal(t, c.state, v.State)
			assert.Equal(t, c.headline, v.Headline)
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

// Each gate fails, or waits for data, in a report that is ready otherwise, so that the verdict must be the
// gate's.
func TestEachGateDecides(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*report.Report)
		policy report.Policy
		gate   string
		state  report.State
		says   string // in Have or Why
	}{
		"lost count": {
			func(r *report.Report) {
				tally := closing(r).Tallies[report.Seeded]
				tally.Eligible++
				closing(r).Tallies[report.Seeded] = tally
			},
			report.Policy{}, "accounting", report.NotReady, "does not add up: session/close, seeded",
		},
		"a finding without a call": {
			func(r *report.Report) {
				closing(r).Findings = []report.Finding{{Comparator: report.Seeded, Class: report.TTLDiffers, Count: 1}}
			},
			report.Policy{}, "accounting", report.NotReady, "1 ttl difference",
		},
		"a class from the future": {
			func(r *report.Report) { closing(r).Tallies[report.Seeded].Classes["worse"] = 0 },
			report.Policy{}, "accounting", report.NotReady, "later version",
		},
		"a policy that makes no sense": {
			func(*report.Report) {}, report.Policy{Rate: 7}, "policy", report.NotReady, "rate is 7",
		},
		"a difference in lockstep": {
			func(r *report.Report) { found(r, report.Lockstep, report.TTLDiffers, "", 1) },
			report.Policy{}, "divergence", report.NotReady, "expiry differs, once. What to do: find the write",
		},
		"a difference without a finding": {
			func(r *report.Report) {
				found(r, report.Seeded, report.ValueDiffers, "rating", 2)
				closing(r).Findings = nil
			},
			report.Policy{}, "divergence", report.NotReady, "value differs, 2 times",
		},
		"a stricter rate": {
			func(*report.Report) {}, report.Policy{Rate: 5e-5}, "divergence", report.NotEnoughData,
			"46,113 of 59,914 calls: rate < 6.5e-5 at 95 %; wait for 13,801 more",
		},
		"drift compares nothing": {
			func(r *report.Report) {
				op := closing(r)
				op.Tallies[report.Seeded], op.Outcomes = report.Tally{}, nil
				found(r, report.Lockstep, report.DriftGap, "", 30_000)
			},
			report.Policy{}, "divergence", report.NotEnoughData, "wait for 13,850 more",
		},
		"few keys": {
			func(r *report.Report) { closing(r).Keys = nil },
			report.Policy{}, "keys", report.NotEnoughData, "wait for calls of other keys",
		},
		"a rare refusal": {
			func(r *report.Report) { closing(r).Outcomes["session_closed"] = 4 },
			report.Policy{}, "outcomes", report.NotEnoughData, "session_closed compared 4 times",
		},
		"refusals only": {
			func(r *report.Report) { closing(r).Outcomes = map[string]int64{"session_closed": 900, "ok": 0} },
			report.Policy{Outcomes: -1}, "outcomes", report.NotEnoughData, "ok compared 0 times",
		},
		"no success": {
			func(r *report.Report) { closing(r).Outcomes = map[string]int64{"session_closed": 900} },
			report.Policy{}, "outcomes", report.NotEnoughData, "no call that succeeded",
		},
		"many drops": {
			func(r *report.Report) {
				tally := closing(r).Tallies[report.Lockstep]
				tally.NotCompared["dropped_bytes"] = 400
				tally.Eligible += 400
				closing(r).Tallies[report.Lockstep] = tally
			},
			report.Policy{}, "coverage", report.NotReady, "mostly dropped_bytes, 400 times: raise Config.Workers or Config.QueueBytes",
		},
		"drops, maybe": {
			func(r *report.Report) {
				tally := closing(r).Tallies[report.Lockstep]
				tally.NotCompared["dropped_queue"] += 195
				tally.Eligible += 195
				closing(r).Tallies[report.Lockstep] = tally
			},
			report.Policy{}, "coverage", report.NotEnoughData, "mostly dropped_queue",
		},
		"slow": {
			func(r *report.Report) { closing(r).Candidate = constant(50*time.Millisecond, 5000) },
			report.Policy{}, "latency", report.NotReady, "beyond doubt",
		},
		"slow as a rule": {
			func(r *report.Report) { closing(r).Candidate = constant(5*time.Millisecond, 5000) },
			report.Policy{}, "latency", report.NotReady, "two round trips longer",
		},
		"not yet slow": {
			func(r *report.Report) { closing(r).Candidate = constant(5*time.Millisecond, 300) },
			report.Policy{}, "latency", report.NotEnoughData, "300 calls of both paths",
		},
		"a lost update": {
			func(r *report.Report) { found(r, report.Free, report.LostUpdate, "", 1) },
			report.Policy{}, "audit", report.NotReady, "update lost, once",
		},
		"nobody met": {
			func(r *report.Report) {
				for i := range r.Operations {
					r.Operations[i].Contended = 200
				}
			},
			report.Policy{}, "audit", report.NotEnoughData, "the zero is empty: only 2,600 commits met another writer",
		},
		"the end differs": {
			func(r *report.Report) { r.Verify.Findings = map[report.Class]int64{report.TTLDiffers: 1} },
			report.Policy{}, "end state", report.NotReady, "expiry differs, once",
		},
		"no verifier": {
			func(r *report.Report) { r.Verify = report.Verify{} },
			report.Policy{}, "end state", report.NotEnoughData, "no round",
		},
		"one round": {
			func(r *report.Report) { r.Verify.Settled, r.Verify.Pending = 1, 2 },
			report.Policy{}, "end state", report.NotEnoughData, "2 keys differed and will be looked at again",
		},
		"keys that move": {
			func(r *report.Report) { r.Verify.Settled, r.Verify.Unknown = 0, 2 },
			report.Policy{}, "end state", report.NotEnoughData, "quiet hour",
		},
		"keys that nobody verifies": {
			func(r *report.Report) { r.Verify.Evicted = 1 },
			report.Policy{}, "end state", report.NotEnoughData, "raise Config.Keys",
		},
		"errors": {
			func(r *report.Report) { r.Health.Candidate.Errors["unavailable"] = 500 },
			report.Policy{}, "errors", report.NotReady, "mend the candidate's store",
		},
		"errors, maybe": {
			func(r *report.Report) { r.Health.Candidate.Errors["unavailable"] = 150 },
			report.Policy{}, "errors", report.NotEnoughData, "wait for more calls",
		},
		"lock timeouts": {
			func(r *report.Report) { r.Health.Candidate.Errors["contended"] = 500 },
			report.Policy{}, "lock timeouts", report.NotReady, "lockupdate.Config.MaxWait",
		},
		"lag": {
			func(r *report.Report) { r.Health.Lag = constant(3*time.Second, 500) },
			report.Policy{}, "lag", report.NotReady, "raise Config.Workers",
		},
		"no lag": {
			func(r *report.Report) { r.Health.Lag = constant(3*time.Second, 100) },
			report.Policy{}, "lag", report.NotEnoughData, "it takes 368 calls",
		},
		"open breaker": {
			func(r *report.Report) { r.Health.Breaker = "open" },
			report.Policy{}, "breaker", report.NotReady, "did a moment ago",
		},
		"a panic": {
			func(r *report.Report) { r.Health.Panics = 1 },
			report.Policy{}, "panics", report.NotReady, "log",
		},
		"no calibration": {
			func(r *report.Report) { r.Calibration = nil },
			report.Policy{}, "calibration", report.NotEnoughData, "A/A",
		},
		"a short calibration": {
			func(r *report.Report) { r.Calibration.Compared = 20_000 },
			report.Policy{}, "calibration", report.NotEnoughData, "too short by 9,956 calls",
		},
		"noise": {
			func(r *report.Report) { r.Calibration.Blocking = 1 },
			report.Policy{}, "calibration", report.NotReady, "noise of its own",
		},
		"another build": {
			func(r *report.Report) { r.Processes[0].Build = "b7702ad" },
			report.Policy{}, "fleet", report.NotReady, "several builds: 4f1c2e9, b7702ad",
		},
		"a process that fell silent": {
			func(r *report.Report) { r.Processes[0].Seen = r.Taken.Add(-3 * time.Minute) },
			report.Policy{}, "fleet", report.NotReady, "desk-0 was not heard of for 3m0s",
		},
		"a process that does something else": {
			func(r *report.Report) { r.Processes[0].Mode = "off" },
			report.Policy{}, "fleet", report.NotReady, "desk-0 is in off, not shadow",
		},
		"a mixed fleet": {
			func(r *report.Report) { r.Mode = "mixed" },
			report.Policy{}, "fleet", report.NotReady, "several modes",
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := reporttest.Ready()
			c.change(r)
			v := r.Judge(c.policy)
			g := gate(t, v, c.gate)
			assert.Equal(t, c.state, g.State, "%+v", g)
			assert.Contains(t, g.Have+"\n"+g.Why, c.says)
			differs := c.state == report.NotReady && slices.Contains([]string{"divergence", "audit", "end state"}, c.gate)
			if !differs && !slices.Contains([]string{"accounting", "policy", "panics", "breaker"}, c.gate) {
				assert.Regexp(t, `\b(Config|Policy)\.[A-Z]|VerifyEvery`, g.Why, "%s says which setting helps", c.gate)
			}
			assert.Equal(t, c.state, v.State, v.Headline)
		})
	}
}

// A Policy can waive some gates.
func TestPolicyWaivesGates(t *testing.T) {
	r := reporttest.Ready()
	r.Calibration = nil
	r.Verify = report.Verify{}
	for i := range r.Operations {
		r.Operations[i].Keys = nil
		r.Operations[i].Contended = 0
		r.Operations[i].Outcomes["rare"] = 1
		r.Operations[i].Outcomes["ok"]--
	}
	v := r.Judge(report.Policy{Keys: -1, Contended: -1, Rounds: -1, Outcomes: -1, Uncalibrated: true})
	assert.Equal(t, report.Ready, v.State, v.Headline)
}

func TestExcusedReasonsKeepTheCoverage(t *testing.T) {
	r := reporttest.Ready()
	tally := closing(r).Tallies[report.Seeded]
	tally.NotCompared["not_applicable"] = 40_000
	tally.Eligible += 40_000
	closing(r).Tallies[report.Seeded] = tally
	assert.Equal(t, report.Ready, r.Judge(report.Policy{}).State)
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

	r = reporttest.Ready()
	r.Verify.Findings = map[report.Class]int64{report.TTLDiffers: 4}
	assert.Equal(t, report.NotReady, r.Judge(report.Policy{}).State)
	v = r.Judge(report.Policy{Known: []report.Known{{Class: report.TTLDiffers, Why: "fixed in 4f1c2e9"}}})
	assert.Equal(t, report.Ready, v.State, v.Headline)
}

// A call that differs at several places has several findings, and counts once.
func TestCallWithSeveralDifferencesCountsOnce(t *testing.T) {
	r := reporttest.Ready()
	found(r, report.Seeded, report.ValueDiffers, "rating", 2)
	closing(r).Findings = append(closing(r).Findings,
		report.Finding{Comparator: report.Seeded, Class: report.ValueDiffers, Path: "note", Count: 2},
		report.Finding{Comparator: report.Seeded, Class: report.ValueDiffers, Path: "other", Count: 9})
	require.NoError(t, r.Check())
	assert.Equal(t, "2 differences in 46,113 calls", gate(t, r.Judge(report.Policy{}), "divergence").Have)
}

func TestHeadlineNamesTheCause(t *testing.T) {
	for want, change := range map[string]func(*report.Report){
		"NOT READY: all 4 differences are session/close, rating: value differs; one cause": func(r *report.Report) {
			found(r, report.Seeded, report.ValueDiffers, "rating", 2)
			found(r, report.Lockstep, report.ValueDiffers, "rating", 2) // the same calls, seen by two comparators
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
	assert.Equal(t, &report.Calibration{Taken: r.Taken, Compared: 1_340_843}, c)

	found(r, report.Seeded, report.Nondeterministic, "at", 3)
	found(r, report.Seeded, report.EncodingOnly, "", 3)
	r.Verify.Findings = map[report.Class]int64{report.ValueDiffers: 1}
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

func TestVerdictString(t *testing.T) {
	assert.Equal(t, "not ready: lost updates", report.Verdict{State: report.NotReady, Headline: "not ready: lost updates"}.String())
	assert.Equal(t, "ready", report.Verdict{State: report.Ready}.String())
}

// The remedy for each Reason names a setting.
func TestRemediesNameSettings(t *testing.T) {
	for _, reason := range report.Reasons() {
		switch reason {
		case "primary_failed", "not_applicable", "primary_indeterminate", "dropped_mode":
			continue // without a remedy
		}
		r := reporttest.Ready()
		tally := closing(r).Tallies[report.Lockstep]
		tally.NotCompared[reason] += 4000
		tally.Eligible += 4000
		closing(r).Tallies[report.Lockstep] = tally
		assert.Regexp(t, `\bConfig\.[A-Z]`, gate(t, r.Judge(report.Policy{}), "coverage").Why, reason)
	}
}
