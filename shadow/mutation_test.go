package shadow_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/rmwtest"
	"github.com/unwatch/unwatch/shadow"
	"github.com/unwatch/unwatch/shadow/internal/notcompared"
	"github.com/unwatch/unwatch/shadow/report"
)

// verdictOn runs traffic on a candidate and returns the report.
func verdictOn(t *testing.T, candidate rmw.Store, cfg shadow.Config, meanwhile func()) *report.Report {
	t.Helper()
	return verdictAfter(t, 150, candidate, cfg, meanwhile)
}

func verdictAfter(t *testing.T, calls int, candidate rmw.Store, cfg shadow.Config, meanwhile func()) *report.Report {
	t.Helper()
	cfg.Reads = 100
	s := shadow.New(rmwtest.NewMemory(), candidate, cfg)
	if meanwhile != nil {
		go meanwhile()
	}
	traffic(t, s, 6, calls, 4)
	time.Sleep(5 * time.Second) // kept expiries grow older
	slowTraffic(t, s, 4, 60)
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	require.NoError(t, s.Drain(ctx))
	for range 4 {
		_, err := s.Verify(t.Context())
		require.NoError(t, err)
		time.Sleep(time.Minute)
	}
	require.NoError(t, s.Close())
	r := s.Report()
	require.NoError(t, r.Check())
	return r
}

// named counts the findings that block, by comparator, class and path.
func named(r *report.Report) map[string]int64 {
	found := map[string]int64{}
	for _, op := range r.Operations {
		for _, f := range op.Findings {
			if f.Class.Blocks() {
				found[string(f.Comparator)+" "+string(f.Class)+" "+f.Path] += f.Count
			}
		}
	}
	return found
}

// fault is a fault of a candidate, and the finding and the advice that name it.
type fault struct {
	name      string
	candidate func() *mutant
	want      string // comparator, class, path
	explain   string // part of a sample
	advice    string // part of a gate's advice
}

func faults() []fault {
	return []fault{
		{name: "drops a zero field", candidate: dropsZeroFields, want: "seeded value rating"},
		{name: "rounds numbers", candidate: roundsNumbers, want: "seeded value id"},
		{name: "sorts lists", candidate: sortsLists, want: "seeded value notes[]"},
		{name: "drops a field of a hash", candidate: dropsAField, want: "seeded value limit"},
		{name: "drops the expiry", candidate: dropsTTL, want: "seeded ttl "},
		{name: "mistakes units", candidate: mistakesUnits, want: "seeded ttl "},
		{name: "shows empty for absent", candidate: emptyForAbsent, want: "seeded value "},
		{name: "forgets refusals", candidate: forgetsRefusals, want: "seeded error_class "},
		{name: "renames refusals", candidate: renamesRefusals, want: "seeded error_class "},
		{name: "refuses commands", candidate: refusesCommands, want: "seeded error_class "},
		{name: "is not guarded", candidate: unguarded, want: "free lost_update "},
		{name: "applies twice", candidate: appliesTwice, want: "free double_apply "},
		{name: "reads from a replica", candidate: readsLate, want: "seeded value "},
		{name: "answers otherwise", candidate: answersOtherwise, want: "seeded value state"},
		{name: "guards no fields", candidate: guardsNoFields, want: "free lost_update "},
		{name: "mistakes what was before", candidate: mistakesBefore, want: "seeded value state"},
		{name: "deletes what is kept", candidate: deletesForKeep, want: "seeded value "},
		{name: "drops expiries of hashes", candidate: dropsTTLOfHashes, want: "seeded ttl "},
		{name: "denies its writes", candidate: deniesWrites, want: "seeded value "},
		{name: "applies twice when contended", candidate: appliesTwiceUnderContention, want: "free double_apply "},
		{name: "outlives its lease", candidate: outlivesItsLease, want: "free lost_update "},
		{
			name: "leases for too short", candidate: leasesForTooShort, want: "free lost_update ",
			explain: "made while its fn ran", advice: "the lease that ends before fn does",
		},
		{
			name: "deletes unguarded", candidate: deletesUnguarded, want: "free lost_update ",
			explain: "a delete removed an update that was made while its fn ran", advice: "the delete that is not guarded",
		},
		{
			name: "guards the beginning", candidate: guardsTheBeginning, want: "free lost_update ",
			explain: "overwrote another one", advice: "guarded by the whole value",
		},
		{
			name: "starts expiries anew", candidate: startsExpiriesAnew, want: "free ttl ",
			explain: "an update that keeps the expiry has changed it", advice: "must not start it anew",
		},
		{
			name: "loses writes", candidate: losesWrites, want: "seeded lost_write ",
			advice: "the candidate reports a write that is not stored",
		},
		{
			name: "evicts writes", candidate: evicts, want: "seeded lost_write ",
			advice: "the candidate reports a write that is not stored",
		},
	}
}

// Each fault is found by its comparator. Where one fault has several causes, the samples
// and the advice name the one.
func TestMutants(t *testing.T) {
	for _, m := range faults() {
		run(t, m.name, func(t *testing.T) {
			r := verdictOn(t, m.candidate(), shadow.Config{Sole: true}, nil)
			assert.Contains(t, named(r), m.want)
			v := r.Judge(report.Policy{})
			assert.Equal(t, report.NotReady, v.State)
			var explained strings.Builder
			for _, s := range r.Samples {
				if strings.HasPrefix(m.want, string(s.Comparator)) {
					explained.WriteString(s.Explain + "\n")
				}
			}
			assert.Contains(t, explained.String(), m.explain)
			gate := "divergence"
			if strings.HasPrefix(m.want, string(report.Free)) {
				gate = "audit"
			}
			assert.Contains(t, why(v, gate), m.advice)
			if strings.Contains(m.want, string(report.LostWrite)) {
				assert.NotContains(t, why(v, gate), "codec", named(r))
			}
		})
	}
}

// The guide lists all faults.
func TestTheGuideListsTheMutants(t *testing.T) {
	guide, err := os.ReadFile("../docs/shadow.md")
	require.NoError(t, err)
	for _, m := range faults() {
		of := strings.SplitN(m.want, " ", 3)
		row := fmt.Sprintf("| %s | %s | %s | ", m.name, of[0], of[1])
		if of[2] != "" {
			row += "`" + of[2] + "` "
		}
		assert.True(t, strings.Contains(string(guide), row+"|\n"), "docs/shadow.md lacks the row %q", row+"|")
	}
}

// A candidate that does not answer has no finding, and is not ready either. The advice
// names the reason.
func TestMutantsThatDoNotAnswer(t *testing.T) {
	for _, m := range []struct {
		name      string
		candidate func() *mutant
		want      report.Reason
		advice    []string
	}{
		{"is slow", slow, notcompared.ShadowTimeout, []string{"out of reach"}}, // by then, the breaker is open
		{"panics", panics, notcompared.ShadowPanic, []string{"panicked"}},
		{"is contended", contended, notcompared.ShadowContended, []string{"mostly shadow_contended", "MaxWait", "hot key"}},
	} {
		run(t, m.name, func(t *testing.T) {
			r := verdictOn(t, m.candidate(), shadow.Config{Sole: true}, nil)
			assert.Empty(t, named(r))
			var missed int64
			for _, c := range report.Comparators() {
				missed += passed(r, c)[m.want]
			}
			assert.Positive(t, missed)
			v := r.Judge(report.Policy{})
			assert.Equal(t, report.NotReady, v.State)
			for _, advice := range m.advice {
				assert.Contains(t, why(v, "coverage"), advice)
			}
			if m.want == notcompared.ShadowContended {
				assert.NotContains(t, why(v, "coverage"), "out of reach")
			}
		})
	}
}

// Another program writes to the candidate's store. The verifier finds it; lockstep does, if
// no other process mirrors there.
func TestForeignWriter(t *testing.T) {
	for _, m := range []struct {
		name string
		sole bool
		when time.Duration
		want string
	}{
		{"during the traffic", true, 100 * time.Millisecond, "lockstep foreign_write state"},
		{"afterwards", false, time.Minute, "verifier foreign_write state"},
	} {
		run(t, m.name, func(t *testing.T) {
			candidate := rmwtest.NewMemory()
			r := verdictOn(t, candidate, shadow.Config{Sole: m.sole}, func() {
				time.Sleep(m.when)
				assert.NoError(t, candidate.Set(t.Context(), "ticket:1", rmw.String(`{"id":7,"state":"stolen"}`), rmw.NoTTL))
			})
			assert.Contains(t, named(r), m.want)
			assert.Equal(t, report.NotReady, r.Judge(report.Policy{}).State)
		})
	}
}

// Negative control: the same traffic on a path without a fault has no finding.
func TestNoMutant(t *testing.T) {
	for _, sole := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			r := verdictOn(t, rmwtest.NewMemory(), shadow.Config{Sole: sole}, nil)
			assert.Empty(t, named(r))
			assert.Equal(t, r.Verify.Checked, r.Verify.Equal)
			assert.Positive(t, r.Verify.Checked)
			v := r.Judge(report.Policy{Uncalibrated: true})
			assert.Equal(t, report.NotEnoughData, v.State, "%+v", v)
		})
	}
}

// why returns the advice of a gate that is not ready, for all operations.
func why(v report.Verdict, gate string) (text string) {
	for _, g := range v.Gates {
		if g.Name == gate && g.State != report.Ready {
			text += g.Why + "\n"
		}
	}
	return text
}

// aliases is a candidate that stores keys under other names.
func aliases(name func(name string) string) *mutant {
	change := func(key rmw.Key) rmw.Key {
		key.Name = name(key.Name)
		return key
	}
	m := keyed(change)
	m.read = func(ctx context.Context, key rmw.Key) (rmw.Value, error) { return m.Memory.Read(ctx, change(key)) }
	m.peek = func(ctx context.Context, key rmw.Key) (rmw.Value, time.Duration, error) {
		return m.Memory.Peek(ctx, change(key))
	}
	return m
}

// A finding names both keys that the candidate stores under one name, in one process and
// in a fleet.
func TestKeysThatShareAValueAreNamed(t *testing.T) {
	for _, m := range []struct {
		name  string
		alias func(name string) string
		keys  [2]string
	}{
		{"case folded", strings.ToLower, [2]string{"room:a", "Room:A"}},
		{"prefix collides", func(name string) string {
			if strings.HasPrefix(name, "room:a") {
				return "room:a"
			}
			return name
		}, [2]string{"room:a", "room:ab"}},
	} {
		for _, sole := range []bool{true, false} {
			run(t, fmt.Sprint(m.name, ", Sole ", sole), func(t *testing.T) {
				s := open(t, rmwtest.NewMemory(), aliases(m.alias), shadow.Config{
					Sole: sole, RedactKey: func(key rmw.Key) string { return key.Name },
				})
				for i := range 40 {
					key := rmw.Key{Name: m.keys[i%2], Label: "room"}
					set(t, s, key, rmw.String(fmt.Sprintf(`{"posts":%d}`, i)))
					time.Sleep(10 * time.Millisecond)
				}
				verified(t, s, 4)
				r := s.Report()
				require.NoError(t, r.Check())
				var explained strings.Builder
				for _, sample := range r.Samples {
					if sample.Class == report.ForeignWrite {
						explained.WriteString(sample.Key + ": " + sample.Explain + "\n")
					}
				}
				assert.Contains(t, explained.String(), m.keys[0])
				assert.Contains(t, explained.String(), m.keys[1])
				assert.Contains(t, explained.String(), "the candidate may store both keys under one name")
				v := r.Judge(report.Policy{})
				assert.Equal(t, report.NotReady, v.State)
				assert.Contains(t, why(v, "end state")+why(v, "divergence"), "compare how it makes names")
				r.Verify.Findings = map[report.Class]int64{report.ForeignWrite: 38, report.ValueDiffers: 2}
				assert.Contains(t, why(r.Judge(report.Policy{}), "end state"), "compare how it makes names", "not: fix the codec")
				if !sole {
					assert.Contains(t, why(v, "coverage"), "two keys share one value")
					assert.Contains(t, why(v, "coverage"), "Config.Sole")
				}
			})
		}
	}
}
