package locktest

import (
	"testing"

	"github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/lock/driver"
)

func programsOf(cfg driver.Config) func(*testing.T) Target {
	return func(*testing.T) Target {
		t := MemoryTarget(NewMemory(cfg), cfg, func(tb testing.TB, m *Memory) lock.Locker {
			tb.Cleanup(func() { _ = m.Close() })
			return m
		})
		t.SlackAfterLease = 20e6
		return t
	}
}

// Memory keeps the contract in all programs.
func TestMemoryRunsPrograms(t *testing.T) {
	for name, cfg := range map[string]driver.Config{"defaults": {}, "lock delay": {LockDelay: 5e9}, "max hold": {MaxHold: 40e9}} {
		t.Run(name, func(t *testing.T) { RunPrograms(t, programsOf(cfg), 1000) })
	}
}
