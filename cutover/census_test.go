package cutover_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/cutover"
	"github.com/unwatch/unwatch/cutover/operate"
	"github.com/unwatch/unwatch/rmw"
)

// beat starts the heartbeats of a process that reads the stage from both stores.
func beat(t *testing.T, store rmw.Store, source cutover.Source) *cutover.Heartbeat {
	h, err := cutover.StartHeartbeat("desk", store, source)
	require.NoError(t, err)
	return h
}

func census(t *testing.T, old rmw.Reader) []operate.Process {
	t.Helper()
	processes, err := operate.Census(t.Context(), "desk", old)
	require.NoError(t, err)
	return processes
}

func epochs(t *testing.T, old rmw.Reader) (seen []uint64) {
	t.Helper()
	for _, p := range census(t, old) {
		seen = append(seen, p.Epoch)
	}
	return seen
}

// self is the only process in the census.
func self(t *testing.T, old rmw.Reader) operate.Process {
	t.Helper()
	processes := census(t, old)
	require.Len(t, processes, 1)
	return processes[0]
}

const censusKey = stageKey + ":census"

func TestCensus(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		admin := r.open(follow)
		old := admin.stores[0]
		var beats []*cutover.Heartbeat
		for range 3 {
			stores := r.open(follow).stores
			p := cutover.FromKey("desk", stores[0], stores[1])
			t.Cleanup(func() { require.NoError(t, p.Close()) })
			beats = append(beats, beat(t, stores[0], p))
		}
		nextPoll()
		assert.Equal(t, []uint64{0, 0, 0}, epochs(t, old))
		for epoch, stage := range []cutover.Stage{forward, reverse, forward} {
			require.NoError(t, publish(t.Context(), old, admin.stores[1], stage))
			time.Sleep(4 * time.Second)
			seen := uint64(epoch) + 1
			assert.Equal(t, []uint64{seen, seen, seen}, epochs(t, old))
		}
		for _, p := range census(t, old) {
			assert.NotEmpty(t, p.Name)
			assert.Empty(t, p.Error)
			assert.WithinDuration(t, time.Now(), p.At, 5*time.Second)
		}
		_, left, err := old.Peek(t.Context(), rmw.Key{Name: censusKey, Kind: rmw.KindHash})
		require.NoError(t, err)
		assert.InDelta(t, 2*time.Minute, left, float64(30*time.Second), "if all processes die, the census expires")

		require.NoError(t, beats[0].Close())
		assert.Len(t, epochs(t, old), 2, "a process that ends leaves")
		require.NoError(t, beats[1].Close())
		require.NoError(t, beats[2].Close())
		assert.Empty(t, epochs(t, old))
		assert.Equal(t, "none", r.where(censusKey)[0])
	})
}

// A process that dies leaves the census within two minutes, whatever its clock says, and not before
// its heartbeats are a minute late.
func TestCensusForgetsTheDead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		old := &place{}
		old.put(censusKey, rmw.Hash(map[string]string{"garbage": "?"}))
		assert.Equal(t, []operate.Process{{Name: "garbage", Error: "the heartbeat cannot be decoded"}}, census(t, old))
		died := time.Now()
		for name, at := range map[string]time.Duration{"now": 0, "ahead": time.Hour, "behind": -time.Hour} {
			text := fmt.Sprintf(`{"epoch":7,"at":%q}`, died.Add(at).Format(time.RFC3339))
			old.put(censusKey, old.values[censusKey].With(name, text))
		}
		h := beat(t, old, forward)
		for range 5 {
			time.Sleep(10 * time.Second)
			assert.Len(t, epochs(t, old), 5)
		}
		time.Sleep(70 * time.Second)
		assert.Len(t, epochs(t, old), 1)
		require.NoError(t, h.Close())
	})
}

// A process whose heartbeats come once in 59 seconds lives. The others write theirs every 20 seconds.
func TestCensusKeepsTheLiving(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		old := &place{}
		a, b := beat(t, old, forward), beat(t, old, forward)
		for i := range 20 {
			_, err := old.Update(t.Context(), rmw.Key{Name: censusKey, Kind: rmw.KindHash},
				func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
					return cur.With("slow", fmt.Sprintf(`{"epoch":%d}`, i)), nil
				})
			require.NoError(t, err)
			for range 59 {
				time.Sleep(time.Second)
				require.Len(t, epochs(t, old), 3)
			}
		}
		assert.InDelta(t, 20+2*20*59/20, old.writes, 10)
		require.NoError(t, a.Close())
		require.NoError(t, b.Close())
	})
}

func TestHeartbeatWhileTheStoreFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		old, new := &place{}, &place{}
		old.become(doc(1, `"stage":"follow"`))
		new.become(down)
		h := beat(t, old, poll(t, old, new))
		nextPoll()
		p := self(t, old)
		assert.EqualValues(t, 1, p.Epoch)
		assert.Contains(t, p.Error, "the new store: store unavailable")
		old.become(down)
		time.Sleep(time.Minute)
		old.become(up)
		new.become(up)
		new.become(doc(2, `"stage":"follow"`))
		time.Sleep(4 * time.Second)
		assert.Equal(t, []uint64{2}, epochs(t, old))
		old.become(down)
		require.NoError(t, h.Close())
	})
	_, err := cutover.StartHeartbeat("", &place{}, follow)
	require.ErrorIs(t, err, rmw.ErrInvalid)
	_, err = cutover.StartHeartbeat("desk", nil, follow)
	require.ErrorIs(t, err, rmw.ErrInvalid)
	_, err = operate.Census(t.Context(), "{", &place{})
	require.ErrorIs(t, err, rmw.ErrInvalid)
}

// A heartbeat has the pauses of the moves that its process made: two round trips each.
func TestHeartbeatHasPauses(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		old := r.direct().stores[0]
		h := beat(t, old, forward)
		defer h.Close()
		p := r.openWith(cutover.Config{Stage: forward, Heartbeat: h})
		other := r.open(forward) // its moves are not those of the heartbeat
		for i := range 10 {
			key, theirs := rmw.Key{Name: fmt.Sprint("k", i)}, rmw.Key{Name: fmt.Sprint("o", i)}
			p.put(key, rmw.String("v"))
			p.put(key, rmw.String("it has moved"))
			other.put(theirs, rmw.String("v"))
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
		require.NoError(t, r.admin(0).Set(t.Context(), "a large one", strings.Repeat("x", 1<<20+1), 0).Err())
		old := r.direct().stores[0]
		h := beat(t, old, forward)
		defer h.Close()
		p := r.openWith(cutover.Config{Stage: forward, Heartbeat: h})
		sleep(30 * time.Second)
		assert.Nil(t, self(t, old).Sweep)
		cfg := r.old(1)
		cfg.Rate = 1
		done := make(chan operate.Pass)
		began := time.Now()
		go func() {
			pass, err := operate.Sweep(t.Context(), p.Store, cfg)
			assert.NoError(t, err)
			done <- pass
		}()
		sleep(40 * time.Second)
		now := self(t, old)
		require.NotNil(t, now.Sweep)
		assert.WithinDuration(t, began, now.Sweep.Began, time.Second)
		assert.InDelta(t, now.At.Sub(now.Sweep.Began).Seconds(), now.Sweep.Moved, 3)
		assert.Equal(t, operate.Keys{Count: 1}, now.Sweep.TooLarge, "names may be long")
		pass := <-done
		assert.NotEmpty(t, pass.TooLarge.Names, "the result has the names")
		sleep(4 * time.Second)
		now = self(t, old)
		assert.Nil(t, now.Sweep)
		assert.Equal(t, pass.Pause, now.Pause)
		assert.Equal(t, 50, now.Pause.Batches)
	})
}
