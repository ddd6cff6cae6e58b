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

// Sample is how things are at one moment of the load.
type Sample struct {
	Round      int
	Updates    int64  // acknowledged so far
	Heap       uint64 // what the garbage collector found alive, just now
	Resident   uint64 // memory of the process; 0: the system does not tell
	Goroutines int
}

// sampling takes samples until ctx ends.
func (p *play) sampling(ctx context.Context, every time.Duration) {
	for pause(ctx, every) == nil {
		p.site.forget()
		s := Sample{Round: int(p.round.Load()), Updates: p.updates.Load(), Heap: alive(), Resident: resident()}
		s.Goroutines = runtime.NumGoroutine()
		if s.Round >= 0 {
			p.samples = append(p.samples, s)
		}
		if n, err := p.site.connections(ctx); err == nil {
			p.atServer = max(p.atServer, n)
		}
	}
}

// alive is the size of what the garbage collector marks: unlike what is allocated, it does not
// count the garbage of the moment.
func alive() uint64 {
	runtime.GC()
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	return live[0].Value.Uint64()
}

// resident is the memory of this process, where there is a /proc.
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
