package shadow_test

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/rmwtest"
	"github.com/unwatch/unwatch/shadow"
	"github.com/unwatch/unwatch/shadow/report"
)

// verdictOn runs traffic over a candidate, and returns what the shadow says.
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
	time.Sleep(5 * time.Second) // expiries that are kept grow older
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

// unguarded reads, takes its time, and writes, whatever others do meanwhile.
func unguarded() *mutant {
	return guardedBy(func(_, _, _ rmw.Value) bool { return true })
}

// guardedBy reads, takes its time, and writes if the guard says so of the values that were
// read, that are there now, and that are written.
func guardedBy(guard func(read, now, next rmw.Value) bool) *mutant {
	m := &mutant{Memory: rmwtest.NewMemory()}
	var mu sync.Mutex
	store := func(ctx context.Context, name string, read, next rmw.Value, ttl time.Duration) (bool, error) {
		mu.Lock()
		defer mu.Unlock()
		now, left, err := m.Get(ctx, name)
		if err != nil || !guard(read, now, next) {
			return false, err
		}
		return true, m.Set(ctx, name, next, cmp.Or(ttl, left))
	}
	m.update = func(ctx context.Context, key rmw.Key, fn rmw.UpdateFunc) (rmw.Result, error) {
		for attempt := 1; ; attempt++ {
			cur, _, err := m.Get(ctx, key.Name)
			if err != nil {
				return rmw.Result{}, err
			}
			next, err := fn(ctx, cur)
			if err != nil {
				return rmw.Result{Attempts: attempt}, err
			}
			write, ttl, err := rmw.CheckWrite(key, cur, next)
			if err != nil || !write {
				return rmw.Result{Before: cur, After: cur, Attempts: attempt}, err
			}
			time.Sleep(time.Millisecond)
			if stored, err := store(ctx, key.Name, cur, next, ttl); err != nil || stored {
				return rmw.Result{Before: cur, After: next.WithTTL(0), Written: true, Attempts: attempt}, err
			}
		}
	}
	return m
}

// named returns the findings that block: comparator, class and path of each.
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

// planted are faults, and what each is found as.
func planted() []struct {
	name      string
	candidate func() *mutant
	want      string // comparator, class, path
} {
	return []struct {
		name      string
		candidate func() *mutant
		want      string
	}{
		{"drops a zero field", dropsZeroFields, "seeded value rating"},
		{"rounds numbers", roundsNumbers, "seeded value id"},
		{"sorts lists", sortsLists, "seeded value notes[]"},
		{"drops a field of a hash", dropsAField, "seeded value limit"},
		{"drops the expiry", dropsTTL, "seeded ttl "},
		{"mistakes units", mistakesUnits, "seeded ttl "},
		{"shows empty for absent", emptyForAbsent, "seeded value "},
		{"forgets refusals", forgetsRefusals, "seeded error_class "},
		{"renames refusals", renamesRefusals, "seeded error_class "},
		{"refuses commands", refusesCommands, "seeded error_class "},
		{"is not guarded", unguarded, "free lost_update "},
		{"applies twice", appliesTwice, "free double_apply "},
		{"reads from a replica", readsLate, "seeded value "},
		{"answers otherwise", answersOtherwise, "seeded value state"},
		{"guards no fields", guardsNoFields, "free lost_update "},
		{"mistakes what was before", mistakesBefore, "seeded value state"},
		{"deletes what is kept", deletesForKeep, "seeded value "},
		{"drops expiries of hashes", dropsTTLOfHashes, "seeded ttl "},
		{"denies its writes", deniesWrites, "seeded value "},
		{"applies twice when contended", appliesTwiceUnderContention, "free double_apply "},
		{"outlives its lease", outlivesItsLease, "free lost_update "},
		{"leases for too short", leasesForTooShort, "free lost_update "},
		{"deletes unguarded", deletesUnguarded, "free lost_update "},
		{"guards the beginning", guardsTheBeginning, "free lost_update "},
		{"starts expiries anew", startsExpiriesAnew, "free ttl "},
		{"loses writes", losesWrites, "seeded lost_write "},
	}
}

// Each fault is found by the comparator that is there for it, and named.
func TestMutants(t *testing.T) {
	for _, m := range planted() {
		t.Run(m.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := verdictOn(t, m.candidate(), shadow.Config{Sole: true}, nil)
				assert.Contains(t, named(r), m.want)
				assert.Equal(t, report.NotReady, r.Judge(report.Policy{}).State)
			})
		})
	}
}

// The guide lists them all.
func TestTheGuideListsTheMutants(t *testing.T) {
	guide, err := os.ReadFile("../docs/shadow.md")
	require.NoError(t, err)
	for _, m := range planted() {
		of := strings.SplitN(m.want, " ", 3)
		row := fmt.Sprintf("| %s | %s | %s | ", m.name, of[0], of[1])
		if of[2] != "" {
			row += "`" + of[2] + "` "
		}
		assert.True(t, strings.Contains(string(guide), row+"|\n"), "docs/shadow.md lacks the row %q", row+"|")
	}
}

// A candidate that does not come to an answer has no finding, and is not ready either.
func TestMutantsThatDoNotAnswer(t *testing.T) {
	for _, m := range []struct {
		name      string
		candidate func() *mutant
		want      report.Reason
	}{
		{"is slow", slow, report.ShadowTimeout},
		{"panics", panics, report.ShadowPanic},
	} {
		t.Run(m.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := verdictOn(t, m.candidate(), shadow.Config{Sole: true}, nil)
				assert.Empty(t, named(r))
				passed := int64(0)
				for _, op := range r.Operations {
					for _, tally := range op.Tallies {
						passed += tally.NotCompared[m.want]
					}
				}
				assert.Positive(t, passed)
				assert.Equal(t, report.NotReady, r.Judge(report.Policy{}).State)
			})
		})
	}
}

// Somebody else writes to the candidate's store. Lockstep sees it in passing if no other
// process mirrors there, the verifier always.
func TestForeignWriter(t *testing.T) {
	for _, m := range []struct {
		name string
		sole bool
		when time.Duration
		want string
	}{
		{"amid the traffic", true, 100 * time.Millisecond, "lockstep foreign_write state"},
		{"afterwards", false, time.Minute, "verifier foreign_write state"},
	} {
		t.Run(m.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				candidate := rmwtest.NewMemory()
				r := verdictOn(t, candidate, shadow.Config{Sole: m.sole}, func() {
					time.Sleep(m.when)
					assert.NoError(t, candidate.Set(t.Context(), "ticket:1", rmw.String(`{"id":7,"state":"stolen"}`), rmw.NoTTL))
				})
				assert.Contains(t, named(r), m.want)
				assert.Equal(t, report.NotReady, r.Judge(report.Policy{}).State)
			})
		})
	}
}

// The same traffic over a path without a fault finds nothing.
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
