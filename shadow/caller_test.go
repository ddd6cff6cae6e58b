package shadow_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/rmwtest"
	"github.com/unwatch/unwatch/shadow"
)

// instant is a path that costs nothing, so that what is measured is the shadow's.
type instant struct{ value rmw.Value }

func (p instant) Read(context.Context, rmw.Key) (rmw.Value, error) { return p.value, nil }

func (p instant) Update(ctx context.Context, key rmw.Key, fn rmw.UpdateFunc) (rmw.Result, error) {
	next, err := fn(ctx, p.value)
	return rmw.Result{Before: p.value, After: next, Written: true, Attempts: 1}, err
}

// hung is a path that answers nothing before its ctx ends.
type hung struct{}

func (hung) Read(ctx context.Context, _ rmw.Key) (rmw.Value, error) {
	<-ctx.Done()
	return rmw.Value{}, ctx.Err()
}

func (hung) Update(ctx context.Context, _ rmw.Key, _ rmw.UpdateFunc) (rmw.Result, error) {
	<-ctx.Done()
	return rmw.Result{}, ctx.Err()
}

// callers are the cases in which a caller's cost matters.
func callers() map[string]shadow.Config {
	return map[string]shadow.Config{"sampled": {}, "off": {Off: true}}
}

func hidden(name string) rmw.Store {
	if name == "hung" {
		return hung{}
	}
	return rmwtest.NewMemory()
}

// Who calls a Store pays no allocation for the shadow, whatever that does.
func TestCallerAllocatesNothing(t *testing.T) {
	for _, path := range []string{"memory", "hung"} {
		for name, cfg := range callers() {
			t.Run(path+"/"+name, func(t *testing.T) {
				if path == "hung" {
					cfg.QueueCalls = 16
				}
				// The workers allocate: no more than a few calls reach them.
				cfg.QueueCalls = 16
				bare := instant{rmw.String(`{"state":"open"}`)}
				s := shadow.New(bare, hung{}, cfg)
				defer s.Kill("the test is over")
				key := rmw.Key{Name: "session:1", Label: "session"}
				next := rmw.String(`{"state":"closed"}`)
				fn := func(context.Context, rmw.Value) (rmw.Value, error) { return next, nil }
				ctx := rmw.WithOperation(t.Context(), "close")
				for range 100 {
					_, err := s.Update(ctx, key, fn)
					require.NoError(t, err)
				}
				assert.Zero(t, testing.AllocsPerRun(1000, func() { _, _ = s.Update(ctx, key, fn) }))
			})
		}
	}
}

func BenchmarkCaller(b *testing.B) {
	bare := instant{rmw.String(`{"state":"open"}`)}
	next := rmw.String(`{"state":"closed"}`)
	key := rmw.Key{Name: "session:1", Label: "session"}
	fn := func(context.Context, rmw.Value) (rmw.Value, error) { return next, nil }
	ctx := rmw.WithOperation(context.Background(), "close")
	bench := func(name string, store rmw.Store) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _ = store.Update(ctx, key, fn)
			}
		})
	}
	bench("bare", bare)
	for name, cfg := range map[string]shadow.Config{"off": {Off: true}, "sampled": {}} {
		for _, path := range []string{"memory", "hung"} {
			s := shadow.New(bare, hidden(path), cfg)
			bench(name+"/"+path, s)
			s.Kill("the benchmark is over")
		}
	}
}
