package lease

import (
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/lockupdate/internal/event"
)

// Keeping and dropping a lease allocates nothing, for any number of leases.
func TestKeepingAllocatesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := redisx.NewGate()
		require.NoError(t, gate.Enter())
		k := NewKeeper(nil, gate, func(event.Event) {}, Options{Lease: time.Hour, MaxHold: time.Hour})
		const n = 10_000
		h, now := lockOf("l"), time.Now()
		leases := make([]*Lease, n)
		for i := range leases {
			leases[i] = k.Keep(h, now)
		}
		synctest.Wait()
		assert.Equal(t, n, k.Len())
		holder := Holder(h)
		assert.Equal(t, 1.0, testing.AllocsPerRun(100, func() { k.End(k.Keep(holder, now)) }), "the Lease")
		for _, l := range leases {
			k.End(l)
		}
		assert.Zero(t, k.Len())
		gate.Leave()
		gate.Close()
	})
}

// A process may hold 100,000 leases, each under a Context.
func TestSizes(t *testing.T) {
	assert.EqualValues(t, 48, unsafe.Sizeof(Lease{}))
	assert.EqualValues(t, 96, unsafe.Sizeof(Context{}))
}
