package shadow_test

import (
	"context"
	"strings"
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
			Sole: true, Workers: 64, QueueCalls: 6000, Skip: []report.Comparator{report.Seeded, report.Lockstep},
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
		s := open(t, rmwtest.NewMemory(), delayed(100*time.Millisecond), shadow.Config{Sole: true})
		calls(t, s, 20, 20)
		began := time.Now()
		require.NoError(t, s.Drain(t.Context()))
		assert.Less(t, time.Since(began), 900*time.Millisecond)
		assert.EqualValues(t, 20, s.Report().Operations[0].Audited)
		quiet(t, s)
	})
}

// Drain audits a chain after its last write, and not between a write and the one that overwrites it.
func TestDrainAuditsAfterTheLastWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hidden := &mutant{Memory: rmwtest.NewMemory()}
		var calls atomic.Int64
		hidden.update = func(ctx context.Context, key rmw.Key, fn rmw.UpdateFunc) (rmw.Result, error) {
			if !strings.Contains(key.Name, "~free:") { // of a forced conflict
				return hidden.Memory.Update(ctx, key, fn)
			}
			next, err := fn(ctx, rmw.Value{})
			require.NoError(t, err)
			time.Sleep(time.Duration(calls.Add(1)) * time.Second / 4)
			err = hidden.Set(ctx, key.Name, next, time.Hour)
			return rmw.Result{After: next, Written: true, Attempts: 1}, err
		}
		s := shadow.New(rmwtest.NewMemory(), hidden, shadow.Config{
			Sole: true, Skip: []report.Comparator{report.Seeded, report.Lockstep},
		})
		for range 3 { // of the two that race, the second one overwrites the first one a quarter of a second later
			_, err := s.Update(t.Context(), counter(1), add)
			require.NoError(t, err)
		}
		require.NoError(t, s.Drain(t.Context()))
		assert.EqualValues(t, 1, s.Report().Operations[0].Tallies[report.Free].Classes[report.LostUpdate])
		require.NoError(t, s.Close())
	})
}
