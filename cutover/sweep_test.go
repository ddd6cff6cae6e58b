package cutover_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/cutover"
	"github.com/unwatch/unwatch/internal/testing/long"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
)

// admin is a client of one side that no fault strikes.
func (r *rig) admin(side int) *redis.Client {
	rdb := redis.NewClient(r.proxies[side].CalmOptions())
	r.t.Cleanup(func() { _ = rdb.Close() })
	return rdb
}

// sweep is a SweepConfig for the old store. Faults strike the scripts only.
func (r *rig) sweep(batch int) cutover.SweepConfig {
	return cutover.SweepConfig{Masters: []cutover.Scanner{r.admin(0)}, Batch: batch}
}

// both is a SweepConfig for both stores.
func (r *rig) both(batch int) cutover.SweepConfig {
	cfg := r.sweep(batch)
	for i := range r.proxies[1].Backends() {
		cfg.NewMasters = append(cfg.NewMasters, engine{r.proxies[1].Engine(i)})
	}
	return cfg
}

// swept returns the result of a sweep by a new process.
func (r *rig) swept(stage cutover.Source, cfg cutover.SweepConfig) cutover.Pass {
	r.t.Helper()
	pass, err := r.open(stage).Sweep(r.t.Context(), cfg)
	require.NoError(r.t, err)
	return pass
}

// requireText requires the value of the key room.
func requireText(t *testing.T, p process, want string) {
	t.Helper()
	v, err := p.Read(t.Context(), room)
	require.NoError(t, err)
	require.Equal(t, want, v.Text())
}

// fill stores n strings, some of them with an expiry, and every fifth key as a hash.
func (r *rig) fill(n int) {
	rdb := r.admin(0)
	for i := range n {
		name, left := fmt.Sprint("k", i), time.Duration(i%2)*time.Hour
		if i%5 == 0 {
			require.NoError(r.t, rdb.HSet(r.t.Context(), name, "f", name, "g", "").Err())
		} else {
			require.NoError(r.t, rdb.Set(r.t.Context(), name, "value of "+name, left).Err())
		}
	}
}

// requireFilled checks the keys of fill at their home.
func (r *rig) requireFilled(n int) {
	p := r.direct()
	for i := range n {
		key, want := rmw.Key{Name: fmt.Sprint("k", i)}, rmw.String(fmt.Sprint("value of k", i))
		if i%5 == 0 {
			key.Kind, want = rmw.KindHash, rmw.Hash(map[string]string{"f": key.Name, "g": ""})
		}
		v, left, err := p.Peek(r.t.Context(), key)
		require.NoError(r.t, err, key.Name)
		require.True(r.t, v.Equal(want), "%s is %v", key.Name, v)
		if i%5 != 0 && i%2 == 1 {
			require.InDelta(r.t, time.Hour, left, float64(time.Minute), key.Name)
		} else {
			require.Equal(r.t, rmw.NoTTL, left, key.Name)
		}
	}
}

func TestSweepMovesThereAndBack(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.fill(50)
		old, new := r.admin(0), r.admin(1)
		ctx := t.Context()
		require.NoError(t, old.Set(ctx, "large", strings.Repeat("x", 1<<20+1), 0).Err())
		require.NoError(t, old.RPush(ctx, "list", "a", "b").Err())
		require.NoError(t, old.SAdd(ctx, "set", "a").Err())
		require.NoError(t, old.Set(ctx, "twice", "old", 0).Err())
		require.NoError(t, new.Set(ctx, "twice", "new", 0).Err())
		for _, name := range []string{"/lock/k1", "/fence/lock/k1", "/wait/lock/k1", "~cutover:stage"} {
			require.NoError(t, old.Set(ctx, name, "x", 0).Err())
		}
		names := func(names ...string) cutover.Keys { return cutover.Keys{Count: len(names), Names: names} }
		stay := cutover.Pass{
			Scanned:  cutover.Scanned{Names: 58, Chosen: 54, Foreign: 4, Masters: 1, AllMasters: 1},
			TooLarge: names("large"), OtherType: cutover.Keys{Count: 2, Names: []string{"list", "set"}}, Refused: names("twice"),
		}
		for i, tc := range []struct {
			stage cutover.Stage
			want  func(*cutover.Pass)
		}{
			{follow, func(p *cutover.Pass) { p.Kept = 52; p.TooLarge, p.Refused = cutover.Keys{}, cutover.Keys{} }},
			{forward, func(p *cutover.Pass) { p.Moved = 50 }},
			{forward, func(p *cutover.Pass) { p.There = 50 }},
			{cutover.Stage{Phase: cutover.Copying, Percent: 100, Freeze: true},
				func(p *cutover.Pass) { p.Kept = 52; p.TooLarge, p.Refused = cutover.Keys{}, cutover.Keys{} }},
			{cutover.Stage{Phase: cutover.Reverse, Freeze: true},
				func(p *cutover.Pass) { p.Kept = 52; p.TooLarge, p.Refused = cutover.Keys{}, cutover.Keys{} }},
			{reverse, func(p *cutover.Pass) {
				p.Moved, p.There = 50, 2
				p.TooLarge, p.Refused = cutover.Keys{}, cutover.Keys{}
			}},
			{reverse, func(p *cutover.Pass) { p.There = 52; p.TooLarge, p.Refused = cutover.Keys{}, cutover.Keys{} }},
			{cutover.Stage{Phase: cutover.Copying, Percent: 100, Labels: []string{"other"}},
				func(p *cutover.Pass) { p.Kept = 52; p.TooLarge, p.Refused = cutover.Keys{}, cutover.Keys{} }},
			{forward, func(p *cutover.Pass) { p.Moved = 50 }},
		} {
			p := r.open(tc.stage)
			pass, err := p.Sweep(ctx, r.sweep(7))
			require.NoError(t, err)
			require.NoError(t, p.Close())
			want := stay
			tc.want(&want)
			if want.Moved > 0 {
				assert.GreaterOrEqual(t, pass.Pause.Batches, 8)
				assert.LessOrEqual(t, pass.Pause.P50, pass.Pause.P99)
				assert.LessOrEqual(t, pass.Pause.P99, pass.Pause.Max)
				assert.Less(t, pass.Pause.Max, 5*time.Millisecond)
			}
			want.Pause = pass.Pause
			assert.ElementsMatch(t, want.OtherType.Names, pass.OtherType.Names)
			want.OtherType.Names = pass.OtherType.Names
			assert.Equal(t, want, pass, "step %d", i)
			r.requireFilled(50)
		}
		assert.Equal(t, [2]string{"list", "string"}, r.where("k1"))
		assert.Equal(t, [2]string{"string", "none"}, r.where("/lock/k1"))
		assert.Equal(t, [2]string{"string", "string"}, r.where("twice"))
	})
}

// A sweep costs 4 scripts a key in either direction, and a TYPE. A second pass costs 2 looks a key
// forward, and none backward.
func TestSweepCommands(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		const n = 40
		r.fill(n)
		for _, stage := range []cutover.Stage{forward, reverse} { // loads the scripts
			r.swept(stage, r.sweep(16))
		}
		for _, tc := range []struct {
			stage cutover.Stage
			want  map[string]int
		}{
			{forward, map[string]int{"reserve": n, "seal": n, "fill": n, "mark": n, "type": n}},
			{forward, map[string]int{"look": 2 * n, "type": n}},
			{reverse, map[string]int{"look": n, "seal": n, "fill": n, "mark": n, "type": n}},
			{reverse, map[string]int{"type": n}},
		} {
			for _, p := range r.proxies {
				p.ResetCalls()
			}
			r.swept(tc.stage, r.sweep(16))
			assert.Equal(t, tc.want, r.steps(), tc.stage)
		}
	})
}

// steps counts the steps that the proxies were sent.
func (r *rig) steps() map[string]int {
	count := map[string]int{}
	for _, p := range r.proxies {
		for _, c := range p.Calls() {
			switch c.Command() {
			case "EVALSHA", "EVAL":
				count[c.Args[4]]++
			case "TYPE":
				count["type"]++
			}
		}
	}
	return count
}

// Verify counts the keys that a crash has left on their way, with their age. A sweep that moves nothing completes their moves.
func TestSweepCompletesInEveryPhase(t *testing.T) {
	for _, stage := range []cutover.Stage{
		follow, {Phase: cutover.Complete}, {Phase: cutover.Copying}, {Phase: cutover.Reverse, Freeze: true},
	} {
		for _, way := range []cutover.Stage{forward, reverse} {
			for _, last := range []string{"seal", "fill"} {
				t.Run(fmt.Sprint(stage, way, last), func(t *testing.T) {
					if stage.Phase != cutover.Follow {
						long.Repeats(t)
					}
					bubble(t, func(t *testing.T, r *rig) {
						r.fill(4)
						if way.Phase == cutover.Reverse {
							r.swept(forward, r.sweep(4))
						}
						r.stopAt(way, map[string]string{"seal": "fill", "fill": "mark"}[last])
						sleep(30 * time.Second)
						report := r.verify(3)
						assert.Zero(t, report.Wrong())
						p := r.open(stage)
						pass, err := p.Sweep(t.Context(), r.sweep(4))
						require.NoError(t, err)
						require.NoError(t, p.Close())
						want := 4
						if way.Phase == cutover.Reverse && last == "fill" {
							want = 0 // the old store serves; the seal in the new one is harmless
						} else {
							assert.InDelta(t, 30*time.Second, report.OldestTransit, float64(15*time.Second))
						}
						assert.Equal(t, [2]int{want, 4 - want}, [2]int{report.Transit.Count, report.Open})
						assert.Equal(t, cutover.Pass{Scanned: pass.Scanned, Completed: want, Kept: 4 - want}, pass)
						home := [2]string{"string", "list"}
						if way.Phase == cutover.Copying {
							home = [2]string{"list", "string"}
						}
						assert.Equal(t, home, r.where("k1"))
						r.requireFilled(4)
					})
				})
			}
		}
	}
}

// The fills of a batch fail, and nothing is marked before its value has arrived.
func TestSweepMarksNothingUnfilled(t *testing.T) {
	for _, action := range []proxytest.Action{proxytest.RefuseWith, proxytest.DropRequest} {
		bubble(t, func(t *testing.T, r *rig) {
			r.fill(8)
			marks := 0
			r.proxies[0].Inject(proxytest.Fault{Times: -1, Action: proxytest.None, Match: func(args []string) bool {
				if len(args) > 4 && args[4] == "mark" {
					marks++
				}
				return false
			}})
			r.proxies[1].Inject(proxytest.Fault{Times: -1, Action: action, Text: "ERR refused", Match: isStep("fill")})
			p := r.open(forward)
			_, err := p.Sweep(t.Context(), r.sweep(8))
			require.ErrorIs(t, err, rmw.ErrUnavailable)
			require.NoError(t, p.Close())
			assert.Zero(t, marks)
			assert.Equal(t, 8, r.verify(8).Transit.Count)
		})
	}
}

// The marks of a batch fail. The keys have moved, and the next pass marks them.
func TestSweepMarksLate(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.fill(8)
		heal := r.proxies[0].Inject(proxytest.Fault{Times: -1, Action: proxytest.RefuseWith, Text: "ERR refused", Match: isStep("mark")})
		p := r.open(forward)
		pass, err := p.Sweep(t.Context(), r.sweep(8))
		require.NoError(t, err)
		assert.Equal(t, 8, pass.Moved)
		assert.Zero(t, pass.Failed.Count)
		heal()
		pass, err = p.Sweep(t.Context(), r.sweep(8))
		require.NoError(t, err)
		assert.Equal(t, 8, pass.Completed)
		assert.Equal(t, 8, r.verify(8).Equal)
	})
}
