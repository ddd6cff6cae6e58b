package rmwtest

import (
	"testing"

	"github.com/unwatch/unwatch/rmw"
)

func memoryTarget(*testing.T) Target {
	m := NewMemory()
	return Target{Open: func() rmw.Store { return m }, Direct: m, Faults: m}
}

func TestMemoryRunsPrograms(t *testing.T) { RunPrograms(t, memoryTarget) }
