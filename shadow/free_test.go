package shadow_test

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
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

// Calls of new keys leave a chain each. The audit keeps up with the workers, or the queue
// would fill up.
func TestAuditKeepsUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hidden := newDistant(1, 2*time.Millisecond, 0)
		s := open(t, rmwtest.NewMemory(), hidden, shadow.Config{
			Workers: 64, QueueCalls: 6000, Skip: []report.Comparator{report.Seeded},
		})
		for i := range 20_000 { // 2,000 in a second
			increment(t, s, i)
			time.Sleep(500 * time.Microsecond)
		}
		r := drained(t, s)
		assert.Empty(t, passed(r, report.Free))
		assert.EqualValues(t, 20_000, r.Operations[0].Audited)
	})
}

// Drain waits for the calls in flight and for their audit, not for the next tick of the
// audit.
func TestDrainAuditsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, rmwtest.NewMemory(), delayed(30*time.Millisecond), shadow.Config{})
		calls(t, s, 20, 20)
		began := time.Now()
		require.NoError(t, s.Drain(t.Context()))
		assert.Less(t, time.Since(began), 900*time.Millisecond)
		assert.EqualValues(t, 20, quiet(t, s).Operations[0].Audited)
	})
}

// Drain audits a chain after its last write, and not between a write and the one that overwrites it.
func TestDrainAuditsAfterTheLastWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hidden := newMutant()
		var count atomic.Int64
		hidden.update = func(ctx context.Context, key rmw.Key, fn rmw.UpdateFunc) (rmw.Result, error) {
			if !strings.Contains(key.Name, "~shadow:free:") { // of a forced conflict
				return hidden.Memory.Update(ctx, key, fn)
			}
			next, err := fn(ctx, rmw.Value{})
			require.NoError(t, err)
			time.Sleep(time.Duration(count.Add(1)) * time.Second / 4)
			err = hidden.Set(ctx, key.Name, next, time.Hour)
			return rmw.Result{After: next, Written: true, Attempts: 1}, err
		}
		s := open(t, rmwtest.NewMemory(), hidden, shadow.Config{
			Skip: []report.Comparator{report.Seeded},
		})
		calls(t, s, 3, 1) // of the two that race, the second one overwrites the first one a quarter of a second later
		assert.EqualValues(t, 1, drained(t, s).Operations[0].Tallies[report.Free].Classes[report.LostUpdate])
	})
}

// A conflict stays in fn as long as on the serving path, within bounds.
func TestConflictHoldIsBounded(t *testing.T) {
	for _, of := range []struct{ took, longest time.Duration }{
		{0, 10 * time.Millisecond},
		{100 * time.Millisecond, 100 * time.Millisecond},
		{10 * time.Second, 500 * time.Millisecond}, // a quarter of Config.Timeout
	} {
		run(t, of.took.String(), func(t *testing.T) {
			m := newMutant()
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
					if strings.Contains(key.Name, "~shadow:pair:") {
						longest = max(longest, time.Since(began))
					}
					return next, err
				})
			}
			s := open(t, rmwtest.NewMemory(), m, shadow.Config{})
			for i := range 20 {
				update(t, s, counter(i), func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
					time.Sleep(of.took)
					return add(ctx, cur)
				})
			}
			r := quiet(t, s)
			assert.Equal(t, of.longest, longest)
			assert.Empty(t, passed(r, report.Free))
			assert.EqualValues(t, 20, r.Operations[0].Audited)
		})
	}
}

// A path that gives up on a concurrent update is not blamed for forced conflicts: its
// callers never met.
func TestForcedConflictIsNoError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMutant()
		var held sync.Map
		m.update = func(ctx context.Context, key rmw.Key, fn rmw.UpdateFunc) (rmw.Result, error) {
			if _, taken := held.LoadOrStore(key.Name, true); taken {
				return rmw.Result{}, &rmw.Error{Path: "mutant", Op: "acquire", Key: key.Name, Reason: rmw.ErrContended}
			}
			defer held.Delete(key.Name)
			return m.Memory.Update(ctx, key, fn)
		}
		s := open(t, rmwtest.NewMemory(), m, shadow.Config{})
		calls(t, s, 100, 100)
		r := quiet(t, s)
		assert.Empty(t, r.Health.Candidate.Errors)
		assert.Empty(t, passed(r, report.Free))
		assert.EqualValues(t, 100, r.Operations[0].Audited)
	})
}

// The latencies leave out the time of fn: only one path runs it, so it would hide that the
// other path is slower.
func TestLatencyLeavesOutFn(t *testing.T) {
	for _, pure := range [][]string{nil, {"n/update"}} {
		synctest.Test(t, func(t *testing.T) {
			slow := before(func(context.Context, rmw.Key) error { time.Sleep(15 * time.Millisecond); return nil })
			s := open(t, rmwtest.NewMemory(), slow, shadow.Config{Pure: pure})
			for i := range 500 {
				update(t, s, counter(i/2), func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
					time.Sleep(20 * time.Millisecond) // it computes
					if i%2 > 0 {
						return cur, nil
					}
					return add(ctx, cur)
				})
			}
			r := drained(t, s)
			op := r.Operations[0]
			assert.Less(t, op.Legacy.Quantile(1), time.Millisecond)
			assert.InDelta(t, 15*time.Millisecond, op.Candidate.Quantile(1), float64(time.Millisecond))
			assert.Contains(t, why(r.Judge(report.Policy{}), "latency"), "beyond doubt")
		})
	}
}

// A restarted container has the same name and restarts its counters.
func TestRestartedProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		legacy, candidate := rmwtest.NewMemory(), rmwtest.NewMemory()
		for range 2 {
			s := open(t, legacy, candidate, shadow.Config{Process: "pod:1"})
			calls(t, s, 20, 1)
			quiet(t, s)
			require.NoError(t, s.Close())
		}
	})
}
