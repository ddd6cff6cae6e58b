package cutover

import (
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Pause is a distribution of the times that keys were without a home: from sending the seals of a
// batch to the last reply of its fills. A key that a process moves by itself is a batch of one.
type Pause struct {
	Batches       int
	P50, P99, Max time.Duration
}

// pauses records pauses. Its methods may be called on nil, and concurrently.
type pauses struct {
	mu   sync.Mutex
	took *hdrhistogram.Histogram
}

func newPauses() *pauses {
	return &pauses{took: hdrhistogram.New(1, time.Hour.Microseconds(), 3)}
}

func (p *pauses) add(d time.Duration) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	_ = p.took.RecordValue(max(d.Microseconds(), 1)) // beyond an hour it is not counted
}

func (p *pauses) summary() Pause {
	if p == nil {
		return Pause{}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return Pause{
		Batches: int(p.took.TotalCount()),
		P50:     time.Duration(p.took.ValueAtQuantile(50)) * time.Microsecond,
		P99:     time.Duration(p.took.ValueAtQuantile(99)) * time.Microsecond,
		Max:     time.Duration(p.took.Max()) * time.Microsecond,
	}
}
