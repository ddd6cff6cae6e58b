package shadow_test

import (
	"io"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/rmwtest"
	"github.com/unwatch/unwatch/shadow"
)

// A shadowed Store keeps the contract of its serving path, and finds nothing.
func TestContract(t *testing.T) {
	for _, side := range []shadow.Side{shadow.Legacy, shadow.Candidate} {
		t.Run(side.String(), func(t *testing.T) {
			for _, clause := range rmwtest.Clauses() {
				run(t, clause.Name, func(t *testing.T) {
					serving, hidden := rmwtest.NewMemory(), rmwtest.NewMemory()
					legacy, candidate := serving, hidden
					if side == shadow.Candidate {
						legacy, candidate = hidden, serving
					}
					var all []*shadow.Store
					target := rmwtest.Target{Direct: serving, Faults: serving, Open: func() rmw.Store {
						s := shadow.New(legacy, candidate, shadow.Config{Serve: side, Reads: 100})
						all = append(all, s)
						return s
					}}
					require.NoError(t, clause.Check(t.Context(), target), clause.Says)
					for _, s := range all {
						_ = s.Close() // calls that the clause left behind may be late
						addsUp(t, s.Report())
						assert.Empty(t, named(s.Report()))
					}
				})
			}
		})
	}
}

var _ io.Closer = (*shadow.Store)(nil)
