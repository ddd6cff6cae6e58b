package shadow

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/rmwtest"
	"github.com/unwatch/unwatch/shadow/report"
)

// instant is a path without cost.
type instant struct{ value rmw.Value }

func (p instant) Read(context.Context, rmw.Key) (rmw.Value, error) { return p.value, nil }

func (p instant) Update(ctx context.Context, _ rmw.Key, fn rmw.UpdateFunc) (rmw.Result, error) {
	next, err := fn(ctx, p.value)
	return rmw.Result{Before: p.value, After: next, Written: true, Attempts: 1}, err
}

// withoutEngine returns a Store whose goroutines never start: they would allocate.
func withoutEngine(value rmw.Value, cfg Config) *Store {
	s := New(instant{value}, rmwtest.NewMemory(), cfg)
	s.engine.start.Do(func() { s.engine.queue = make(chan call, s.cfg.QueueCalls) })
	return s
}

// A caller pays no allocation: neither for a queued call, nor for a dropped one, nor while
// the shadow is off.
func TestCallersAllocateNothing(t *testing.T) {
	fields := map[string]string{}
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"} {
		fields[name] = "value"
	}
	const calls = 500
	for name, values := range map[string][2]rmw.Value{
		"string": {rmw.String(`{"state":"open"}`), rmw.String(`{"state":"closed"}`)},
		"hash":   {rmw.Hash(fields), rmw.Hash(fields).With("a", "other")},
	} {
		for state, of := range map[string]struct {
			cfg    Config
			queued int
		}{
			"queued":  {Config{Reads: 100}, 2*calls + 4},
			"dropped": {Config{Reads: 100, QueueCalls: 16}, 16},
			"off":     {Config{Off: true}, 0},
		} {
			t.Run(name+"/"+state, func(t *testing.T) {
				s := withoutEngine(values[0], of.cfg)
				key := rmw.Key{Name: "session:1", Label: "session", Kind: values[0].Kind()}
				fn := func(context.Context, rmw.Value) (rmw.Value, error) { return values[1], nil }
				ctx := rmw.WithOperation(t.Context(), "close")
				update := func() { _, _ = s.Update(ctx, key, fn) }
				read := func() { _, _ = s.Read(ctx, key) }
				update()
				read()
				assert.Zero(t, testing.AllocsPerRun(calls, update), "update")
				assert.Zero(t, testing.AllocsPerRun(calls, read), "read")
				assert.Len(t, s.engine.queue, of.queued)
				s.Kill("the test is over")
				<-s.engine.ended
				assert.Zero(t, testing.AllocsPerRun(calls, update), "killed")
			})
		}
	}
}

// One update in eight is clocked, whatever the pattern of the calls.
func TestClockedCalls(t *testing.T) {
	const calls = 80_000
	for turn := uint64(2); turn <= 64; turn++ {
		n := 0
		for i := range uint64(calls) {
			if clocked(4097 + i*turn) {
				n++
			}
		}
		assert.InDelta(t, 0.125, float64(n)/calls, 0.01, "every call of %d", turn)
	}
	assert.True(t, clocked(4096), "the first ones are all clocked")
}

// One forced conflict in four has a long value.
func TestSizesOfConflicts(t *testing.T) {
	sizes := map[int]int{}
	for id := range uint64(800) {
		sizes[conflictSize(id)]++
	}
	assert.Equal(t, map[int]int{conflictBytes: 600, longConflictBytes: 200}, sizes)
}

// Values are redacted before the callers' lock is taken: that takes long for megabytes.
// Under the lock they are not read any more.
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
		assert.Equal(t, "ok", sample.Legacy, "the answer of the serving path")
	}
	s.Reset("", "update")
	assert.Empty(t, s.Report().Samples)
	assert.Zero(t, s.counters.sampled, "there is room for others")
}
