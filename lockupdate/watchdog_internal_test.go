package lockupdate

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What a lease costs the watchdog is in the lease: watching and unwatching allocates
// nothing, however many others there are.
func TestWatchingAllocatesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(nil, Config{Lease: time.Hour})
		require.NoError(t, s.gate.Enter())
		const n = 10_000
		of := &tenure{queue: &queue{Store: s, lock: "k"}, owner: "o"}
		leases := make([]*lease, 0, n+1)
		for range n + 1 {
			l := &lease{tenure: of}
			l.timer.Value = l
			leases = append(leases, l)
		}
		now := time.Now()
		for _, l := range leases[:n] {
			s.watchdog.watch(l, now)
		}
		synctest.Wait()
		assert.Equal(t, n, s.Stats().Held)
		l := leases[n]
		assert.Zero(t, testing.AllocsPerRun(100, func() {
			s.watchdog.watch(l, now)
			s.watchdog.unwatch(l)
		}))
		for _, l := range leases[:n] {
			s.watchdog.unwatch(l)
		}
		s.gate.Leave()
		require.NoError(t, s.Close())
	})
}
