package shadow_test

import (
	"context"
	"strconv"
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

// add is an update that increments a counter.
func add(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
	n, _ := strconv.Atoi(cur.Text())
	return rmw.String(strconv.Itoa(n + 1)), nil
}

// addsUp fails unless the report accounts for each call.
func addsUp(t *testing.T, r *report.Report) {
	t.Helper()
	assert.NoError(t, r.Check())
}

// Without a fault, each comparator compares each call, and all of them match.
func TestAllCallsMatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		legacy, candidate := rmwtest.NewMemory(), rmwtest.NewMemory()
		s := shadow.New(legacy, candidate, shadow.Config{Sole: true})
		var wg sync.WaitGroup
		for g := range 8 {
			wg.Go(func() {
				for i := range 100 {
					_, err := s.Update(t.Context(), rmw.Key{Name: "k" + strconv.Itoa((g+i)%5), Label: "n"}, add)
					require.NoError(t, err)
					time.Sleep(time.Millisecond)
				}
			})
		}
		wg.Wait()
		require.NoError(t, s.Drain(t.Context()))
		r := s.Report()
		addsUp(t, r)
		assert.Empty(t, named(r))
		require.Len(t, r.Operations, 1)
		for _, c := range report.Comparators() {
			tally := r.Operations[0].Tallies[c]
			assert.EqualValues(t, 800, tally.Compared, c)
			assert.EqualValues(t, 800, tally.Classes[report.Match], "%s %v", c, tally)
		}
		assert.EqualValues(t, 800, r.Operations[0].Audited)
		v, err := s.Verify(t.Context())
		require.NoError(t, err)
		assert.EqualValues(t, 5, v.Equal)
		require.NoError(t, s.Close())
	})
}
