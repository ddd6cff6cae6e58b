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

// A copy contains the calls that had ended before it began, and the calls that ended during
// it and lead to the copied value, through any number of calls in any order.
func TestCallsInACopy(t *testing.T) {
	began := time.Now()
	at := func(was, is byte, after time.Duration) *item {
		return &item{call: &call{ended: began.Add(after)}, was: digest{was}, is: digest{is}}
	}
	c := copied{began: began, ended: began.Add(time.Second), value: digest{5}}
	assert.True(t, c.covers(at(1, 2, -1)))
	assert.False(t, c.covers(at(1, 2, 0)), "it may have ended later")
	before, last := at(3, 4, 0), at(4, 5, time.Second)
	elsewhere, later := at(7, 8, 0), at(4, 5, time.Second+1)
	leading := c.leadingTo([]*item{before, elsewhere, later, last})
	for it, want := range map[*item]bool{before: true, last: true, elsewhere: false, later: false} {
		assert.Equal(t, want, leading(it))
	}
	assert.False(t, c.leadingTo([]*item{before, elsewhere})(before), "no call leads to the copied value")
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

// A missing call is a gap of its key, and of every key once too many keys have one.
func TestMissingCalls(t *testing.T) {
	e := New(nil, nil, Config{}).engine
	var state keyState
	gap := func(hash uint64) bool {
		state.gap = false
		state.miss(e.missingLocked(hash))
		return state.gap
	}
	for hash := range uint64(maxGaps) {
		e.missLocked(hash)
	}
	assert.False(t, gap(maxGaps))
	assert.True(t, gap(1))
	assert.False(t, gap(1), "it was noted before")
	e.missLocked(1)
	assert.True(t, gap(1))
	e.missLocked(maxGaps)
	assert.True(t, gap(maxGaps+1))
	assert.Len(t, e.gaps, 1)
}

// One forced conflict in four has a long value.
func TestSizesOfConflicts(t *testing.T) {
	sizes := map[int]int{}
	for id := range uint64(800) {
		sizes[conflictSize(id)]++
	}
	assert.Equal(t, map[int]int{conflictBytes: 600, longConflictBytes: 200}, sizes)
}

// The timeline keeps its last minutes.
func TestTimelineIsBounded(t *testing.T) {
	c := newCounters(Config{})
	for i := range maxMinutes + 1 {
		c.minuteLocked(time.Time{}.Add(time.Duration(i) * time.Minute)).Compared = int64(i)
	}
	assert.Len(t, c.minutes, maxMinutes)
	assert.EqualValues(t, 1, c.minutes[0].Compared)
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

// held is a path that answers a read only after open is closed.
type held struct {
	*rmwtest.Memory
	reached, open chan struct{}
}

func (p held) Read(ctx context.Context, key rmw.Key) (rmw.Value, error) {
	close(p.reached)
	<-p.open
	return p.Memory.Read(ctx, key)
}

// Drain returns only after the lockstep worker has unlocked the key: a round of the verifier
// must not skip it.
func TestDrainWaitsForTheKeysLock(t *testing.T) {
	hidden := held{rmwtest.NewMemory(), make(chan struct{}), make(chan struct{})}
	s := New(rmwtest.NewMemory(), hidden, Config{Sole: true, Skip: []report.Comparator{report.Seeded, report.Free}})
	_, err := s.Update(t.Context(), rmw.Key{Name: "k"}, always(rmw.String("v")))
	require.NoError(t, err)
	<-hidden.reached
	s.engine.touched.mu.Lock() // the worker needs it to unlock the key
	close(hidden.open)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, s.Drain(ctx), context.DeadlineExceeded)
	s.engine.touched.mu.Unlock()
	require.NoError(t, s.Drain(t.Context()))
	states, _ := s.engine.touched.all()
	assert.True(t, states[0].try())
	states[0].unlock()
	require.NoError(t, s.Close())
}
