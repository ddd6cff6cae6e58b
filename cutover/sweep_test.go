package cutover_test

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/cutover"
	"github.com/unwatch/unwatch/cutover/operate"
	"github.com/unwatch/unwatch/internal/testing/long"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
)

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
		names := func(names ...string) operate.Keys { return operate.Keys{Count: len(names), Names: names} }
		for i, tc := range []struct {
			stage cutover.Stage
			want  operate.Pass
		}{
			{follow, operate.Pass{Kept: 52}},
			{forward, operate.Pass{Moved: 50}},
			{forward, operate.Pass{There: 50}},
			{frozen(forward), operate.Pass{Kept: 52}},
			{frozen(reverse), operate.Pass{Kept: 52}},
			{reverse, operate.Pass{Moved: 50, There: 2}},
			{reverse, operate.Pass{There: 52}},
			{cutover.Stage{Phase: cutover.Copying, Percent: 100, Labels: []string{"other"}}, operate.Pass{Kept: 52}},
			{forward, operate.Pass{Moved: 50}},
		} {
			p := r.open(tc.stage)
			pass := p.sweep(r.old(7))
			require.NoError(t, p.Close())
			if tc.want.Moved > 0 {
				assert.GreaterOrEqual(t, pass.Pause.Batches, 8)
				assert.LessOrEqual(t, pass.Pause.P50, pass.Pause.P99)
				assert.LessOrEqual(t, pass.Pause.P99, pass.Pause.Max)
				assert.Less(t, pass.Pause.Max, 5*time.Millisecond)
			}
			assert.ElementsMatch(t, []string{"list", "set"}, pass.OtherType.Names)
			tc.want.Scanned = operate.Scanned{Names: 58, Chosen: 54, Foreign: 4, Masters: 1, AllMasters: 1}
			if tc.want.Moved+tc.want.There+tc.want.Kept == 50 { // the other two are to move, too
				tc.want.TooLarge, tc.want.Refused = names("large"), names("twice")
			}
			tc.want.OtherType, tc.want.Pause = operate.Keys{Count: 2, Names: pass.OtherType.Names}, pass.Pause
			assert.Equal(t, tc.want, pass, "step %d", i)
			r.requireFilled(50)
		}
		assert.Equal(t, [2]string{"list", "string"}, r.where("k1"))
		assert.Equal(t, [2]string{"string", "none"}, r.where("/lock/k1"))
		assert.Equal(t, [2]string{"string", "string"}, r.where("twice"))
	})
}

// publishing is a Source whose epoch grows after some calls.
type publishing struct{ calls, after *atomic.Int64 }

func (p publishing) Stage(context.Context) (cutover.Stage, error) {
	if p.calls.Add(1) > p.after.Load() {
		return at(8, forward), nil
	}
	return at(7, forward), nil
}

// A pass during which the stage changes has no epoch, so that it is no evidence for Complete.
func TestSweepDuringAPublication(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.fill(50)
		var calls, after atomic.Int64
		after.Store(math.MaxInt64)
		p := r.open(publishing{&calls, &after})
		assert.EqualValues(t, 7, p.sweep(r.old(7)).Epoch)
		for _, batches := range []int64{1, calls.Load() - 1} {
			calls.Store(0)
			after.Store(batches)
			assert.Zero(t, p.sweep(r.old(7)).Epoch)
		}
		assert.EqualValues(t, 8, p.sweep(r.old(7)).Epoch)
	})
}

// The fills of a batch fail, and nothing is marked before its value has arrived.
func TestSweepMarksNothingUnfilled(t *testing.T) {
	for _, action := range []proxytest.Action{proxytest.RefuseWith, proxytest.DropRequest} {
		bubble(t, func(t *testing.T, r *rig) {
			r.fill(8)
			r.proxies[1].Inject(proxytest.Fault{Times: -1, Action: action, Text: "ERR refused", Match: isStep("fill")})
			p := r.open(forward)
			_, err := operate.Sweep(t.Context(), p.Store, r.old(8))
			require.ErrorIs(t, err, rmw.ErrUnavailable)
			require.NoError(t, p.Close())
			assert.Zero(t, r.steps()["mark"])
			assert.Equal(t, 8, r.verify(8).Transit.Count)
		})
	}
}

// The marks of a batch fail. The keys have moved, and the next pass marks them.
func TestSweepMarksLate(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.fill(8)
		heal := r.proxies[0].Inject(proxytest.Fault{Times: -1, Action: proxytest.RefuseWith, Text: "ERR refused", Match: isStep("mark")})
		pass := r.swept(forward)
		assert.Equal(t, 8, pass.Moved)
		assert.Zero(t, pass.Failed.Count)
		heal()
		assert.Equal(t, 8, r.swept(forward).Completed)
		assert.Equal(t, 8, r.verify(8).Equal)
	})
}

// The keys are deleted after SCAN has returned their names. A sweep counts them, and leaves no marker for them, also
// if it looks at them one by one because the old store refuses TYPE.
func TestSweepOfVanishedKeys(t *testing.T) {
	for _, refused := range []bool{false, true} {
		bubble(t, func(t *testing.T, r *rig) {
			r.fill(8)
			if refused {
				r.proxies[0].Inject(proxytest.Fault{Command: "TYPE", Times: 8, Action: proxytest.RefuseWith, Text: "ERR refused"})
			}
			cfg := r.old(8)
			cfg.Keys = func(name string) (rmw.Key, bool) {
				require.NoError(t, r.admin(0).Del(t.Context(), name).Err())
				return rmw.Key{}, true
			}
			pass := r.open(forward).sweep(cfg)
			assert.Equal(t, operate.Pass{Scanned: pass.Scanned, Gone: 8, Pause: pass.Pause}, pass)
			assert.Equal(t, [2]string{"none", "none"}, r.where("k1"))
		})
	}
}

func TestSweepRate(t *testing.T) {
	long.Repeats(t)
	took := func(change func(*rig, *operate.SweepConfig)) (took time.Duration) {
		bubble(t, func(t *testing.T, r *rig) {
			r.fill(100)
			cfg := r.old(10)
			change(r, &cfg)
			began := time.Now()
			assert.Equal(t, 100, r.open(forward).sweep(cfg).Moved)
			took = time.Since(began)
		})
		return took
	}
	full := took(func(*rig, *operate.SweepConfig) {})
	assert.Less(t, full, 50*time.Millisecond)

	limited := took(func(_ *rig, cfg *operate.SweepConfig) { cfg.Rate = 50 })
	assert.InDelta(t, 2*time.Second, limited, float64(10*time.Millisecond))

	always := took(func(_ *rig, cfg *operate.SweepConfig) { cfg.Slow = func() bool { return true } })
	assert.Greater(t, always, 20*full, "each batch takes twice as long as the one before, up to 100 ms a key")
	assert.Less(t, always, 100*100*time.Millisecond)

	once := 0
	recovers := took(func(_ *rig, cfg *operate.SweepConfig) { cfg.Slow = func() bool { once++; return once < 3 } })
	assert.Greater(t, recovers, full+full/2)
	assert.Less(t, recovers, 6*full, "as long as three passes with one batch in flight; a full pass has two")

	fast := took(func(_ *rig, cfg *operate.SweepConfig) { cfg.MaxLatency = 5 * time.Millisecond })
	assert.Less(t, fast, 2*full)
	slow := took(func(r *rig, cfg *operate.SweepConfig) {
		cfg.MaxLatency = 5 * time.Millisecond
		r.proxies[1].Inject(proxytest.Fault{Times: -1, Action: proxytest.Delay, Delay: 10 * time.Millisecond, Match: isStep("look")})
	})
	assert.Greater(t, slow-10*10*time.Millisecond, always/2, "besides the 10 looks themselves")
}

func TestSweepEnds(t *testing.T) {
	run(t, "with its ctx, and with Close", func(t *testing.T, r *rig) {
		r.fill(20)
		cfg := r.old(5)
		cfg.Rate = 1
		p := r.open(forward)
		ctx, cancel := context.WithTimeout(t.Context(), 7*time.Second)
		defer cancel()
		began := time.Now()
		pass, err := operate.Sweep(ctx, p.Store, cfg)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.InDelta(t, 7*time.Second, time.Since(began), float64(time.Millisecond))
		assert.Equal(t, 10, pass.Moved)

		time.AfterFunc(7*time.Second, func() { _ = p.Store.Close() })
		_, err = operate.Sweep(t.Context(), p.Store, cfg)
		require.ErrorIs(t, err, rmw.ErrClosed)
		_, err = operate.Verify(t.Context(), p.Store, cfg)
		require.ErrorIs(t, err, rmw.ErrClosed)
		r.requireFilled(20)
	})
	run(t, "while a store hangs", func(t *testing.T, r *rig) {
		r.fill(20)
		heal := r.proxies[1].Inject(proxytest.Fault{Times: -1, Action: proxytest.HangReply, Delay: 2 * time.Second, Match: isStep("fill")})
		p := r.open(forward)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		_, err := operate.Sweep(ctx, p.Store, r.old(5))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.InDelta(t, time.Second, time.Since(began), float64(time.Millisecond))
		heal()
		require.NoError(t, p.Close())
		r.requireFilled(20)
	})
	run(t, "a store is down", func(t *testing.T, r *rig) {
		r.fill(20)
		r.proxies[1].Down(0)
		r.proxies[1].Down(1)
		p := r.open(forward)
		pass, err := operate.Sweep(t.Context(), p.Store, r.old(5))
		require.ErrorIs(t, err, rmw.ErrUnavailable)
		assert.Equal(t, 5, pass.Failed.Count)
		require.ErrorIs(t, pass.Cause, rmw.ErrUnavailable)
		report, err := operate.Verify(t.Context(), p.Store, r.old(5))
		require.ErrorIs(t, err, rmw.ErrUnavailable)
		assert.Equal(t, 5, report.Failed.Count)
		for _, name := range pass.Failed.Names {
			assert.NotEqual(t, "list", r.admin(0).Type(t.Context(), name).Val(), "nothing is sealed without a reservation")
		}
	})
}

func TestSweepRefusesConfig(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		p, good := r.open(forward), r.old(0)
		cluster := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{"192.0.2.1:1"}})
		defer cluster.Close()
		for name, cfg := range map[string]operate.SweepConfig{
			"no master":     {},
			"a nil master":  {Masters: []operate.Scanner{(*redis.Client)(nil)}},
			"a cluster":     {Masters: []operate.Scanner{cluster}},
			"a batch of -1": {Masters: good.Masters, Batch: -1},
			"a rate of -1":  {Masters: good.Masters, Rate: -1},
			"a latency < 0": {Masters: good.Masters, MaxLatency: -1},
		} {
			_, err := operate.Sweep(t.Context(), p.Store, cfg)
			assert.ErrorIs(t, err, rmw.ErrInvalid, name)
		}
		p.sweep(good)
		_, err := operate.Sweep(t.Context(), cutover.New(cutover.Side{}, cutover.Side{}, cutover.Config{}), good)
		require.ErrorIs(t, err, rmw.ErrInvalid)
	})
}

// pages is a server with many keys that holds none of them.
type pages struct {
	keys int
	at   func(n int)
}

func (p pages) Scan(ctx context.Context, cursor uint64, _ string, count int64) *redis.ScanCmd {
	p.at(int(cursor))
	names := make([]string, 0, count)
	for n := int(cursor); n < p.keys && len(names) < int(count); n++ {
		names = append(names, fmt.Sprintf("%0100d", n))
	}
	next := cursor + uint64(len(names))
	if int(next) == p.keys {
		next = 0
	}
	cmd := redis.NewScanCmd(ctx, nil)
	cmd.SetVal(names, next)
	return cmd
}

// pipelines is a hook for pipelines only.
type pipelines func(next redis.ProcessPipelineHook) redis.ProcessPipelineHook

func (pipelines) DialHook(next redis.DialHook) redis.DialHook          { return next }
func (pipelines) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }
func (p pipelines) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return p(next)
}

// empty answers that no key exists any more.
func empty(redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(_ context.Context, cmds []redis.Cmder) error {
		for _, cmd := range cmds {
			cmd.(*redis.StatusCmd).SetVal("none")
		}
		return nil
	}
}

// The memory of a pass does not grow with the number of keys: 90,000 keys with names of 100 bytes add
// less than 100 KB.
func TestSweepMemory(t *testing.T) {
	long.Repeats(t)
	grown := func(chosen func(string)) int64 {
		live := func() int64 {
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			return int64(m.HeapAlloc)
		}
		var first, last atomic.Int64
		master := pages{keys: 100_000, at: func(n int) {
			switch {
			case n >= 10_000 && first.Load() == 0:
				first.Store(live())
			case n >= 99_000 && last.Load() == 0:
				last.Store(live())
			}
		}}
		rdb := redis.NewClient(&redis.Options{Addr: "192.0.2.1:1"})
		defer rdb.Close()
		rdb.AddHook(pipelines(empty))
		side := cutover.Side{Store: &place{}, Redis: rdb}
		s := cutover.New(side, side, cutover.Config{Stage: forward})
		defer s.Close()
		cfg := operate.SweepConfig{Masters: []operate.Scanner{master}, Keys: func(name string) (rmw.Key, bool) {
			chosen(name)
			return rmw.Key{}, true
		}}
		pass, err := operate.Sweep(t.Context(), s, cfg)
		require.NoError(t, err)
		require.Equal(t, 100_000, pass.Gone)
		t.Logf("the live heap grew by %d bytes from 10,000 to 99,000 keys", last.Load()-first.Load())
		return last.Load() - first.Load()
	}
	assert.Less(t, grown(func(string) {}), int64(100<<10))
	var all []string
	assert.Greater(t, grown(func(name string) { all = append(all, name) }), int64(5<<20), "control: a list of the names")
	require.Len(t, all, 100_000)
}

// A pass without a limit has several batches in flight, and is faster for it. A pass within a limit has one.
func TestSweepLanes(t *testing.T) {
	const keys, batches = 200, 20
	pass := func(rate int) (most int64, took time.Duration) {
		bubble(t, func(t *testing.T, r *rig) {
			r.fill(keys)
			var inFlight, top atomic.Int64
			p := r.open(forward)
			for _, rdb := range p.clients {
				rdb.AddHook(pipelines(func(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
					return func(ctx context.Context, cmds []redis.Cmder) error {
						if name := cmds[0].Name(); name != "evalsha" && name != "type" {
							return next(ctx, cmds) // of a new connection
						}
						now := inFlight.Add(1)
						defer inFlight.Add(-1)
						for most := top.Load(); now > most && !top.CompareAndSwap(most, now); most = top.Load() {
						}
						return next(ctx, cmds)
					}
				}))
			}
			cfg := r.old(keys / batches)
			cfg.Rate = rate
			began := time.Now()
			require.Equal(t, keys, p.sweep(cfg).Moved)
			most, took = top.Load(), time.Since(began)
			r.requireFilled(keys)
		})
		return most, took
	}
	most, took := pass(1000)
	assert.EqualValues(t, 1, most)
	assert.InDelta(t, keys*time.Millisecond, took, float64(10*time.Millisecond))
	most, took = pass(0)
	assert.EqualValues(t, 2, most)
	assert.Less(t, took, batches*5*flush, "one after the other, the batches take five round trips each")
}

// A result has as many names as SweepConfig.Names says.
func TestNamesOfAResult(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		const keys = 12
		for i := range keys {
			require.NoError(t, r.admin(0).SAdd(t.Context(), fmt.Sprint("set:", i), "x").Err())
		}
		p := r.open(forward)
		for most, want := range map[int]int{0: 10, 3: 3, -1: keys} {
			cfg := r.both(16)
			cfg.Names = most
			assert.Len(t, p.sweep(cfg).OtherType.Names, want)
			report, err := operate.Verify(t.Context(), p.Store, cfg)
			require.NoError(t, err)
			assert.Len(t, report.OtherType.Names, want)
			for _, g := range p.preflight(cfg) {
				if g.Name == "keys of other types" {
					assert.Len(t, g.Names, want)
				}
			}
		}
	})
}
