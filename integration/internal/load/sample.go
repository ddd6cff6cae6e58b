package load

import (
	"bytes"
	"context"
	"os"
	"runtime"
	"runtime/metrics"
	"strconv"
	"time"
)

// Sample is a measurement during the load.
type Sample struct {
	Round      int
	Updates    int64  // acknowledged so far
	Heap       uint64 // live objects after a garbage collection
	Resident   uint64 // memory of the process; 0: not supported
	Goroutines int
}

// sampling takes samples until ctx ends.
func (p *play) sampling(ctx context.Context, every time.Duration) {
	for pause(ctx, every) == nil {
		p.env.dropCalls()
		s := Sample{Round: int(p.round.Load()), Updates: p.updates.Load(), Heap: alive(), Resident: resident()}
		s.Goroutines = runtime.NumGoroutine()
		if s.Round >= 0 {
			p.samples = append(p.samples, s)
		}
		if n, err := p.env.connections(ctx); err == nil {
			p.atServer = max(p.atServer, n)
		}
	}
}

// alive returns the live heap after a collection: unlike the allocated size, it excludes garbage.
func alive() uint64 {
	runtime.GC()
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	return live[0].Value.Uint64()
}

// resident returns the memory of this process, if there is a /proc.
func resident() uint64 {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	fields := bytes.Fields(text)
	if len(fields) < 2 {
		return 0
	}
	pages, err := strconv.ParseUint(string(fields[1]), 10, 64)
	if err != nil {
		return 0
	}
	return pages * uint64(os.Getpagesize())
}
