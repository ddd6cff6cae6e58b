package shadow_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/rmwtest"
	"github.com/unwatch/unwatch/shadow"
	"github.com/unwatch/unwatch/shadow/report"
)

// The latencies leave out the time of fn: only one path runs it, so it would hide that the
// other path is slower.
func TestLatencyLeavesOutFn(t *testing.T) {
	for _, pure := range [][]string{nil, {"n/update"}} {
		synctest.Test(t, func(t *testing.T) {
			slow := keyed(func(key rmw.Key) rmw.Key { time.Sleep(15 * time.Millisecond); return key })
			s := open(t, rmwtest.NewMemory(), slow, shadow.Config{Sole: true, Pure: pure})
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
			for _, g := range r.Judge(report.Policy{}).Gates {
				if g.Name == "latency" {
					assert.Equal(t, report.NotReady, g.State, "%+v", g)
				}
			}
		})
	}
}
