package shadow

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/rmwtest"
)

// instantly is a path that costs nothing.
type instantly struct{ value rmw.Value }

func (p instantly) Read(context.Context, rmw.Key) (rmw.Value, error) { return p.value, nil }

func (p instantly) Update(ctx context.Context, _ rmw.Key, fn rmw.UpdateFunc) (rmw.Result, error) {
	next, err := fn(ctx, p.value)
	return rmw.Result{Before: p.value, After: next, Written: true, Attempts: 1}, err
}

// A call that is queued costs its caller no allocation. No goroutine runs here that
// could have one of its own.
func TestQueueingAllocatesNothing(t *testing.T) {
	fields := map[string]string{}
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"} {
		fields[name] = "value"
	}
	for name, values := range map[string][2]rmw.Value{
		"string": {rmw.String(`{"state":"open"}`), rmw.String(`{"state":"closed"}`)},
		"hash":   {rmw.Hash(fields), rmw.Hash(fields).With("a", "other")},
	} {
		t.Run(name, func(t *testing.T) {
			s := New(instantly{values[0]}, rmwtest.NewMemory(), Config{Reads: 100})
			s.engine.start.Do(func() {})
			key := rmw.Key{Name: "session:1", Label: "session", Kind: values[0].Kind()}
			fn := func(context.Context, rmw.Value) (rmw.Value, error) { return values[1], nil }
			ctx := rmw.WithOperation(t.Context(), "close")
			const calls = 500
			update := func() { _, _ = s.Update(ctx, key, fn) }
			read := func() { _, _ = s.Read(ctx, key) }
			update()
			read()
			assert.Zero(t, testing.AllocsPerRun(calls, update), "update")
			assert.Zero(t, testing.AllocsPerRun(calls, read), "read")
			assert.EqualValues(t, 2*calls+4, s.engine.n, "they are all queued")
			s.Kill("the test is over")
			<-s.engine.ended
			assert.Zero(t, testing.AllocsPerRun(calls, update), "switched off")
		})
	}
}

// What a caller pays for a call that is sampled, without what the workers do meanwhile.
func BenchmarkCallerQueues(b *testing.B) {
	s := New(instantly{rmw.String("1")}, rmwtest.NewMemory(), Config{})
	s.engine.start.Do(func() {})
	key := rmw.Key{Name: "session:1", Label: "session"}
	next := rmw.String("2")
	fn := func(context.Context, rmw.Value) (rmw.Value, error) { return next, nil }
	ctx := rmw.WithOperation(context.Background(), "close")
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if i%4096 == 0 { // as the dispatcher would
			s.engine.n, s.counters.health.Queue, s.counters.health.QueueBytes = 0, 0, 0
		}
		_, _ = s.Update(ctx, key, fn)
	}
}
