package report_test

import (
	"fmt"
	"maps"
	"math"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
	"pgregory.net/rapid"

	"github.com/unwatch/unwatch/internal/testing/pagetest"
	"github.com/unwatch/unwatch/internal/testing/reporttest"
	"github.com/unwatch/unwatch/shadow/report"
)

func metricsOf(t require.TestingT, r *report.Report) string {
	var out strings.Builder
	require.NoError(t, r.WriteMetrics(&out, report.Policy{}))
	return out.String()
}

func TestWriteMetrics(t *testing.T) {
	for name, r := range examples() {
		t.Run(name, func(t *testing.T) {
			text := metricsOf(t, r)
			s := scrape(t, text)
			if r.Check() == nil && name != "big" { // a report that does not add up has no sums to compare
				addsUp(t, r, s)
			}
			if name == "not ready" || name == "empty" {
				golden(t, strings.ReplaceAll(name, " ", "-")+".prom", text)
			}
		})
	}
	require.ErrorIs(t, reporttest.Empty().WriteMetrics(brokenWriter{}, report.Policy{}), assert.AnError)
}

func TestMetricsAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawReport(t, "r")
		addsUp(t, r, scrape(t, metricsOf(t, r)))
	})
}

// addsUp compares every metric with the report.
func addsUp(t require.TestingT, r *report.Report, s scraped) {
	equal := func(want int64, name string, labels ...string) {
		assert.InDelta(t, float64(want), s.sum(name, labels...), 0.1, "%s %q", name, labels)
	}
	for _, op := range r.Operations {
		where := []string{"domain", op.Domain, "op", op.Name}
		with := func(labels ...string) []string { return slices.Concat(where, labels) }
		for c, tally := range op.Tallies {
			by := with("comparator", string(c))
			equal(tally.Eligible, "shadow_calls_eligible_total", by...)
			equal(tally.Compared, "shadow_calls_compared_total", by...)
			equal(tally.InFlight, "shadow_calls_in_flight", by...)
			equal(tally.Eligible-tally.Compared-tally.InFlight, "shadow_not_compared_total", by...)
			equal(tally.Compared, "shadow_outcomes_total", by...)
			for reason, n := range tally.NotCompared {
				equal(n, "shadow_not_compared_total", append(by, "reason", string(reason))...)
			}
			for class, n := range tally.Classes {
				equal(n, "shadow_outcomes_total", append(by, "class", string(class))...)
			}
		}
		for _, f := range op.Findings {
			place := with("comparator", string(f.Comparator), "class", string(f.Class), "path", f.Path)
			equal(f.Count, "shadow_divergences_total", place...)
		}
		equal(op.Keys.Count(), "shadow_compared_keys", where...)
		equal(op.Audited, "shadow_chain_audited_commits_total", where...)
		equal(op.Contended, "shadow_chain_contended_commits_total", where...)
		free := op.Tallies[report.Free].Classes
		equal(free[report.LostUpdate]+free[report.DoubleApply], "shadow_chain_forks_total", where...)
		equal(op.Legacy.Count(), "shadow_path_duration_seconds_count", with("path", "legacy")...)
		equal(op.Candidate.Count(), "shadow_path_duration_seconds_count", with("path", "candidate")...)
	}
	h, v := r.Health, r.Verify
	for path, health := range map[string]report.PathHealth{"legacy": h.Legacy, "candidate": h.Candidate} {
		equal(health.Calls, "shadow_path_calls_total", "path", path)
		for reason, n := range health.Errors {
			equal(n, "shadow_path_errors_total", "path", path, "reason", reason)
		}
	}
	for cause, n := range h.Resyncs {
		equal(n, "shadow_resync_total", "cause", cause)
	}
	for class, n := range v.Findings {
		equal(n, "shadow_verify_findings_total", "class", string(class))
	}
	for name, want := range map[string]int64{
		"shadow_queue_depth": h.Queue, "shadow_queue_depth_most": h.QueueMost, "shadow_queue_bytes": h.QueueBytes,
		"shadow_breaker_trips_total": h.BreakerTrips, "shadow_panics_total": h.Panics, "shadow_breaker_state": 1,
		"shadow_lag_seconds_count": h.Lag.Count(), "shadow_queue_wait_seconds_count": h.QueueWait.Count(),
		"shadow_lock_wait_seconds_count": h.LockWait.Count(), "shadow_dirty_keys": int64(len(r.Keys)),
		"shadow_verify_round": int64(v.Rounds), "shadow_verify_settled_rounds": int64(v.Settled),
		"shadow_verify_touched_keys": v.Touched, "shadow_verify_evicted_keys": v.Evicted, "shadow_verify_keys": v.Checked,
		"shadow_verdict": 1, "shadow_started_timestamp_seconds": r.Started.Unix(), "shadow_taken_timestamp_seconds": r.Taken.Unix(),
	} {
		equal(want, name)
	}
	equal(1, "shadow_breaker_state", "state", h.Breaker)
	for _, p := range r.Processes {
		equal(1, "shadow_process_info", "process", p.Name, "build", p.Build, "asked", p.Asked, "effective", p.Mode)
		assert.InDelta(t, p.Percent/100, s.sum("shadow_ramp_ratio", "process", p.Name), 1e-9)
	}
	verdict := r.Judge(report.Policy{})
	equal(1, "shadow_verdict", "state", string(verdict.State))
	assert.Len(t, s.having("shadow_verdict"), 3)
	assert.Len(t, s.having("shadow_gate_ok"), len(verdict.Gates))
	for _, g := range verdict.Gates {
		want := int64(0)
		if g.State == report.Ready {
			want = 1
		}
		equal(want, "shadow_gate_ok", "gate", g.Name, "domain", g.Domain, "op", g.Operation)
	}
}

// A series exists before its first difference, so that the difference is an increase.
func TestMetricsBeginAtZero(t *testing.T) {
	s := scrape(t, metricsOf(t, reporttest.Ready()))
	for _, class := range report.Classes() {
		for _, c := range report.Comparators() {
			found := s.having("shadow_outcomes_total", "domain", "chat", "op", "join", "comparator", string(c), "class", string(class))
			assert.True(t, len(found) == 1 || !class.Blocks(), "%s %s", c, class)
		}
		found := s.having("shadow_verify_findings_total", "class", string(class))
		assert.Equal(t, class.Blocks(), len(found) == 1, class)
	}
}

// Every key of a round has exactly one result.
func TestMetricsCountVerifiedKeysOnce(t *testing.T) {
	r := reporttest.NotReady()
	r.Verify.Checked, r.Verify.Equal, r.Verify.Untimed, r.Verify.Pending, r.Verify.Unknown = 100, 80, 30, 7, 5
	s := scrape(t, metricsOf(t, r))
	got := map[string]float64{}
	for _, sample := range s.having("shadow_verify_keys") {
		got[sample.labels["result"]] = sample.value
	}
	assert.Equal(t, map[string]float64{"equal": 50, "untimed": 30, "pending": 7, "unknown": 5, "different": 8}, got)
}

// Buckets and ranks of a Latency agree.
func TestMetricsHistograms(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := reporttest.Empty()
		var sum time.Duration
		took := rapid.SliceOfN(rapid.Int64Range(0, int64(20*time.Second)), 1, 50).Draw(t, "took")
		for _, d := range took {
			r.Health.Lag.Record(time.Duration(d))
			sum += time.Duration(d)
		}
		s := scrape(t, metricsOf(t, r))
		assert.InDelta(t, sum.Seconds(), s.sum("shadow_lag_seconds_sum"), 0.01*sum.Seconds()+1e-4)
		buckets := s.having("shadow_lag_seconds_bucket")
		assert.Len(t, buckets, 16)
		for _, b := range buckets[:15] {
			seconds, err := strconv.ParseFloat(b.labels["le"], 64)
			require.NoError(t, err)
			le := time.Duration(math.Round(seconds * 1e9))
			if n := int64(b.value); n > 0 {
				assert.LessOrEqual(t, r.Health.Lag.Rank(n), le)
			}
			if n := int64(b.value); n < int64(len(took)) {
				assert.Greater(t, r.Health.Lag.Rank(n+1), le)
			}
		}
	})
}

// Hostile names stay within their label, and no scrape fails.
func TestMetricsEscapeHostileNames(t *testing.T) {
	const evil = "x\"} 1\nshadow_verdict{state=\"ready\"} 1\n# TYPE \\"
	r := reporttest.NotReady()
	op := closing(r)
	op.Domain, op.Name = evil, `C:\new"`+"\n"
	op.Findings[0].Path = "räting[].\\\"\n"
	r.Processes[0].Name, r.Processes[0].Build = evil, "\\"
	r.Health.Resyncs[evil] = 7
	s := scrape(t, metricsOf(t, r))
	addsUp(t, r, s)
	assert.Len(t, s.having("shadow_divergences_total", "domain", evil, "op", `C:\new"`+"\n", "path", "räting[].\\\"\n"), 1)

	// Characters that no label can hold are replaced. Series with equal names then add up.
	op.Name, op.Findings[0].Path = "a\xffb\x00c\rd\x1b[31m", "\xff\xfe"
	other := *op
	other.Name = "a\xfeb\x01c\rd\x1b[31m"
	r.Operations = append(r.Operations, other)
	r.Processes = append(r.Processes, r.Processes[0])
	s = scrape(t, metricsOf(t, r))
	shown := "a\ufffdb\ufffdc\ufffdd\ufffd[31m"
	assert.InDelta(t, 2*op.Tallies[report.Seeded].Compared, s.sum("shadow_calls_compared_total", "op", shown, "comparator", "seeded"), 0.1)
	assert.InDelta(t, 2*op.Legacy.Count(), s.sum("shadow_path_duration_seconds_count", "op", shown, "path", "legacy"), 0.1)
	assert.InDelta(t, 6, s.sum("shadow_divergences_total", "op", shown, "path", "\ufffd\ufffd"), 0.1)
	assert.Len(t, s.having("shadow_process_info"), 1)
	assert.Equal(t, int64(4000), op.Legacy.Count(), "the report itself stays as it is")
}

// Samples, keys and marks never become labels.
func TestMetricsHaveNoUserData(t *testing.T) {
	r := reporttest.NotReady()
	before := metricsOf(t, r)
	for _, s := range r.Samples {
		for _, told := range []string{s.Key, s.OpID, s.Explain, s.Differences[0].Legacy + `"`, s.LegacyExpiry} {
			assert.False(t, strings.Contains(before, `"`+told), told)
		}
	}
	for i := range r.Samples {
		pagetest.Poison(reflect.ValueOf(&r.Samples[i]).Elem())
	}
	for i := range r.Keys {
		domain := r.Keys[i].Domain
		pagetest.Poison(reflect.ValueOf(&r.Keys[i]).Elem())
		r.Keys[i].Domain = domain
	}
	for i := range r.Marks {
		pagetest.Poison(reflect.ValueOf(&r.Marks[i]).Elem())
	}
	r.Name, r.Processes[0].Reason = pagetest.Attack, pagetest.Attack
	assert.Equal(t, before, metricsOf(t, r))
}

// The order of the series does not depend on the order in the report.
func TestMetricsHaveAFixedOrder(t *testing.T) {
	r := reporttest.Fleet()
	before := metricsOf(t, r)
	assert.Equal(t, before, metricsOf(t, reporttest.Fleet()))
	slices.Reverse(r.Operations)
	slices.Reverse(r.Processes)
	for i := range r.Operations {
		slices.Reverse(r.Operations[i].Findings)
		r.Operations[i].Tallies = maps.Clone(r.Operations[i].Tallies)
	}
	assert.Equal(t, before, metricsOf(t, r))
}

// The number of paths is bounded, and no series shrinks.
func TestMetricsBoundThePaths(t *testing.T) {
	r := reporttest.Ready()
	find := func(i int, count int64) {
		op := &r.Operations[i%2]
		op.Findings = append(op.Findings, report.Finding{
			Comparator: report.Seeded, Class: report.EncodingOnly, Path: fmt.Sprintf("p%d", 1000-i), Count: count,
			First: reporttest.Start().Add(time.Duration(i) * time.Second),
		})
	}
	var before scraped
	for i := range 300 {
		find(i, int64(i+1))
		if i < 150 || i%29 != 0 {
			continue
		}
		s := scrape(t, metricsOf(t, r))
		for _, was := range before.having("shadow_divergences_total") {
			var labels []string
			for name, value := range was.labels {
				labels = append(labels, name, value)
			}
			assert.GreaterOrEqual(t, s.sum("shadow_divergences_total", labels...), was.value, labels)
		}
		before = s
	}
	s := scrape(t, metricsOf(t, r))
	ours := s.having("shadow_divergences_total", "class", "encoding_only")
	var with int
	var sum float64
	for _, sample := range ours {
		if sample.labels["path"] != "other" {
			with++
		}
		sum += sample.value
	}
	assert.Equal(t, 200, with)
	assert.InDelta(t, 300*301/2, sum, 0.1)
	assert.Positive(t, s.sum("shadow_divergences_total", "op", "join", "path", "other"))
	assert.Positive(t, s.sum("shadow_divergences_total", "op", "leave", "path", "other"))
}

var selector = regexp.MustCompile(`(shadow_[a-z_]+)(?:\{([a-z]+)(?:=|!~)"([^"]+)"\})?`)

// The alerts use existing metrics and labels.
func TestAlertsUseExistingMetrics(t *testing.T) {
	text, err := os.ReadFile("../../docs/observe/alerts.yml")
	require.NoError(t, err)
	var file struct {
		Groups []struct {
			Rules []struct{ Alert, Expr string }
		}
	}
	require.NoError(t, yaml.Unmarshal(text, &file))
	rules := file.Groups[1].Rules
	require.Len(t, rules, 4)
	s := scrape(t, metricsOf(t, reporttest.NotReady()))
	for _, rule := range rules {
		found := selector.FindAllStringSubmatch(rule.Expr, -1)
		require.Len(t, found, strings.Count(rule.Expr, "shadow_"))
		for _, m := range found {
			require.NotEmpty(t, s.having(m[1]), "%s: there is no %s", rule.Alert, m[1])
			for value := range strings.SplitSeq(m[3], "|") {
				switch m[2] {
				case "":
				case "class": // not all have happened
					assert.Contains(t, report.Classes(), report.Class(value), rule.Alert)
				default:
					assert.NotEmpty(t, s.having(m[1], m[2], value), "%s: there is no %s with %s=%q", rule.Alert, m[1], m[2], value)
				}
			}
		}
	}
	// ShadowBlind leaves out excused reasons.
	for _, reason := range report.Reasons() {
		assert.Equal(t, reason.Excused(), strings.Contains(rules[2].Expr, string(reason)), reason)
	}
}
