package lockupdate_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/rmw"
)

// A lease begins when its acquire is sent, and not while that waits for its turn behind commands that hang.
func TestLeaseBeginsWithItsTurn(t *testing.T) {
	withFixture(t, lockupdate.Config{Lease: time.Second}, func(t *testing.T, f *fixture) {
		gate := make(chan struct{})
		f.during("acquire", 0, 4, func() { <-gate })
		var calls []*pendingCall
		for i := range 4 {
			calls = append(calls, start(t.Context(), f.store, rmw.Key{Name: fmt.Sprint("hangs", i)}, appendText("x")))
		}
		synctest.Wait()
		began := time.Now()
		require.NoError(t, f.store.WithLock(t.Context(), "k", func(ctx context.Context) error { return ctx.Err() }))
		assert.Greater(t, time.Since(began), 900*time.Millisecond, "control: it has waited")
		assert.Zero(t, f.store.Stats().Lost)
		close(gate)
		wait(calls...)
	})
}
