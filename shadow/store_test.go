package shadow_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
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

// run is t.Run on fake time.
func run(t *testing.T, name string, f func(t *testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { synctest.Test(t, f) })
}

// open returns a Store that is closed at the end of the test, and has compared all of its calls by then.
func open(t *testing.T, legacy, candidate rmw.Store, cfg shadow.Config) *shadow.Store {
	s := shadow.New(legacy, candidate, cfg)
	t.Cleanup(func() { assert.NoError(t, s.Close()) })
	return s
}

func counter(i int) rmw.Key { return rmw.Key{Name: "n:" + strconv.Itoa(i), Label: "n"} }

func update(t *testing.T, s rmw.Store, key rmw.Key, fn rmw.UpdateFunc) {
	t.Helper()
	_, err := s.Update(t.Context(), key, fn)
	require.NoError(t, err)
}

// always is an update to a value.
func always(v rmw.Value) rmw.UpdateFunc {
	return func(context.Context, rmw.Value) (rmw.Value, error) { return v, nil }
}

func set(t *testing.T, s rmw.Store, key rmw.Key, v rmw.Value) {
	t.Helper()
	update(t, s, key, always(v))
}

func increment(t *testing.T, s *shadow.Store, i int) {
	t.Helper()
	update(t, s, counter(i), add)
}

// calls increments that many counters in turn.
func calls(t *testing.T, s *shadow.Store, n, counters int) {
	t.Helper()
	for i := range n {
		increment(t, s, i%counters)
	}
}

// drained waits until all calls are compared, and returns the report.
func drained(t *testing.T, s *shadow.Store) *report.Report {
	t.Helper()
	require.NoError(t, s.Drain(t.Context()))
	return reported(t, s)
}

// reported returns the report, which must account for each call.
func reported(t *testing.T, s *shadow.Store) *report.Report {
	t.Helper()
	r := s.Report()
	assert.NoError(t, r.Check())
	return r
}

// quiet fails if a call has a finding, after all are compared.
func quiet(t *testing.T, s *shadow.Store) *report.Report {
	t.Helper()
	r := drained(t, s)
	assert.Empty(t, named(r), findingsOf(r))
	return r
}

// Without a fault, each comparator compares each call, and all of them match, also after the caller's ctx has ended.
func TestAllCallsMatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		legacy, candidate := rmwtest.NewMemory(), rmwtest.NewMemory()
		s := open(t, legacy, candidate, shadow.Config{})
		var wg sync.WaitGroup
		for g := range 8 {
			wg.Go(func() {
				for i := range 100 {
					ctx, cancel := context.WithCancel(t.Context())
					_, err := s.Update(ctx, rmw.Key{Name: "k" + strconv.Itoa((g+i)%5), Label: "n"}, add)
					cancel()
					require.NoError(t, err)
					time.Sleep(time.Millisecond)
				}
			})
		}
		wg.Wait()
		r := quiet(t, s)
		require.Len(t, r.Operations, 1)
		for _, c := range report.Comparators() {
			tally := r.Operations[0].Tallies[c]
			assert.EqualValues(t, 800, tally.Compared, c)
			assert.EqualValues(t, 800, tally.Classes[report.Match], "%s %v", c, tally)
		}
		assert.EqualValues(t, 800, r.Operations[0].Audited)
	})
}

// A shadowed Store keeps the contract of its serving path, and finds nothing.
func TestContract(t *testing.T) {
	for _, clause := range rmwtest.Clauses() {
		run(t, clause.Name, func(t *testing.T) {
			legacy, candidate := rmwtest.NewMemory(), rmwtest.NewMemory()
			var all []*shadow.Store
			target := rmwtest.Target{Direct: legacy, Faults: legacy, Open: func() rmw.Store {
				s := shadow.New(legacy, candidate, shadow.Config{Reads: 100})
				all = append(all, s)
				return s
			}}
			require.NoError(t, clause.Check(t.Context(), target), clause.Says)
			for _, s := range all {
				_ = s.Close() // calls that the clause left behind may be late
				assert.Empty(t, named(reported(t, s)))
			}
		})
	}
}

var _ io.Closer = (*shadow.Store)(nil)

// The Handler serves the report and the metrics of the Store, under any path.
func TestHandler(t *testing.T) {
	s := shadow.New(rmwtest.NewMemory(), dropsZeroFields(), shadow.Config{Name: "tickets"})
	mux := http.NewServeMux()
	mux.Handle("/debug/shadow/", s.Handler())
	set(t, s, counter(1), rmw.String(`{"rating":0}`))
	require.NoError(t, s.Drain(t.Context()))
	for target, want := range map[string]string{
		"":        "tickets",
		"metrics": `op="update",comparator="seeded",class="value",path="rating"} 1`,
	} {
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/debug/shadow/"+target, nil))
		assert.Contains(t, w.Body.String(), want)
		assert.NotContains(t, w.Body.String(), counter(1).Name)
	}
	require.NoError(t, s.Close())
}

// pass lets fake time pass.
func pass(d time.Duration) { time.Sleep(d) }
