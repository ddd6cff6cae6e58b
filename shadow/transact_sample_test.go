package shadow_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/rmwtest"
	"github.com/unwatch/unwatch/shadow"
	"github.com/unwatch/unwatch/shadow/report"
)

// With a part of the keys in the shadow, it has each Transact that names one of them, in any order, and no other.
func TestTransactsAreSampledByAnyKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, rmwtest.NewMemory(), rmwtest.NewMemory(), shadow.Config{Percent: 30})
		const n = 200
		var in [n]bool
		var want, mixed int64
		key := func(i int) rmw.Key { return rmw.Key{Name: fmt.Sprint("k", i)} }
		for i := range n {
			before := seen(drained(t, s), "alone")
			_, err := s.Update(rmw.WithOperation(t.Context(), "alone"), key(i), add)
			require.NoError(t, err)
			in[i] = seen(drained(t, s), "alone") > before
		}
		for i := range n - 1 {
			a, b := key(i), key(i+1)
			_, err := rmw.Transact(rmw.WithOperation(t.Context(), "both"), s, func(_ context.Context, tx *rmw.Tx) error {
				tx.Put(a, rmw.String("1"))
				tx.Put(b, rmw.String("1"))
				return nil
			}, a, b)
			require.NoError(t, err)
			if in[i] || in[i+1] {
				want++
			}
			if !in[i] && in[i+1] {
				mixed++
			}
		}
		assert.Positive(t, mixed)
		assert.Less(t, want, int64(n-1))
		assert.Equal(t, want, seen(quiet(t, s), "both"))
	})
}

// seen counts the calls of an operation in the shadow.
func seen(r *report.Report, operation string) (n int64) {
	for _, op := range r.Operations {
		for _, calls := range op.Outcomes {
			if op.Name == operation {
				n += calls
			}
		}
	}
	return n
}
