package suite

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

// The clause cannot end before the watchdog has fired, which releases it.
func TestFakeNamesTheStuckClause(t *testing.T) {
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
			fake(t, "a-clause", func(t *testing.T) {
				assert.NoError(t, Run(t.Context(), 0, func(*Check) { way.wait() }))
			}, 40*time.Millisecond, func(text string) {
				message = text
				way.release()
			})
			assert.Contains(t, message, `clause "a-clause"`)
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
