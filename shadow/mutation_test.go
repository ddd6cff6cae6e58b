package shadow_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/testing/long"
	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/rmwtest"
	"github.com/unwatch/unwatch/shadow"
	"github.com/unwatch/unwatch/shadow/internal/notcompared"
	"github.com/unwatch/unwatch/shadow/report"
)

// verdictOn runs traffic on a candidate and returns the report.
func verdictOn(t *testing.T, candidate rmw.Store, cfg shadow.Config) *report.Report {
	t.Helper()
	return verdictAfter(t, 150, candidate, cfg)
}

func verdictAfter(t *testing.T, calls int, candidate rmw.Store, cfg shadow.Config) *report.Report {
	t.Helper()
	cfg.Reads = 100
	s := shadow.New(rmwtest.NewMemory(), candidate, cfg)
	traffic(t, s, 6, calls, 4)
	for range 3 { // a chain's expiry is set in both ways, and kept for some seconds each time
		time.Sleep(5 * time.Second)
		slowTraffic(t, s, 4, 60)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	require.NoError(t, s.Drain(ctx))
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

// fault is a fault of a candidate, and the finding that names it: comparator, class and path.
type fault struct {
	name, want string
	candidate  *mutant
}

func faults() []fault {
	evicted := every(20)
	return []fault{
		{"drops a zero field", "seeded value rating", dropsZeroFields()},
		{"rounds numbers", "seeded value id", editing(func(doc map[string]any) {
			for name, v := range doc {
				if n, ok := v.(json.Number); ok {
					doc[name], _ = n.Float64()
				}
			}
		})},
		{"sorts lists", "seeded value notes[]", editing(func(doc map[string]any) {
			if list, ok := doc["notes"].([]any); ok {
				slices.SortFunc(list, func(a, b any) int { return strings.Compare(a.(string), b.(string)) })
			}
		})},
		{"drops a field of a hash", "seeded value limit", storing(func(v rmw.Value) rmw.Value {
			if v.Kind() == rmw.KindHash {
				v = v.Without("limit")
			}
			return v
		})},
		{"drops the expiry", "seeded ttl ", keyed(func(key *rmw.Key) { key.TTL = rmw.NoTTL })},
		{"mistakes units", "seeded ttl ", keyed(func(key *rmw.Key) {
			if key.TTL > 0 {
				key.TTL /= 1000
			}
		})},
		{"shows empty for absent", "seeded value ", calling(func(key rmw.Key, fn rmw.UpdateFunc) rmw.UpdateFunc {
			return func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
				if !cur.Exists() && key.Kind == rmw.KindString {
					cur = rmw.String("")
				}
				return fn(ctx, cur)
			}
		})},
		{"forgets refusals", "seeded error_class ", forgetsRefusals()},
		{"renames refusals", "seeded error_class ", renamesRefusals()},
		{"refuses commands", "seeded error_class ", before(func(_ context.Context, key rmw.Key) error {
			if key.Kind == rmw.KindHash {
				return rmw.ErrUnsupported
			}
			return nil
		})},
		{"is not guarded", "free lost_update ", unguarded()},
		{"applies twice", "free double_apply ", appliesTwice()},
		{"reads from a replica", "seeded value ", readsLate()},
		{"answers otherwise", "seeded value state", after(func(_ *mutant, _ rmw.Key, res *rmw.Result) { res.After = res.Before })},
		{"guards no fields", "free lost_update ", guardsNoFields()},
		{"mistakes what was before", "seeded value state", after(func(_ *mutant, _ rmw.Key, res *rmw.Result) { res.Before = res.After })},
		{"deletes what is kept", "seeded value ", deciding(func(_ rmw.Key, cur, next rmw.Value, err error) (rmw.Value, error) {
			if err == nil && next.Equal(cur) && next.TTL() == 0 {
				return rmw.Value{}, nil
			}
			return next, err
		})},
		{"drops expiries of hashes", "seeded ttl ", keyed(func(key *rmw.Key) {
			if key.Kind == rmw.KindHash {
				key.TTL = rmw.NoTTL
			}
		})},
		{"denies its writes", "seeded value ", after(func(_ *mutant, _ rmw.Key, res *rmw.Result) { res.Written = false })},
		{"applies twice when contended", "free double_apply ", appliesTwiceUnderContention()},
		{"outlives its lease", "free lost_update ", outlivesItsLease()},
		{"leases for too short", "free lost_update ", leasesForTooShort()},
		{"deletes unguarded", "free lost_update ", guardedBy(func(read, now, next rmw.Value) bool {
			return !next.Exists() || now.Equal(read)
		})},
		{"guards the beginning", "free lost_update ", guardsTheBeginning()},
		{"starts expiries anew", "free ttl ", startsExpiriesAnew(anyExpiry)},
		{"starts expiries of Key.TTL anew", "free ttl ", startsExpiriesAnew(keyExpiry)},
		{"starts expiries of WithTTL anew", "free ttl ", startsExpiriesAnew(ownExpiry)},
		{"loses writes", "seeded lost_write ", losesWrites()},
		{"evicts writes", "seeded lost_write ", after(func(m *mutant, key rmw.Key, res *rmw.Result) {
			if res.Written && evicted() {
				_ = m.Set(context.Background(), key.Name, rmw.Value{}, 0)
			}
		})},
	}
}

// causes has, where one finding has several causes, a part of a sample and of the advice that name the one.
var causes = map[string]struct{ explain, advice string }{
	"leases for too short":            {"made while its fn ran", "the lease that ends before fn does"},
	"deletes unguarded":               {"a delete removed an update that was made while its fn ran", "the delete that is not guarded"},
	"guards the beginning":            {"overwrote another one", "guarded by the whole value"},
	"starts expiries anew":            {"an update that keeps the expiry has changed it", "must not start it anew"},
	"starts expiries of Key.TTL anew": {"an update that keeps the expiry has changed it", "must not start it anew"},
	"starts expiries of WithTTL anew": {"an update that keeps the expiry has changed it", "must not start it anew"},
	"loses writes":                    {"", "the candidate reports a write that is not stored"},
	"evicts writes":                   {"", "the candidate reports a write that is not stored"},
}

// Each fault is found by its comparator.
func TestMutants(t *testing.T) {
	all := faults()
	for name := range causes {
		assert.True(t, slices.ContainsFunc(all, func(m fault) bool { return m.name == name }), name)
	}
	for i, m := range all {
		run(t, m.name, func(t *testing.T) {
			if i%4 != 0 {
				long.Repeats(t)
			}
			r := verdictOn(t, m.candidate, shadow.Config{})
			assert.Contains(t, named(r), m.want)
			v := r.Judge(report.Policy{})
			assert.Equal(t, report.NotReady, v.State)
			var explained strings.Builder
			for _, s := range r.Samples {
				if strings.HasPrefix(m.want, string(s.Comparator)) {
					explained.WriteString(s.Explain + "\n")
				}
			}
			assert.Contains(t, explained.String(), causes[m.name].explain)
			gate := "divergence"
			if strings.HasPrefix(m.want, string(report.Free)) {
				gate = "audit"
			}
			assert.Contains(t, why(v, gate), causes[m.name].advice)
			if strings.Contains(m.want, string(report.LostWrite)) {
				assert.NotContains(t, why(v, gate), "codec", named(r))
			}
		})
	}
}

// The guide lists all faults.
func TestGuideListsMutants(t *testing.T) {
	guide, err := os.ReadFile("../docs/results/shadow.md")
	require.NoError(t, err)
	for _, m := range append(faults(), probedFaults()...) {
		of := strings.SplitN(m.want, " ", 3)
		row := fmt.Sprintf("| %s | %s | %s | ", m.name, of[0], of[1])
		if of[2] != "" {
			row += "`" + of[2] + "` "
		}
		assert.True(t, strings.Contains(string(guide), row+"|\n"), "docs/results/shadow.md lacks the row %q", row+"|")
	}
}

// A candidate that does not answer has no finding, and is not ready either. The advice
// names the reason.
func TestMutantsThatDoNotAnswer(t *testing.T) {
	givesUp := every(10)
	for _, m := range []struct {
		name      string
		want      report.Reason
		advice    []string
		candidate *mutant
	}{
		// By the time of the verdict, the breaker is open.
		{"is slow", notcompared.ShadowTimeout, []string{"out of reach"}, before(func(ctx context.Context, _ rmw.Key) error {
			select {
			case <-time.After(3 * time.Second):
				return nil
			case <-ctx.Done():
				return rmw.ErrUnavailable
			}
		})},
		{"panics", notcompared.ShadowPanic, []string{"panicked"}, before(func(_ context.Context, key rmw.Key) error {
			if strings.HasSuffix(key.Name, "1}") || strings.HasSuffix(key.Name, "1") {
				panic("boom: " + key.Name)
			}
			return nil
		})},
		{
			"is contended", notcompared.ShadowContended, []string{"mostly shadow_contended", "MaxWait", "hot key"},
			before(func(context.Context, rmw.Key) error {
				if givesUp() {
					return rmw.ErrContended
				}
				return nil
			}),
		},
	} {
		run(t, m.name, func(t *testing.T) {
			r := verdictOn(t, m.candidate, shadow.Config{})
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

// Negative control: the same traffic on a path without a fault has no finding.
func TestNoMutant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := verdictOn(t, rmwtest.NewMemory(), shadow.Config{})
		assert.Empty(t, named(r))
		v := r.Judge(report.Policy{Uncalibrated: true})
		assert.Equal(t, report.NotEnoughData, v.State, "%+v", v)
	})
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
