package poll

import (
	"sync"
	"time"
)

// HoldEstimator learns, for each label, how long its locks are held. The zero value is ready
// for use, by several goroutines at a time.
type HoldEstimator struct {
	mu      sync.Mutex
	byLabel map[string]time.Duration
}

// maxLabels bounds the estimator, should a program use a label for each key.
const maxLabels = 1024

// Expected returns how long a lock of the label is usually held; 0: unknown.
func (e *HoldEstimator) Expected(label string) time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.byLabel[label]
}

// Observe adds an observation: the estimate moves by an eighth of the difference. A hold of
// more than twice the estimate counts as twice: its process was most likely not running.
func (e *HoldEstimator) Observe(label string, held time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.byLabel == nil {
		e.byLabel = map[string]time.Duration{}
	}
	was, known := e.byLabel[label]
	switch {
	case known:
		e.byLabel[label] = was + (min(held, 2*was+shortest)-was)/8
	case len(e.byLabel) < maxLabels:
		e.byLabel[label] = held
	}
}
