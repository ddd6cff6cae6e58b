package worker

import (
	"testing"
	"testing/synctest"
	"time"
)

// A command is late by its time since the last command for that lock, less half a lease. Early
// commands, foreign keys and commands before the measurement do not count as late.
func TestTapFindsLateCommands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tap := newTap("p:", []string{"a", "b"}, time.Second)
		time.Sleep(time.Millisecond)
		tap.note("p:a") // acquired
		tap.note("p:b")
		time.Sleep(1100 * time.Millisecond)
		tap.note("p:a") // late, before the measurement
		tap.measuring.Store(true)
		tap.note("elsewhere")
		time.Sleep(900 * time.Millisecond)
		tap.note("p:a") // early
		tap.note("p:b") // 1 s late
		got := tap.total()
		if got.N() != 2 || got.Max().Round(10*time.Millisecond) != time.Second || got.Quantile(0) != 0 {
			t.Errorf("%d renewals, the latest %v, the first %v", got.N(), got.Max(), got.Quantile(0))
		}
	})
}
