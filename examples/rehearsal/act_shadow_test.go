package main

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/testing/long"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/shadow"
	"github.com/unwatch/unwatch/shadow/report"
)

// Both runs without a bug report no difference. Each bug is found by its comparator, and not by one
// that cannot see it.
func TestShadowAct(t *testing.T) {
	t.Parallel()
	cfg := small(t, "codis", "E")
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
}

// The runs without a bug are clean, in every process; each report of a bug is not ready and names no room.
func TestShadowReports(t *testing.T) {
	t.Parallel()
	r, _ := opened(t, small(t, "codis", ""))
	aa := shadowRun{name: "aa", candidate: onCAS(r.stage.legacy), stream: r.stream[:100], processes: processes}
	aa.cfg.AA = true
	_, calibration, err := r.shadowed(t.Context(), aa)
	require.NoError(t, err)
	assert.True(t, calibration.AA)
	ab := aa
	ab.name, ab.candidate, ab.cfg = "ab", onLock(r.stage.proxy, "lockupdate", lockupdate.Config{}), shadow.Config{Calibration: calibration}
	_, rep, err := r.shadowed(t.Context(), ab)
	require.NoError(t, err)
	assert.Equal(t, "rehearsal-ab", rep.Name)
	require.NotNil(t, rep.Calibration)
	assert.Zero(t, rep.Calibration.Blocking)
	assert.Empty(t, sightings(rep, report.Seeded))
	assert.Empty(t, sightings(rep, report.Free))
	assert.Len(t, rep.Processes, processes)
	for _, bug := range r.bugs(t.Context()) {
		_, rep, err := r.shadowed(t.Context(), bug)
		require.NoError(t, err)
		assert.Equal(t, report.NotReady, rep.Judge(rehearsalPolicy()).State, bug.name)
		var text bytes.Buffer
		require.NoError(t, rep.WriteText(&text, rehearsalPolicy()))
		assert.NotContains(t, text.String(), "team-", "no report names a room")
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
