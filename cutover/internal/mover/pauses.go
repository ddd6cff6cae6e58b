package mover

import (
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Distribution is an operate.Pause.
type Distribution struct {
	Batches       int
	P50, P99, Max time.Duration
}

// Pauses records pauses. Its methods may be called on nil, and concurrently.
type Pauses struct {
	mu   sync.Mutex
	took *hdrhistogram.Histogram
}

// NewPauses returns a record without pauses.
func NewPauses() *Pauses {
	return &Pauses{took: hdrhistogram.New(1, time.Hour.Microseconds(), 3)}
}

// Add records a pause.
func (p *Pauses) Add(d time.Duration) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	_ = p.took.RecordValue(max(d.Microseconds(), 1)) // beyond an hour it is not counted
}

// Summary returns the distribution of all pauses until now.
func (p *Pauses) Summary() Distribution {
	if p == nil {
		return Distribution{}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return Distribution{
		Batches: int(p.took.TotalCount()),
		P50:     time.Duration(p.took.ValueAtQuantile(50)) * time.Microsecond,
		P99:     time.Duration(p.took.ValueAtQuantile(99)) * time.Microsecond,
		Max:     time.Duration(p.took.Max()) * time.Microsecond,
	}
}
