package shadow_test

import (
	"context"
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

// A fault of a guard, a lease or an expiry is explained by what was seen, and the advice
// names it.
func TestLostUpdatesAreExplained(t *testing.T) {
	for _, m := range []struct {
		name            string
		candidate       func() *mutant
		explain, advice string
	}{
		{"lease", leasesForTooShort, "made while its fn ran", "the lease that ends before fn does"},
		{"delete", deletesUnguarded, "a delete removed an update that was made while its fn ran", "the delete that is not guarded"},
		{"guard", guardsTheBeginning, "overwrote another one", "guarded by the whole value"},
		{"expiry", startsExpiriesAnew, "an update that keeps the expiry has changed it", "must not start it anew"},
	} {
		t.Run(m.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := verdictOn(t, m.candidate(), shadow.Config{Sole: true}, nil)
				var explained strings.Builder
				for _, s := range r.Samples {
					if s.Comparator == report.Free {
						explained.WriteString(s.Explain + "\n")
					}
				}
				assert.Contains(t, explained.String(), m.explain)
				assert.Contains(t, why(r.Judge(report.Policy{}), "audit"), m.advice)
			})
		})
	}
}

// A conflict stays in fn as long as the serving path did, within bounds.
func TestAConflictIsBounded(t *testing.T) {
	for _, of := range []struct{ took, least, most time.Duration }{
		{0, 10 * time.Millisecond, 10 * time.Millisecond},
		{100 * time.Millisecond, 100 * time.Millisecond, 100 * time.Millisecond},
		{10 * time.Second, 500 * time.Millisecond, 500 * time.Millisecond}, // a quarter of Config.Timeout
	} {
		t.Run(of.took.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := &mutant{Memory: rmwtest.NewMemory()}
				var mu, turn sync.Mutex
				var longest time.Duration
				m.update = func(ctx context.Context, key rmw.Key, fn rmw.UpdateFunc) (rmw.Result, error) {
					for !turn.TryLock() { // a lock: the second update comes after the first one
						time.Sleep(time.Millisecond)
					}
					defer turn.Unlock()
					return m.Memory.Update(ctx, key, func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
						began := time.Now()
						next, err := fn(ctx, cur)
						mu.Lock()
						defer mu.Unlock()
						longest = max(longest, time.Since(began))
						return next, err
					})
				}
				s := shadow.New(rmwtest.NewMemory(), m, shadow.Config{Sole: true})
				for i := range 20 {
					_, err := s.Update(t.Context(), counter(i), func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
						time.Sleep(of.took)
						return add(ctx, cur)
					})
					require.NoError(t, err)
				}
				require.NoError(t, s.Drain(t.Context()))
				assert.GreaterOrEqual(t, longest, of.least)
				assert.LessOrEqual(t, longest, of.most)
				r := s.Report()
				assert.Empty(t, passed(r, report.Free))
				assert.EqualValues(t, 20, r.Operations[0].Audited)
				quiet(t, s)
			})
		})
	}
}

// A path that gives up when another update is there is not blamed for conflicts that are
// forced: its callers never met.
func TestAForcedConflictIsNoError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &mutant{Memory: rmwtest.NewMemory()}
		var held sync.Map
		m.update = func(ctx context.Context, key rmw.Key, fn rmw.UpdateFunc) (rmw.Result, error) {
			if _, taken := held.LoadOrStore(key.Name, true); taken {
				return rmw.Result{}, &rmw.Error{Path: "mutant", Op: "acquire", Key: key.Name, Reason: rmw.ErrContended}
			}
			defer held.Delete(key.Name)
			return m.Memory.Update(ctx, key, fn)
		}
		s := shadow.New(rmwtest.NewMemory(), m, shadow.Config{Sole: true})
		for i := range 100 {
			_, err := s.Update(t.Context(), counter(i), add)
			require.NoError(t, err)
		}
		require.NoError(t, s.Drain(t.Context()))
		r := s.Report()
		assert.Empty(t, r.Health.Candidate.Errors)
		assert.Empty(t, passed(r, report.Free))
		assert.EqualValues(t, 100, r.Operations[0].Audited)
		quiet(t, s)
	})
}
