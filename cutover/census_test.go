package cutover_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/cutover"
	"github.com/unwatch/unwatch/rmw"
)

// beat starts the heartbeats of a process that reads the stage from both stores.
func beat(t *testing.T, store rmw.Store, source cutover.Source) *cutover.Heartbeat {
	h, err := cutover.StartHeartbeat("desk", store, source)
	require.NoError(t, err)
	return h
}

func epochs(t *testing.T, store rmw.Store) (seen []uint64) {
	processes, err := cutover.Census(t.Context(), "desk", store)
	require.NoError(t, err)
	for _, p := range processes {
		seen = append(seen, p.Epoch)
	}
	return seen
}

func TestCensus(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		store := func(side int) rmw.Store { return r.open(follow).sides[side].(rmw.Store) }
		admin := [2]rmw.Store{store(0), store(1)}
		var beats []*cutover.Heartbeat
		for range 3 {
			old, new := store(0), store(1)
			p := cutover.FromKey("desk", old, new)
			t.Cleanup(func() { require.NoError(t, p.Close()) })
			beats = append(beats, beat(t, old, p))
		}
		nextPoll()
		assert.Equal(t, []uint64{0, 0, 0}, epochs(t, admin[0]))
		for epoch := range uint64(3) {
			require.NoError(t, publish(t.Context(), admin[0], admin[1], forward))
			time.Sleep(4 * time.Second)
			assert.Equal(t, []uint64{epoch + 1, epoch + 1, epoch + 1}, epochs(t, admin[0]))
		}
		processes, err := cutover.Census(t.Context(), "desk", admin[0])
		require.NoError(t, err)
		for _, p := range processes {
			assert.NotEmpty(t, p.Name)
			assert.Empty(t, p.Error)
			assert.WithinDuration(t, time.Now(), p.At, 5*time.Second)
		}

		peeker, ok := rmw.As[rmw.Peeker](admin[0])
		require.True(t, ok)
		_, left, err := peeker.Peek(t.Context(), rmw.Key{Name: "~cutover:{desk}:census", Kind: rmw.KindHash})
		require.NoError(t, err)
		assert.InDelta(t, 2*time.Minute, left, float64(30*time.Second), "if all processes die, the census expires")

		require.NoError(t, beats[0].Close())
		assert.Len(t, epochs(t, admin[0]), 2, "a process that ends leaves")
		time.Sleep(10 * time.Minute)
		assert.Len(t, epochs(t, admin[0]), 2, "heartbeats continue")
		require.NoError(t, beats[1].Close())
		require.NoError(t, beats[2].Close())
		assert.Empty(t, epochs(t, admin[0]))
		assert.Equal(t, "none", r.where("~cutover:{desk}:census")[0])
	})
}

// A process that dies leaves the census within two minutes, whatever its clock says, and not before
// its heartbeats are a minute late.
func TestCensusForgetsTheDead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		old := &place{}
		old.put("~cutover:{desk}:census", rmw.Hash(map[string]string{"garbage": "?"}))
		processes, err := cutover.Census(t.Context(), "desk", old)
		require.NoError(t, err)
		assert.Equal(t, []cutover.Process{{Name: "garbage", Error: "the heartbeat cannot be decoded"}}, processes)
		died := time.Now()
		for name, at := range map[string]time.Duration{"now": 0, "ahead": time.Hour, "behind": -time.Hour} {
			fields := old.values["~cutover:{desk}:census"]
			text := fmt.Sprintf(`{"epoch":7,"at":%q}`, died.Add(at).Format(time.RFC3339))
			old.put("~cutover:{desk}:census", fields.With(name, text))
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
			_, err := old.Update(t.Context(), rmw.Key{Name: "~cutover:{desk}:census", Kind: rmw.KindHash},
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
		old.set(doc(1, `"stage":"follow"`))
		new.fail(errDown)
		h := beat(t, old, poll(t, old, new))
		nextPoll()
		processes, err := cutover.Census(t.Context(), "desk", old)
		require.NoError(t, err)
		require.Len(t, processes, 1)
		assert.EqualValues(t, 1, processes[0].Epoch)
		assert.Contains(t, processes[0].Error, "the new store: store unavailable")
		old.fail(errDown)
		time.Sleep(time.Minute)
		old.fail(nil)
		new.fail(nil)
		new.set(doc(2, `"stage":"follow"`))
		time.Sleep(4 * time.Second)
		assert.Equal(t, []uint64{2}, epochs(t, old))
		old.fail(errDown)
		require.NoError(t, h.Close())
	})
	_, err := cutover.StartHeartbeat("", &place{}, follow)
	require.ErrorIs(t, err, rmw.ErrInvalid)
	_, err = cutover.StartHeartbeat("desk", nil, follow)
	require.ErrorIs(t, err, rmw.ErrInvalid)
	_, err = cutover.Census(t.Context(), "{", &place{})
	require.ErrorIs(t, err, rmw.ErrInvalid)
}
