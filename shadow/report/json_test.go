package report_test

import (
	"bytes"
	"flag"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/unwatch/unwatch/internal/testing/reporttest"
	"github.com/unwatch/unwatch/shadow/report"
)

var update = flag.Bool("update", false, "write the golden files of this package")

// golden compares text with a file, or writes the file with -update.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, string(want), got, "if that is meant: go test ./shadow/report -update")
}

func TestWriteJSON(t *testing.T) {
	var out bytes.Buffer
	small := reporttest.NotReady()
	small.Operations = []report.Operation{*closing(small)}
	small.Keys, small.Samples = small.Keys[1:2], small.Samples[1:2]
	require.NoError(t, small.WriteJSON(&out, report.Policy{}))
	// The compression of histograms depends on the release of Go.
	golden(t, "not-ready.json", regexp.MustCompile(`"[A-Za-z0-9+/=]{100,}"`).ReplaceAllString(out.String(), `"(base64)"`))

	out.Reset()
	require.NoError(t, reporttest.NotReady().WriteJSON(&out, report.Policy{}))
	again, err := report.Read(bytes.NewReader(out.Bytes()))
	require.NoError(t, err)
	require.NoError(t, again.Check())
	assert.Equal(t, asJSON(t, reporttest.NotReady()), asJSON(t, again))
	assert.Equal(t, reporttest.NotReady().Judge(report.Policy{}), again.Judge(report.Policy{}))
}

func TestReadReturnsTheWrittenReport(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawReport(t, "r")
		var out bytes.Buffer
		require.NoError(t, r.WriteJSON(&out, report.Policy{}))
		again, err := report.Read(&out)
		require.NoError(t, err)
		assert.Equal(t, asJSON(t, r), asJSON(t, again))
	})
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, assert.AnError }

func TestWriteErrorsAreReturned(t *testing.T) {
	r := reporttest.Empty()
	for _, write := range []func(io.Writer, report.Policy) error{r.WriteJSON, r.WriteText, r.WriteHTML, r.WriteMetrics} {
		assert.ErrorIs(t, write(brokenWriter{}, report.Policy{}), assert.AnError)
	}
}

func TestReadRefusesOtherFiles(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, reporttest.Ready().WriteJSON(&out, report.Policy{}))
	whole := out.String()
	var other report.Latency
	h := hdrhistogram.New(1, 1e15, 5)
	text, err := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	require.NoError(t, err)
	require.ErrorContains(t, other.UnmarshalText(text), "of other limits")
	require.ErrorContains(t, other.UnmarshalText(bytes.Repeat([]byte("a"), 1<<20)), "too long")

	for text, want := range map[string]string{
		"":                                   "the file is empty",
		" \n":                                "the file is empty",
		"<html>":                             "this is no report",
		"[1]":                                "this is no report",
		"{}":                                 `"schema" is missing`,
		`{"schema": 3, "operations": "new"}`: "the file has schema 3, this program reads 2: use a later version",
		`{"schema": 1, "verify": {}}`:        "the file has schema 1, this program reads 2: an earlier version has written it. Save the report again",
		`{"schema": "x"}`:                    `"schema" is a JSON string`,
		`{"schema": 2, "operations": 7}`:     `"operations" is a JSON number`,
		whole[:len(whole)/2]:                 "the file ends early",
		whole[:len(whole)-2]:                 "the file ends early",
		whole + "more":                       "invalid character 'm' after",
		strings.Replace(whole, `"lag": "HISTF`, `"lag": "xISTF`, 1): "not a histogram",
	} {
		_, err := report.Read(strings.NewReader(text))
		require.ErrorContains(t, err, want, "%.40s", text)
	}
	_, err = report.Read(iotest.ErrReader(assert.AnError))
	require.ErrorIs(t, err, assert.AnError)

	r, err := report.Read(strings.NewReader(`{"schema": 2, "name": "x", "of a later version": {"a": [1]}}`))
	require.NoError(t, err)
	assert.Equal(t, "x", r.Name)
}

// Read refuses a file, or returns a report that can be checked, judged, shown and merged.
func FuzzRead(f *testing.F) {
	for _, r := range []*report.Report{reporttest.Empty(), reporttest.Ready()} {
		r.Operations = r.Operations[:min(len(r.Operations), 1)]
		var out bytes.Buffer
		require.NoError(f, r.WriteJSON(&out, report.Policy{}))
		f.Add(out.Bytes())
	}
	f.Add([]byte(`{"schema":2,"operations":[{"tallies":{"seeded":{"eligible":-1,"compared":9223372036854775807,
		"classes":{"value":9223372036854775807,"ttl":5}}},"findings":[{"comparator":"seeded","class":"value","count":-9}]}],
		"health":{"candidate":{"calls":9223372036854775807,"errors":{"x":9223372036854775807,"contended":3}}}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := report.Read(bytes.NewReader(text))
		if err != nil {
			return
		}
		known := report.Policy{Known: []report.Known{{Domain: "chat", Operation: "join", Class: report.ValueDiffers, Why: "fixed"}}}
		if r.Check() != nil {
			require.Equal(t, report.NotReady, r.Judge(known).State)
		}
		require.NoError(t, r.WriteText(io.Discard, known))
		scrape(t, metricsOf(t, r))
		m, err := report.Merge(r, r)
		require.NoError(t, err)
		m.Judge(report.Policy{})
	})
}
