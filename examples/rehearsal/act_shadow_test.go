package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/testing/long"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/shadow/report"
)

// Both runs without a bug report no difference. Each bug is found by its comparator, and not by one
// that cannot see it. The saved reports agree with the output.
func TestShadowAct(t *testing.T) {
	t.Parallel()
	cfg := small(t, "codis", "E")
	cfg.reports = filepath.Join(t.TempDir(), "new", "folder")
	code, out, errs := played(t, context.Background(), cfg)
	require.Equal(t, exitOK, code, out+errs)
	assert.Equal(t, 2, strings.Count(out, "quiet: 0 findings"), out)
	assert.Regexp(t, `E  cas, lockupdate in shadow +100 +0 +0   kept`, out)
	assert.Regexp(t, `E  cas, planted bugs in shadow .* 3 found`, out)
	assert.Regexp(t, `1\. codec: .*\n +seeded +value at `, out)
	// The free run checks expiries after some seconds, if it lasts that long.
	assert.Regexp(t, `2\. expiry: .*and leaves none\n +seeded +ttl, .*\n +free +(nothing|ttl, [0-9]+ calls)\n`, out)
	assert.Regexp(t, `3\. guard: [^:]*\n +seeded +nothing\n +free +lost_update, [1-9]`, out)
	assert.Contains(t, unwrapped(out), "By the default one, latencies aside, which asks for 1e-4, 3,000 and 3,000: NOT ENOUGH DATA")

	reports := map[string]*report.Report{}
	for _, name := range []string{"aa", "ab", "codec", "expiry", "guard"} {
		file, err := os.Open(filepath.Join(cfg.reports, name+".json"))
		require.NoError(t, err)
		reports[name], err = report.Read(file)
		require.NoError(t, err)
		require.NoError(t, file.Close())
		assert.Equal(t, "rehearsal-"+name, reports[name].Name)
		text, err := os.ReadFile(filepath.Join(cfg.reports, name+".txt"))
		require.NoError(t, err)
		fits(t, string(text))
		assert.NotContains(t, string(text), "team-", "no report names a room")
		page, err := os.ReadFile(filepath.Join(cfg.reports, name+".html"))
		require.NoError(t, err)
		assert.Contains(t, string(page), "</html>")
	}
	assert.True(t, reports["aa"].AA)
	require.NotNil(t, reports["ab"].Calibration)
	assert.Zero(t, reports["ab"].Calibration.Blocking)
	assert.Empty(t, sightings(reports["ab"]))
	assert.Len(t, reports["ab"].Processes, processes)
	for _, name := range []string{"codec", "expiry", "guard"} {
		assert.Equal(t, report.NotReady, reports[name].Judge(rehearsalPolicy()).State, name)
	}
}

// Negative control: without planted bugs nothing is found, and the act reports its own failure.
func TestShadowWithoutBugs(t *testing.T) {
	long.Repeats(t)
	t.Parallel()
	cfg := small(t, "codis", "")
	cfg.harmless = true
	r, out := opened(t, cfg)
	require.NoError(t, r.plant(t.Context(), nil))
	require.Len(t, r.broken, 3, out)
	for i, want := range []string{"seeded did not find", "seeded did not find", "free did not find"} {
		assert.Contains(t, r.broken[i], want)
	}
	assert.Equal(t, 3, strings.Count(out.String(), "NOT FOUND by "), out)
	assert.NotContains(t, out.String(), "lost_update")
	assert.Equal(t, "0 found!", r.rows[len(r.rows)-1].verdict)
}

// A difference in a run without planted bugs is reported as a failure.
func TestShadowThatIsNotQuiet(t *testing.T) {
	long.Repeats(t)
	t.Parallel()
	r, out := opened(t, small(t, "codis", ""))
	_, err := r.quiet(t.Context(), r.bugs(t.Context())[0], "A/B", "cas, a bug")
	require.NoError(t, err)
	require.NotEmpty(t, r.broken)
	assert.Contains(t, r.broken[0], "found where there is nothing to find")
	assert.Contains(t, out.String(), "NOT QUIET")
}

// No file is written outside of the folder. An unwritable folder is an error before any act runs.
func TestFolder(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "theirs")
	require.NoError(t, os.WriteFile(outside, []byte("theirs"), 0o600))
	dir := t.TempDir()
	require.NoError(t, os.Symlink(outside, filepath.Join(dir, "aa.json")))
	f, err := openFolder(dir)
	require.NoError(t, err)
	require.Error(t, f.save("aa", &report.Report{Schema: report.Schema}))
	require.Error(t, f.save("../aa", &report.Report{Schema: report.Schema}))
	require.NoError(t, f.close())
	text, err := os.ReadFile(outside)
	require.NoError(t, err)
	assert.Equal(t, "theirs", string(text))

	f, err = openFolder("")
	require.NoError(t, err)
	assert.DirExists(t, f.path)
	require.NoError(t, f.close())
	assert.NoDirExists(t, f.path, "nothing was written")

	cfg, legacy, proxy := servers(t, "codis", "ABCDE")
	cfg.reports = filepath.Join(outside, "below a file")
	code, out, errs := played(t, context.Background(), cfg)
	assert.Equal(t, exitUsage, code)
	assert.Contains(t, errs, "-report: cannot write there: ")
	assert.Empty(t, out)
	for _, p := range []*proxytest.Proxy{legacy, proxy} {
		assert.Empty(t, p.Calls())
	}
}
