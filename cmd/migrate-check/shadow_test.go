package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/testing/reporttest"
	"github.com/unwatch/unwatch/shadow/report"
)

// saved is a file with a report.
func saved(t *testing.T, name string, r *report.Report) string {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), name))
	require.NoError(t, err)
	require.NoError(t, r.WriteJSON(file, report.Policy{}))
	require.NoError(t, file.Close())
	return file.Name()
}

func TestShadowJudges(t *testing.T) {
	for _, test := range []struct {
		report *report.Report
		args   []string
		code   int
		want   string
	}{
		{reporttest.Ready(), nil, 0, "READY: 0 differences"},
		{reporttest.NotReady(), nil, 1, "NOT READY"},
		{reporttest.Thin(), nil, 2, "NOT ENOUGH DATA"},
		{reporttest.Empty(), nil, 2, "NOT ENOUGH DATA"},
		{reporttest.Ready(), []string{"-format", "html"}, 0, "<!DOCTYPE html>"},
		{reporttest.Ready(), []string{"-policy", "testdata/policy.json"}, 0, "at 95 %"},
	} {
		r := try(t.Context(), append([]string{"shadow", saved(t, "desk.json", test.report)}, test.args...)...)
		assert.Equal(t, test.code, r.code, r.stderr)
		assert.Contains(t, r.stdout, test.want)
		assert.Empty(t, r.stderr)
		if test.args == nil {
			fits(t, r.stdout)
		}
	}
}

func TestShadowAddsUp(t *testing.T) {
	one, other := reporttest.Ready(), reporttest.Ready()
	other.Processes[0].Name = "desk-1"
	first, second := saved(t, "0.json", one), saved(t, "1.json", other)
	r := try(t.Context(), "shadow", first, "-format", "json", second)
	require.Equal(t, codeOK, r.code, r.stderr)
	var merged report.Report
	require.NoError(t, json.Unmarshal([]byte(r.stdout), &merged))
	assert.Len(t, merged.Processes, 2)
	assert.Equal(t, 2*one.Operations[0].Tallies[report.Seeded].Compared, merged.Operations[0].Tallies[report.Seeded].Compared)

	r = try(t.Context(), "shadow", first, second, first)
	assert.Equal(t, codeError, r.code)
	assert.Contains(t, r.stderr, "would count twice")
}

func TestShadowCalibrates(t *testing.T) {
	bare, aa := reporttest.Ready(), reporttest.Ready()
	bare.Calibration, aa.AA = nil, true
	r := try(t.Context(), "shadow", saved(t, "desk.json", bare))
	assert.Equal(t, 2, r.code)
	r = try(t.Context(), "shadow", saved(t, "desk.json", bare), "-calibration", saved(t, "aa.json", aa))
	assert.Equal(t, codeOK, r.code, r.stderr)
	r = try(t.Context(), "shadow", saved(t, "desk.json", bare), "-calibration", saved(t, "no-aa.json", bare))
	assert.Equal(t, codeError, r.code)
	assert.Contains(t, unwrapped(r.stderr), "is no A/A run")
}
