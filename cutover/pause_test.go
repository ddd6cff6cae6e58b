package cutover_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/cutover"
	"github.com/unwatch/unwatch/rmw"
)

// self is the only process in the census.
func self(t *testing.T, old rmw.Reader) cutover.Process {
	t.Helper()
	processes, err := cutover.Census(t.Context(), "desk", old)
	require.NoError(t, err)
	require.Len(t, processes, 1)
	return processes[0]
}

func write(t *testing.T, p process, name string) error {
	t.Helper()
	_, err := p.Update(t.Context(), rmw.Key{Name: name}, set(rmw.String("v")))
	return err
}

// A heartbeat has the pauses of the moves that its process made: two round trips each.
func TestHeartbeatHasPauses(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		old := r.direct().sides[0].(rmw.Store)
		h := beat(t, old, forward)
		t.Cleanup(func() { require.NoError(t, h.Close()) })
		p := r.openWith(cutover.Config{Stage: forward, Heartbeat: h})
		other := r.open(forward) // its moves are not those of the heartbeat
		for i := range 10 {
			require.NoError(t, write(t, p, fmt.Sprint("k", i)))
			require.NoError(t, write(t, p, fmt.Sprint("k", i)), "it has moved")
			require.NoError(t, write(t, other, fmt.Sprint("o", i)))
		}
		sleep(30 * time.Second)
		pause := self(t, old).Pause
		assert.Equal(t, 10, pause.Batches)
		for _, d := range []time.Duration{pause.P50, pause.P99, pause.Max} {
			assert.GreaterOrEqual(t, d, 2*flush)
			assert.Less(t, d, 4*flush)
		}
	})
}

// A heartbeat shows how far a Sweep is, until it ends, and counts the pauses of its batches.
func TestHeartbeatShowsASweep(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.fill(50)
		admin := r.admin(0)
		require.NoError(t, admin.Set(t.Context(), "a large one", strings.Repeat("x", 1<<20+1), 0).Err())
		old := r.direct().sides[0].(rmw.Store)
		h := beat(t, old, forward)
		t.Cleanup(func() { require.NoError(t, h.Close()) })
		p := r.openWith(cutover.Config{Stage: forward, Heartbeat: h})
		sleep(30 * time.Second)
		assert.Nil(t, self(t, old).Sweep)
		cfg := r.sweep(1)
		cfg.Rate = 1
		done := make(chan cutover.Pass)
		began := time.Now()
		go func() {
			pass, err := p.Sweep(t.Context(), cfg)
			assert.NoError(t, err)
			done <- pass
		}()
		sleep(40 * time.Second)
		now := self(t, old)
		require.NotNil(t, now.Sweep)
		assert.WithinDuration(t, began, now.Sweep.Began, time.Second)
		assert.InDelta(t, now.At.Sub(now.Sweep.Began).Seconds(), now.Sweep.Moved, 3)
		assert.Equal(t, cutover.Keys{Count: 1}, now.Sweep.TooLarge, "names may be long")
		pass := <-done
		assert.NotEmpty(t, pass.TooLarge.Names, "the result has the names")
		sleep(4 * time.Second)
		now = self(t, old)
		assert.Nil(t, now.Sweep)
		assert.Equal(t, pass.Pause, now.Pause)
		assert.Equal(t, 50, now.Pause.Batches)
	})
}
