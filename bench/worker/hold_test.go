package worker

import (
	"testing"
	"testing/synctest"
	"time"
)

// Late is by how much a command is later than half a lease after the one before.
// What is early, was not asked for or came before the window does not count as late.
func TestTapKnowsWhatIsLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tap := newTap("p:", []string{"a", "b"}, time.Second)
		time.Sleep(time.Millisecond)
		tap.note("p:a") // taken
		tap.note("p:b")
		time.Sleep(1100 * time.Millisecond)
		tap.note("p:a") // late, but not measured
		tap.measuring.Store(true)
		tap.note("elsewhere")
		time.Sleep(900 * time.Millisecond)
		tap.note("p:a") // early
		tap.note("p:b") // 1 s late
		got := tap.total()
		if got.N() != 2 || got.Max() != time.Second || got.Quantile(0) != 0 {
			t.Errorf("%d renewals, the latest %v, the first %v", got.N(), got.Max(), got.Quantile(0))
		}
	})
}
