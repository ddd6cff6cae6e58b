package rmwtest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/rmwtest"
)

func TestMemoryKeepsTheContract(t *testing.T) {
	rmwtest.RunFake(t, func(*testing.T) rmwtest.Target {
		m := rmwtest.NewMemory()
		return rmwtest.Target{Open: func() rmw.Store { return m }, Direct: m, Faults: m}
	})
}

// faultless declares no faults, so the clauses that need them are skipped.
func faultless(*testing.T) rmwtest.Target {
	m := rmwtest.NewMemory()
	return rmwtest.Target{Open: func() rmw.Store { return m }, Direct: m}
}

// Run is the same in real time, as a Store's own test calls it.
func TestRun(t *testing.T) { rmwtest.Run(t, faultless) }

// Run skips the clauses about Peek for a Store that cannot tell how long a key will live.
func TestRunWithoutAPeeker(t *testing.T) {
	open := func(t *testing.T) rmwtest.Target {
		target := faultless(t)
		memory := target.Open()
		target.Open = func() rmw.Store { return struct{ rmw.Store }{memory} }
		return target
	}
	rmwtest.Run(t, open)
	for _, clause := range rmwtest.Clauses() {
		if clause.NeedsPeeker {
			require.NoError(t, clause.Check(t.Context(), open(t)), "it is not checked")
		}
	}
}
