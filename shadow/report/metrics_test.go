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

// Each number of the golden report is another one, so that no metric can show that of another. A series exists
// before its first difference, so that the difference is an increase.
func TestWriteMetrics(t *testing.T) {
	numbered := reporttest.NotReady()
	numbered.Operations = []report.Operation{*closing(numbered)}
	forks := numbered.Operations[0].Tallies[report.Free].Classes
	forks[report.LostUpdate], forks[report.DoubleApply] = 1, 1
	number(reflect.ValueOf(numbered).Elem(), new(int64))
	numbered.Policy = report.Policy{} // it has limits, and no counts
	// The histograms of an operation show the buckets of all histograms.
	golden(t, "numbered.prom", regexp.MustCompile(`(?m)^shadow_(lag|lock|queue)_.*_bucket.*\n`).ReplaceAllString(metricsOf(t, numbered), ""))
}

// number sets all numbers of v, counting on from last.
func number(v reflect.Value, last *int64) {
	switch *last++; v.Kind() {
	case reflect.Int, reflect.Int64:
		v.SetInt(*last)
	case reflect.Float64:
		v.SetFloat(float64(*last))
	case reflect.Slice:
		for i := range v.Len() {
			number(v.Index(i), last)
		}
	case reflect.Map:
		for _, key := range slices.SortedFunc(v.Seq(), func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) }) {
			value := reflect.New(v.Type().Elem()).Elem()
			value.Set(v.MapIndex(key))
			number(value, last)
			v.SetMapIndex(key, value)
		}
	case reflect.Struct:
		for _, field := range v.Fields() {
			if field.CanSet() {
				number(field, last)
			}
		}
	}
}

func TestMetricsCanBeScraped(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { scrape(t, metricsOf(t, drawReport(t, "r"))) })
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
	r.Health.Candidate.Errors[evil] = 7
	s := scrape(t, metricsOf(t, r))
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
	for i := range r.Operations {
		r.Operations[i].Findings = nil
	}
	shown := func() map[string]float64 {
		counts := map[string]float64{}
		for _, s := range scrape(t, metricsOf(t, r)).having("shadow_divergences_total", "class", "encoding_only") {
			counts[s.labels["op"]+" "+s.labels["path"]] = s.value
		}
		return counts
	}
	before := map[string]float64{}
	for i := range 300 {
		op := &r.Operations[i%2]
		op.Findings = append(op.Findings, report.Finding{
			Comparator: report.Seeded, Class: report.EncodingOnly, Path: fmt.Sprintf("p%d", 1000-i), Count: int64(i + 1),
			First: reporttest.Start().Add(time.Duration(i) * time.Second),
		})
		if i < 150 || i%29 != 0 && i != 299 {
			continue
		}
		now := shown()
		for path, was := range before {
			assert.GreaterOrEqual(t, now[path], was, path)
		}
		before = now
	}
	assert.Len(t, before, 200+2)
	assert.Positive(t, before["join other"])
	assert.Positive(t, before["leave other"])
	var sum float64
	for _, n := range before {
		sum += n
	}
	assert.InDelta(t, 300*301/2, sum, 0.1)
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
	require.Len(t, rules, 3)
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
