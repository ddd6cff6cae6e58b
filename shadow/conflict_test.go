package shadow_test

import (
	"context"
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

// A conflict stays in fn as long as on the serving path, within bounds.
func TestConflictHoldIsBounded(t *testing.T) {
	for _, of := range []struct{ took, least, most time.Duration }{
		{0, 10 * time.Millisecond, 10 * time.Millisecond},
		{100 * time.Millisecond, 100 * time.Millisecond, 100 * time.Millisecond},
		{10 * time.Second, 500 * time.Millisecond, 500 * time.Millisecond}, // a quarter of Config.Timeout
	} {
		run(t, of.took.String(), func(t *testing.T) {
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
			s := open(t, rmwtest.NewMemory(), m, shadow.Config{Sole: true})
			for i := range 20 {
				update(t, s, counter(i), func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
					time.Sleep(of.took)
					return add(ctx, cur)
				})
			}
			require.NoError(t, s.Drain(t.Context()))
			assert.GreaterOrEqual(t, longest, of.least)
			assert.LessOrEqual(t, longest, of.most)
			r := s.Report()
			assert.Empty(t, passed(r, report.Free))
			assert.EqualValues(t, 20, r.Operations[0].Audited)
			quiet(t, s)
		})
	}
}

// A path that gives up on a concurrent update is not blamed for forced conflicts: its
// callers never met.
func TestForcedConflictIsNoError(t *testing.T) {
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
		s := open(t, rmwtest.NewMemory(), m, shadow.Config{Sole: true})
		calls(t, s, 100, 100)
		r := drained(t, s)
		assert.Empty(t, r.Health.Candidate.Errors)
		assert.Empty(t, passed(r, report.Free))
		assert.EqualValues(t, 100, r.Operations[0].Audited)
		quiet(t, s)
	})
}
