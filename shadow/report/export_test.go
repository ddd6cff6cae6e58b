package report

import "time"

// Exports for tests in package report_test.

var Reasons = reasons

func (l Latency) Rank(n int64) time.Duration { return l.rank(n) }

func (k *KeySketch) Merge(other KeySketch) { k.merge(other) }
