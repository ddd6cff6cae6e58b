package cutover_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/cutover"
	"github.com/unwatch/unwatch/internal/testing/long"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
)

// race is processes that update keys, beside sweepers.
type race struct {
	stages []cutover.Source // of one sweeper each, which sweeps until the updates end
	faults bool
	net    network
}

// run returns the result of the audit, and how many keys the sweeps have moved.
func (c race) run(t *testing.T, seed uint64) (wrong []string, moved int) {
	bubble(t, func(t *testing.T, r *rig) {
		if c.faults {
			r.strike(seed, 2, 5, proxytest.ExecuteLater, proxytest.DropReply, proxytest.DropRequest, proxytest.DelayReply)
		}
		const keys = 6
		names := make([]rmw.Key, keys)
		for i := range names {
			names[i] = rmw.Key{Name: fmt.Sprint("k", i), Kind: rmw.Kind(i % 2)}
		}
		a := newAudit()
		ctx, stop := context.WithCancel(t.Context())
		var mu sync.Mutex
		var updates, sweeps sync.WaitGroup
		for _, stage := range c.stages {
			p := r.open(stage, c.net)
			cfg := r.both(4)
			sweeps.Go(func() {
				for ctx.Err() == nil {
					pass, _ := p.Sweep(ctx, cfg)
					mu.Lock()
					moved += pass.Moved
					mu.Unlock()
					sleep(time.Millisecond)
				}
			})
		}
		for worker := range 5 {
			p := r.open(follow, c.net) // the sweepers move
			updates.Go(func() {
				for i := range 40 {
					key := names[(worker+i)%keys]
					a.update(t, p, key, fmt.Sprintf("%s-%d-%d", key.Name, worker, i))
				}
			})
		}
		updates.Wait()
		stop()
		sweeps.Wait()
		var kept int
		wrong, kept = a.wrong(t, r, names)
		require.Greater(t, kept, 100, "too few updates were acknowledged")
	})
	return wrong, moved
}

// turns is a Source that goes forward and back.
type turns struct{}

func (turns) Stage(context.Context) (cutover.Stage, error) {
	if time.Now().UnixMilli()/2%2 == 0 {
		return forward, nil
	}
	return reverse, nil
}

var races = map[string]race{
	"there and back":      {stages: []cutover.Source{turns{}}},
	"opposite directions": {stages: []cutover.Source{forward, reverse}},
	"faults":              {stages: []cutover.Source{forward, reverse, flips{}}, faults: true},
}

func TestSweepLosesNothing(t *testing.T) { raceSeeds(t, 0, 1) }

func TestLongSweepLosesNothing(t *testing.T) {
	long.Only(t)
	raceSeeds(t, 1, 8)
}

func raceSeeds(t *testing.T, from, to uint64) {
	for name, c := range races {
		t.Run(name, func(t *testing.T) {
			for seed := from; seed < to; seed++ {
				wrong, moved := c.run(t, seed)
				require.Empty(t, wrong, "seed %d", seed)
				require.Greater(t, moved, 20, "seed %d", seed)
			}
		})
	}
}

// Negative controls: each changes the script under the pipelines of a sweep.
func TestLongSweepControls(t *testing.T) {
	controls(t, 20, func(t *testing.T, seed uint64, control func(string) string) (wrong []string) {
		c := races["faults"]
		c.net.control = control
		wrong, _ = c.run(t, seed)
		return wrong
	})
}

// A sweeper stops after each command, also within a pipeline. Each key is found, and the next pass
// brings all of them to where the Stage wants them.
func TestSweeperStopsAfterEachCommand(t *testing.T) {
	for _, way := range []struct {
		name        string
		before, now cutover.Stage
		where       [2]string
	}{
		{"forward", follow, forward, [2]string{"list", "string"}},
		{"backward", forward, reverse, [2]string{"string", "list"}},
	} {
		t.Run(way.name, func(t *testing.T) {
			for n := 0; ; n++ {
				finished := false
				synctest.Test(t, func(t *testing.T) {
					r := newRig(t)
					const keys = 4
					r.fill(keys)
					_, err := r.open(way.before).Sweep(t.Context(), r.sweep(3))
					require.NoError(t, err)
					var mu sync.Mutex
					sent, stopped := 0, false
					var heal []func()
					for _, p := range r.proxies {
						heal = append(heal, p.Inject(proxytest.Fault{Match: func(args []string) bool {
							mu.Lock()
							defer mu.Unlock()
							if strings.HasPrefix(args[0], "eval") {
								sent++
							}
							stopped = stopped || sent > n
							return stopped
						}, Times: -1, Action: proxytest.DropRequest}))
					}
					p := r.open(way.now)
					ctx, cancel := context.WithTimeout(t.Context(), time.Second)
					_, err = p.Sweep(ctx, r.sweep(3))
					cancel()
					_ = p.Close()
					finished = !stopped
					if finished {
						require.NoError(t, err)
					}
					for _, heal := range heal {
						heal()
					}
					if n%2 == 0 {
						r.requireFilled(keys)
					}
					p = r.open(way.now)
					pass, err := p.Sweep(t.Context(), r.sweep(3))
					require.NoError(t, err)
					require.NoError(t, p.Close())
					assert.Equal(t, keys, pass.Moved+pass.There+pass.Completed, "%+v", pass)
					assert.Equal(t, way.where, r.where("k1"), "stopped after command %d", n)
					r.requireFilled(keys)
				})
				if finished || t.Failed() {
					require.GreaterOrEqual(t, n, 16, "the test ended before the sweep did")
					return
				}
			}
		})
	}
}

// A sweep that moves nothing completes the moves that it finds half done.
func TestSweepCompletesInEveryPhase(t *testing.T) {
	for _, stage := range []cutover.Stage{
		follow, {Phase: cutover.Complete}, {Phase: cutover.Copying}, {Phase: cutover.Reverse, Freeze: true},
	} {
		for _, way := range []cutover.Stage{forward, reverse} {
			for _, last := range []string{"seal", "fill"} {
				t.Run(fmt.Sprint(stage, way, last), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						r := newRig(t)
						r.fill(4)
						if way.Phase == cutover.Reverse {
							_, err := r.open(forward).Sweep(t.Context(), r.sweep(4))
							require.NoError(t, err)
						}
						stopped := false // before the step after last
						var heal []func()
						for _, p := range r.proxies {
							heal = append(heal, p.Inject(proxytest.Fault{Match: func(args []string) bool {
								stopped = stopped || len(args) > 4 && args[4] == map[string]string{"seal": "fill", "fill": "mark"}[last]
								return stopped
							}, Times: -1, Action: proxytest.DropRequest}))
						}
						p := r.open(way)
						_, _ = p.Sweep(t.Context(), r.sweep(4))
						_ = p.Close()
						for _, heal := range heal {
							heal()
						}
						p = r.open(stage)
						pass, err := p.Sweep(t.Context(), r.sweep(4))
						require.NoError(t, err)
						require.NoError(t, p.Close())
						want := 4
						if way.Phase == cutover.Reverse && last == "fill" {
							want = 0 // the old store serves; the seal in the new one is harmless
						}
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
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t)
			r.fill(8)
			marks := 0
			r.proxies[0].Inject(proxytest.Fault{Times: -1, Action: proxytest.None, Match: func(args []string) bool {
				if len(args) > 4 && args[4] == "mark" {
					marks++
				}
				return false
			}})
			r.proxies[1].Inject(proxytest.Fault{Times: -1, Action: action, Text: "ERR refused",
				Match: func(args []string) bool { return len(args) > 4 && args[4] == "fill" }})
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
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.fill(8)
		heal := r.proxies[0].Inject(proxytest.Fault{Times: -1, Action: proxytest.RefuseWith, Text: "ERR refused",
			Match: func(args []string) bool { return len(args) > 4 && args[4] == "mark" }})
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
