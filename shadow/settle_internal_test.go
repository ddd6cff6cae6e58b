package shadow

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/shadow/report"
)

// What is told of values is made before the lock that callers wait for is taken: of a
// document of megabytes it takes long. Behind the lock they are not looked at any more.
func TestValuesAreRedactedBeforeTheLock(t *testing.T) {
	s := New(nil, nil, Config{Domains: map[string]Domain{"": {Show: []string{"state"}}}})
	c := &call{key: rmw.Key{Name: "k"}, op: s.counters.operation("", "update"), id: 1, written: true}
	for range maxSamples + 1 {
		f := c.judge(rmw.String(`{"state":"open"}`), rmw.String(`{"state":"closed"}`), "a test")
		s.counters.redact(&f, c, report.Seeded)
		clear(f.differences)
		f.differences[0].Template = "state"
		s.counters.mu.Lock()
		s.counters.foundLocked(c, report.Seeded, f)
		s.counters.mu.Unlock()
	}
	samples := s.Report().Samples
	require.Len(t, samples, maxSamples)
	for _, sample := range samples {
		assert.Equal(t, []report.Difference{{Path: "state", Legacy: `"open"`, Candidate: `"closed"`}}, sample.Differences)
		assert.WithinDuration(t, time.Now(), sample.At, time.Minute)
	}
}
