package worker

import (
	"math"
	"runtime"
	"testing"
)

type small [96]byte

//go:noinline
func allocateForTest(n int) []*small {
	list := make([]*small, 0, n)
	for range n {
		list = append(list, new(small))
	}
	return list
}

// Live allocations are found by function name, within the precision of the samples.
func TestAllocatedBy(t *testing.T) {
	old := runtime.MemProfileRate
	defer func() { runtime.MemProfileRate = old }()
	runtime.MemProfileRate = profileRate
	const n = 50_000
	names := []string{"no.such", "worker.allocateForTest"}
	kept, dropped := allocateForTest(n), allocateForTest(n)
	runtime.KeepAlive(dropped)
	memory()
	got, want := float64(allocatedBy(names)), float64(n*(96+8))
	if math.Abs(got/want-1) > 0.25 {
		t.Errorf("%.0f bytes, want about %.0f", got, want)
	}
	runtime.KeepAlive(kept)
	memory()
	if got := float64(allocatedBy(names)); got > want/10 {
		t.Errorf("%.0f bytes of what is gone", got)
	}
	if got := allocatedBy(nil); got != 0 {
		t.Errorf("%d bytes of nobody", got)
	}
}
