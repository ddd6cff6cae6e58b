package rmwtest_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

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

// Expiry follows the bubble's clock: no real time passes.
func TestMemoryExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := rmwtest.NewMemory()
		key := rmw.Key{Name: "k"}
		require.NoError(t, m.Set(t.Context(), key.Name, rmw.String("v"), time.Minute))
		time.Sleep(time.Minute - time.Millisecond)
		v, err := m.Read(t.Context(), key)
		require.NoError(t, err)
		require.True(t, v.Exists())
		time.Sleep(time.Millisecond)
		v, err = m.Read(t.Context(), key)
		require.NoError(t, err)
		require.False(t, v.Exists())
	})
}
