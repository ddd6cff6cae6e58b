package rmwtest

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"

	"github.com/unwatch/unwatch/rmw"
)

// stuck is a Store whose Updates wait in a way that keeps fake time from passing.
type stuck struct {
	*Memory
	wait func()
}

func (s stuck) Update(ctx context.Context, key rmw.Key, fn rmw.UpdateFunc) (rmw.Result, error) {
	s.wait()
	return s.Memory.Update(ctx, key, fn)
}

// The clause cannot end before the watchdog has fired, which releases the Store.
func TestRunFakeTellsWhichClauseIsStuck(t *testing.T) {
	var released atomic.Bool
	spin := func() {
		for !released.Load() {
			runtime.Gosched()
		}
	}
	var mu sync.Mutex
	for name, way := range map[string]struct{ take, wait, release func() }{
		"spins":             {func() {}, spin, func() { released.Store(true) }},
		"waits for a mutex": {mu.Lock, func() { mu.Lock(); defer mu.Unlock() }, mu.Unlock},
	} {
		t.Run(name, func(t *testing.T) {
			way.take()
			message := ""
			clause := Clauses()[0]
			clause.testFake(t, func(*testing.T) Target {
				m := NewMemory()
				return Target{Open: func() rmw.Store { return stuck{m, way.wait} }, Direct: m}
			}, soon/100, func(text string) {
				message = text
				way.release()
			})
			assert.Contains(t, message, `clause "`+clause.Name+`"`)
		})
	}
}

func TestBubbleShowsItsGoroutinesOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stacks := bubble()
		assert.Contains(t, stacks, "TestBubbleShowsItsGoroutinesOnly")
		assert.NotContains(t, stacks, "testing.(*M).Run", "that of the test binary")
	})
}
