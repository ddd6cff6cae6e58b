package transport

import (
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// heap returns the bytes of live objects.
func heap() uint64 {
	runtime.GC()
	runtime.GC() // frees objects that the first one finalized
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// The hashes of keys take 3 MB at most while keys are told apart, and none after that.
func TestMemoryOfKeysIsGivenBack(t *testing.T) {
	const limit, little = 3 << 20, 1 << 17
	now := time.Now()
	h := newBulkhead(10)
	before := heap()
	h.since = now
	for k := range uint64(maxKeys) {
		h.answer(k)
	}
	full := heap()
	require.Greater(t, full, before+maxKeys*8, "not measured")
	assert.Less(t, full, before+limit)
	h.endLocked(now.Add(recovery), minHung)
	assert.Less(t, heap(), before+little)
	runtime.KeepAlive(&h)
}
