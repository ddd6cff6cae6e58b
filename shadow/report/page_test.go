package report_test

import (
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/testing/pagetest"
	"github.com/unwatch/unwatch/internal/testing/reporttest"
	"github.com/unwatch/unwatch/shadow/report"
)

func render(t *testing.T, r *report.Report) string {
	t.Helper()
	var b strings.Builder
	require.NoError(t, r.WriteHTML(&b, report.Policy{}))
	return b.String()
}

func examples() map[string]*report.Report {
	return map[string]*report.Report{
		"ready": reporttest.Ready(), "not ready": reporttest.NotReady(), "thin": reporttest.Thin(), "empty": reporttest.Empty(),
		"fleet": reporttest.Fleet(), "zero": {}, "big": big(), "hostile": hostile(),
	}
}

// big is a report of a fleet with too many items for every table.
func big() *report.Report {
	r := reporttest.NotReady()
	operations := slices.Clone(r.Operations)
	for i := range 20 {
		for _, o := range operations {
			o.Domain = fmt.Sprintf("%s-%d-of-a-service-with-a-long-name", o.Domain, i)
			r.Operations = append(r.Operations, o)
		}
	}
	for len(r.Samples) < 1000 {
		r.Samples = append(r.Samples, r.Samples[0])
		r.Samples[len(r.Samples)-1].Differences = slices.Repeat(r.Samples[0].Differences, 50)
		r.Keys = append(r.Keys, r.Keys[0])
		r.Processes = append(r.Processes, r.Processes[0])
		r.Marks = append(r.Marks, r.Marks[0])
	}
	return r
}

// hostile is a report with an attack in every text.
func hostile() *report.Report {
	r := reporttest.NotReady()
	pagetest.Poison(reflect.ValueOf(r).Elem())
	r.Operations[0].Tallies = map[report.Comparator]report.Tally{report.Seeded: {
		Eligible: 3, Compared: 1, Classes: map[report.Class]int64{pagetest.Attack: 2},
		NotCompared: map[report.Reason]int64{pagetest.Attack: 1},
	}}
	r.Operations[0].Outcomes = map[string]int64{pagetest.Attack: 1}
	return r
}

// The page of any report is one file that loads nothing. Keyboards and screen readers can use it, and
// it is small enough for a phone.
func TestPageIsValidAndAccessible(t *testing.T) {
	for name, r := range examples() {
		t.Run(name, func(t *testing.T) {
			page := render(t, r)
			t.Logf("%d bytes", len(page))
			assert.Less(t, len(page), 150_000)
			nodes := pagetest.Parse(t, page)
			pagetest.SelfContained(t, page, nodes)
			pagetest.Accessible(t, nodes)
			for _, n := range nodes { // every colour with a meaning has a word as well
				if slices.Contains(strings.Fields(n.Attrs["class"]), "sign") {
					assert.Regexp(t, "^[✓✗○](ready|not ready|not enough data)$", n.Text)
				}
			}
		})
	}
}

// The verdict is the first section.
func TestPageOutline(t *testing.T) {
	var outline []string
	nodes := pagetest.Parse(t, render(t, reporttest.NotReady()))
	for _, n := range nodes {
		if n.Name == "h1" || n.Name == "h2" {
			outline = append(outline, n.Name+" "+strings.Join(strings.Fields(n.Text), " "))
		}
	}
	assert.Equal(t, []string{
		"h1 customer service",
		"h2 not ready All 3 differences are session/close, rating: value differs; one cause",
		"h2 Where every call went",
		"h2 What the comparisons came to",
		"h2 Health",
		"h2 What differed, and where",
		"h2 Latency of both paths",
		"h2 Coverage",
		"h2 Keys that diverge most",
		"h2 Samples",
		"h2 Fleet",
	}, outline)
	assert.Equal(t, "✗ not ready: customer service", nodes[slices.IndexFunc(nodes, func(n *pagetest.Node) bool { return n.Name == "title" })].Text)
}

func TestPageEscapes(t *testing.T) {
	nodes := pagetest.Parse(t, render(t, hostile()))
	seen := 0
	for _, n := range nodes {
		if strings.Contains(n.Text, pagetest.Attack) && slices.Contains([]string{"td", "th", "code", "h1", "title"}, n.Name) {
			seen++
		}
	}
	assert.Greater(t, seen, 30, "the texts are there, as texts")
}

// No text of a report reaches an output raw, and no output but JSON has a whole long name.
func TestHostileTexts(t *testing.T) {
	r := hostile()
	for name, write := range map[string]func(io.Writer, report.Policy) error{
		"html": r.WriteHTML, "json": r.WriteJSON, "metrics": r.WriteMetrics, "text": r.WriteText,
	} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			require.NoError(t, write(&out, report.Policy{}))
			text := out.String()
			if name == "json" {
				assert.Contains(t, text, pagetest.Long)
				text = strings.ReplaceAll(text, pagetest.Long, "")
			}
			pagetest.Clean(t, text)
		})
	}
}

// An accounting error must not look like a difference of the paths.
func TestPageShowsAccountingErrors(t *testing.T) {
	r := reporttest.Ready()
	page := render(t, r)
	assert.Equal(t, 2, strings.Count(page, "Adds up"+": "))
	tally := r.Operations[0].Tallies[report.Free]
	tally.Eligible += 12
	r.Operations[0].Tallies[report.Free] = tally
	page = render(t, r)
	assert.Contains(t, page, "Does not add up. chat/join, free: ")
	assert.Equal(t, 1, strings.Count(page, "Adds up"+": "))
}

// The tile of the latency has the p99 of both paths, once something was measured.
func TestPageShowsTheLatency(t *testing.T) {
	const unmeasured = "<small>nothing measured yet</small>"
	assert.Contains(t, render(t, reporttest.Empty()), unmeasured)
	ready := render(t, reporttest.Ready())
	assert.NotContains(t, ready, unmeasured)
	assert.Regexp(t, `p99, candidate</span> <strong>[0-9.]+ ms</strong> <small>legacy [0-9.]+ ms</small>`, ready)
}
