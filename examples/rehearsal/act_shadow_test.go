package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/rmwtest"
	"github.com/unwatch/unwatch/shadow/report"
)

// shadowAct plays only the shadow act, and returns its output.
func shadowAct(t *testing.T, cfg config) (*rehearsal, string) {
	t.Helper()
	var out bytes.Buffer
	r := &rehearsal{cfg: cfg, screen: newScreen(&out)}
	require.NoError(t, r.readStream())
	var err error
	r.folder, err = openFolder(cfg)
	require.NoError(t, err)
	defer func() { assert.NoError(t, r.folder.close()) }()
	r.stage, err = newStage(t.Context(), cfg)
	require.NoError(t, err)
	defer func() { assert.NoError(t, r.stage.close()) }()
	require.NoError(t, r.actShadow(t.Context()), out.String())
	fits(t, out.String())
	return r, out.String()
}

// Both runs without a bug report no difference. Each bug is found by its comparator, and not by one
// that cannot see it. The saved reports agree with the output.
func TestShadowAct(t *testing.T) {
	t.Parallel()
	cfg := small(t, "codis")
	cfg.reports = filepath.Join(t.TempDir(), "new", "folder")
	r, out := shadowAct(t, cfg)
	assert.Empty(t, r.broken, out)
	assert.Equal(t, 2, strings.Count(out, "quiet: 0 findings"), out)
	assert.Regexp(t, `1\. codec: .*\n +seeded +value at `, out)
	// The free run checks expiries after some seconds, if it lasts that long.
	assert.Regexp(t, `2\. expiry: .*and leaves none\n +seeded +ttl, .*\n +lockstep +nothing\n`+
		` +free run +(nothing|ttl, [0-9]+ calls)\n +verifier +ttl, `, out)
	assert.Regexp(t, `3\. guard: .*\n +seeded +nothing\n +lockstep +nothing\n +free run +lost_update, [1-9]`, out)
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
func TestShadowActWithoutBugs(t *testing.T) {
	t.Parallel()
	if underRace {
		t.Skip("the act takes a minute under the race detector, and TestShadowAct plays it")
	}
	cfg := small(t, "codis")
	cfg.harmless = true
	r, out := shadowAct(t, cfg)
	require.Len(t, r.broken, 3, out)
	for i, want := range []string{"seeded did not find", "seeded did not find", "free run did not find"} {
		assert.Contains(t, r.broken[i], want)
	}
	assert.Equal(t, 3, strings.Count(out, "NOT FOUND by "), out)
	assert.NotContains(t, out, "lost_update")
	assert.Equal(t, "0 found!", r.rows[len(r.rows)-1].verdict)
}

// A difference in a run without planted bugs is reported as a failure.
func TestShadowThatIsNotQuiet(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	cfg := small(t, "codis")
	cfg.sample = 30
	r := &rehearsal{cfg: cfg, screen: newScreen(&out)}
	require.NoError(t, r.readStream())
	var err error
	r.stage, err = newStage(t.Context(), cfg)
	require.NoError(t, err)
	defer func() { assert.NoError(t, r.stage.close()) }()
	_, err = r.quiet(t.Context(), r.bugs()[0].run, "A/B", "cas, a bug")
	require.NoError(t, err)
	require.NotEmpty(t, r.broken)
	assert.Contains(t, r.broken[0], "found where there is nothing to find")
	assert.Contains(t, out.String(), "NOT QUIET")
}

// Scratch keys are in the space too, and the space remembers all written keys except deleted ones.
func TestSpace(t *testing.T) {
	m := rmwtest.NewMemory()
	s := newSpace(keys{prefix: "p:"})
	store := s.within(m)
	set := func(name string, v rmw.Value) {
		_, err := store.Update(t.Context(), rmw.Key{Name: name}, func(context.Context, rmw.Value) (rmw.Value, error) { return v, nil })
		require.NoError(t, err)
	}
	set("room:a", rmw.String("x"))
	set("~seed:{room:a}:1", rmw.String("x"))
	set("~seed:{room:a}:1", rmw.Value{})
	set("room:a", rmw.String("w"))
	_, err := store.Update(t.Context(), rmw.Key{Name: "room:a"}, func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
		if cur.Exists() {
			set("room:a", rmw.Value{})
		}
		return rmw.String("x"), nil // written after the delete
	})
	require.NoError(t, err)
	assert.Equal(t, []string{"p:room:a", "p:room:a:lock"}, s.left())
	v, err := m.Read(t.Context(), rmw.Key{Name: "p:room:a"})
	require.NoError(t, err)
	assert.Equal(t, "x", v.Text())
	peeker, ok := rmw.As[rmw.Peeker](store)
	require.True(t, ok)
	v, left, err := peeker.Peek(t.Context(), rmw.Key{Name: "room:a"})
	require.NoError(t, err)
	assert.Equal(t, "x", v.Text())
	assert.Equal(t, rmw.NoTTL, left)
	_, ok = rmw.As[*rmwtest.Memory](store)
	assert.False(t, ok, "nobody may look through it")
}

// No file is written outside of the folder. An unwritable folder is an error before any act runs.
func TestFolder(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "theirs")
	require.NoError(t, os.WriteFile(outside, []byte("theirs"), 0o600))
	dir := t.TempDir()
	require.NoError(t, os.Symlink(outside, filepath.Join(dir, "aa.json")))
	f, err := openFolder(config{reports: dir})
	require.NoError(t, err)
	require.Error(t, f.write("aa.json", (&report.Report{Schema: report.Schema}).WriteJSON))
	require.Error(t, f.write("../aa.json", (&report.Report{Schema: report.Schema}).WriteJSON))
	require.NoError(t, f.close())
	text, err := os.ReadFile(outside)
	require.NoError(t, err)
	assert.Equal(t, "theirs", string(text))

	f, err = openFolder(config{})
	require.NoError(t, err)
	assert.Nil(t, f)
	require.NoError(t, f.close())

	f, err = openFolder(config{freshReports: true})
	require.NoError(t, err)
	assert.DirExists(t, f.path)
	require.NoError(t, f.close())
	assert.NoDirExists(t, f.path, "nothing was written")

	cfg, legacy, proxy := servers(t, "codis")
	cfg.reports = filepath.Join(outside, "below a file")
	code, out, errs := played(t, context.Background(), cfg)
	assert.Equal(t, exitUsage, code)
	assert.Contains(t, errs, "-report: cannot write there: ")
	assert.Empty(t, out)
	for _, p := range []*proxytest.Proxy{legacy, proxy} {
		assert.Empty(t, p.Calls())
	}
}
