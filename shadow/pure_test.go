package shadow_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/rmwtest"
	"github.com/unwatch/unwatch/shadow"
	"github.com/unwatch/unwatch/shadow/report"
)

// draw is a pure operation.
func draw(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
	env := shadow.EnvOf(ctx)
	return rmw.String(fmt.Sprintf(`{"at":%d,"id":%q,"other":%q,"dice":%d,"before":%d}`,
		env.Now().UnixNano(), env.NewID(), env.NewID(), env.Rand().IntN(6), len(cur.Text()))), nil
}

func runPure(t *testing.T, fn rmw.UpdateFunc, candidate rmw.Store) *report.Report {
	t.Helper()
	s := shadow.New(rmwtest.NewMemory(), candidate, shadow.Config{Sole: true, Pure: []string{"game/draw"}})
	ctx := rmw.WithOperation(t.Context(), "draw")
	for i := range 50 {
		_, err := s.Update(ctx, rmw.Key{Name: "game:" + strconv.Itoa(i%3), Label: "game"}, fn)
		require.NoError(t, err)
		time.Sleep(time.Millisecond)
	}
	require.NoError(t, s.Drain(t.Context()))
	require.NoError(t, s.Close())
	addsUp(t, s.Report())
	return s.Report()
}

// A pure operation runs again with the same Env, and returns the same result.
func TestPureOperationsRunAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var runs atomic.Int64
		r := runPure(t, func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
			runs.Add(1)
			return draw(ctx, cur)
		}, rmwtest.NewMemory())
		assert.Empty(t, named(r))
		assert.EqualValues(t, 100, runs.Load(), "once to serve, once to compare")
		assert.EqualValues(t, 50, compared(r, report.Seeded))
	})
}

// A pure operation is not blamed for a fault of the path.
func TestPureOperationsAreNotBlamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := runPure(t, draw, storing(func(v rmw.Value) rmw.Value {
			return document(v, func(doc map[string]any) { delete(doc, "id") })
		}))
		assert.Contains(t, named(r), "seeded value id")
		assert.NotContains(t, named(r), "seeded nondeterministic id")
	})
}

// An operation that is registered as pure and is not is a finding of its own.
func TestNondeterminismIsNamed(t *testing.T) {
	for name, fn := range map[string]rmw.UpdateFunc{
		"clock": func(context.Context, rmw.Value) (rmw.Value, error) {
			return rmw.String(fmt.Sprintf(`{"at":%d}`, time.Now().UnixNano())), nil
		},
		"chance": func(context.Context, rmw.Value) (rmw.Value, error) {
			return rmw.String(fmt.Sprintf(`{"at":%d}`, rand.Uint64())), nil
		},
	} {
		run(t, name, func(t *testing.T) {
			hidden := rmwtest.NewMemory()
			r := runPure(t, func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
				next, err := fn(ctx, cur)
				time.Sleep(time.Microsecond) // the clock goes on
				return next, err
			}, hidden)
			assert.Contains(t, named(r), "seeded nondeterministic at")
			assert.NotContains(t, named(r), "seeded value at")
			assert.Equal(t, report.NotReady, r.Judge(report.Policy{}).State)
		})
	}
}

// Without a Store, and for operations that are not registered, EnvOf returns a new Env.
func TestEnvOutside(t *testing.T) {
	a, b := shadow.EnvOf(t.Context()), shadow.EnvOf(t.Context())
	assert.NotEqual(t, a.NewID(), b.NewID())
	id := a.NewID()
	assert.Len(t, id, 26)
	assert.NotEqual(t, id, a.NewID())
	assert.WithinDuration(t, time.Now(), a.Now(), time.Minute)
}
