package rmwtest_test

import (
	"testing"

	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/rmwtest"
)

func memoryTarget() (*rmwtest.Memory, rmwtest.Target) {
	m := rmwtest.NewMemory()
	return m, rmwtest.Target{Open: func() rmw.Store { return m }, Direct: m, Faults: m}
}

func TestMemoryKeepsTheContract(t *testing.T) {
	rmwtest.RunFake(t, func(*testing.T) rmwtest.Target {
		_, target := memoryTarget()
		return target
	})
}

// Run is the same in real time, as a Store's own test calls it.
func TestRun(t *testing.T) {
	rmwtest.Run(t, func(*testing.T) rmwtest.Target {
		_, target := memoryTarget()
		target.Faults = nil // declared: the clauses that need them are skipped
		return target
	})
}
