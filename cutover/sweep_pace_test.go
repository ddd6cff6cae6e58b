package cutover_test

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
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

func TestSweepRate(t *testing.T) {
	long.Repeats(t)
	took := func(change func(*rig, *cutover.SweepConfig)) (took time.Duration) {
		bubble(t, func(t *testing.T, r *rig) {
			r.fill(100)
			cfg := r.sweep(10)
			change(r, &cfg)
			began := time.Now()
			pass := r.swept(forward, cfg)
			assert.Equal(t, 100, pass.Moved)
			took = time.Since(began)
		})
		return took
	}
	full := took(func(*rig, *cutover.SweepConfig) {})
	assert.Less(t, full, 50*time.Millisecond)

	limited := took(func(_ *rig, cfg *cutover.SweepConfig) { cfg.Rate = 50 })
	assert.InDelta(t, 2*time.Second, limited, float64(10*time.Millisecond))

	always := took(func(_ *rig, cfg *cutover.SweepConfig) { cfg.Slow = func() bool { return true } })
	assert.Greater(t, always, 20*full, "each batch takes twice as long as the one before, up to 100 ms a key")
	assert.Less(t, always, 100*100*time.Millisecond)

	once := 0
	recovers := took(func(_ *rig, cfg *cutover.SweepConfig) { cfg.Slow = func() bool { once++; return once < 3 } })
	assert.Greater(t, recovers, full+full/2)
	assert.Less(t, recovers, 6*full, "as long as three passes with one batch in flight; a full pass has two")

	fast := took(func(_ *rig, cfg *cutover.SweepConfig) { cfg.MaxLatency = 5 * time.Millisecond })
	assert.Less(t, fast, 2*full)
	slow := took(func(r *rig, cfg *cutover.SweepConfig) {
		cfg.MaxLatency = 5 * time.Millisecond
		r.proxies[1].Inject(proxytest.Fault{Times: -1, Action: proxytest.Delay, Delay: 10 * time.Millisecond, Match: isStep("look")})
	})
	assert.Greater(t, slow-10*10*time.Millisecond, always/2, "besides the 10 looks themselves")
}

func TestSweepEnds(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.fill(20)
		cfg := r.sweep(5)
		cfg.Rate = 1
		p := r.open(forward)
		ctx, cancel := context.WithTimeout(t.Context(), 7*time.Second)
		defer cancel()
		began := time.Now()
		pass, err := p.Sweep(ctx, cfg)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.InDelta(t, 7*time.Second, time.Since(began), float64(time.Millisecond))
		assert.Equal(t, 10, pass.Moved)

		time.AfterFunc(7*time.Second, func() { _ = p.Store.Close() })
		_, err = p.Sweep(t.Context(), cfg)
		require.ErrorIs(t, err, rmw.ErrClosed)
		_, err = p.Verify(t.Context(), cfg)
		require.ErrorIs(t, err, rmw.ErrClosed)
		r.requireFilled(20)
	})
	t.Run("while a store hangs", func(t *testing.T) {
		bubble(t, func(t *testing.T, r *rig) {
			r.fill(20)
			heal := r.proxies[1].Inject(proxytest.Fault{
				Times: -1, Action: proxytest.HangReply, Delay: 2 * time.Second, Match: isStep("fill"),
			})
			p := r.open(forward)
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			began := time.Now()
			_, err := p.Sweep(ctx, r.sweep(5))
			require.ErrorIs(t, err, context.DeadlineExceeded)
			assert.InDelta(t, time.Second, time.Since(began), float64(time.Millisecond))
			heal()
			require.NoError(t, p.Close())
			r.requireFilled(20)
		})
	})
	t.Run("a store is down", func(t *testing.T) {
		bubble(t, func(t *testing.T, r *rig) {
			r.fill(20)
			r.proxies[1].Down(0)
			r.proxies[1].Down(1)
			p := r.open(forward)
			pass, err := p.Sweep(t.Context(), r.sweep(5))
			require.ErrorIs(t, err, rmw.ErrUnavailable)
			assert.Equal(t, 5, pass.Failed.Count)
			require.ErrorIs(t, pass.Cause, rmw.ErrUnavailable)
			report, err := p.Verify(t.Context(), r.sweep(5))
			require.ErrorIs(t, err, rmw.ErrUnavailable)
			assert.Equal(t, 5, report.Failed.Count)
			for _, name := range pass.Failed.Names {
				kind := r.admin(0).Type(t.Context(), name).Val()
				assert.Contains(t, []string{"string", "hash"}, kind, "nothing is sealed without a reservation")
			}
		})
	})
}

func TestSweepRefusesConfig(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		p := r.open(forward)
		good := r.sweep(0)
		cluster := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{"192.0.2.1:1"}})
		defer cluster.Close()
		for name, cfg := range map[string]cutover.SweepConfig{
			"no master":     {},
			"a nil master":  {Masters: []cutover.Scanner{(*redis.Client)(nil)}},
			"a cluster":     {Masters: []cutover.Scanner{cluster}},
			"a batch of -1": {Masters: good.Masters, Batch: -1},
			"a rate of -1":  {Masters: good.Masters, Rate: -1},
			"a latency < 0": {Masters: good.Masters, MaxLatency: -1},
		} {
			_, err := p.Sweep(t.Context(), cfg)
			assert.ErrorIs(t, err, rmw.ErrInvalid, name)
		}
		_, err := p.Sweep(t.Context(), good)
		require.NoError(t, err)
		_, err = cutover.New(cutover.Side{}, cutover.Side{}, cutover.Config{}).Sweep(t.Context(), good)
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

// empty answers that no key exists any more.
type empty struct{}

func (empty) DialHook(next redis.DialHook) redis.DialHook          { return next }
func (empty) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

func (empty) ProcessPipelineHook(redis.ProcessPipelineHook) redis.ProcessPipelineHook {
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
		rdb.AddHook(empty{})
		side := cutover.Side{Store: &place{}, Redis: rdb}
		s := cutover.New(side, side, cutover.Config{Stage: forward})
		defer s.Close()
		pass, err := s.Sweep(t.Context(), cutover.SweepConfig{Masters: []cutover.Scanner{master}, Keys: func(name string) (rmw.Key, bool) {
			chosen(name)
			return rmw.Key{}, true
		}})
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
	run := func(rate int) (most int64, took time.Duration) {
		bubble(t, func(t *testing.T, r *rig) {
			r.fill(400)
			var now, top atomic.Int64
			p := r.open(forward)
			for _, rdb := range p.clients {
				rdb.AddHook(inFlight{&now, &top})
			}
			cfg := r.sweep(10)
			cfg.Rate = rate
			began := time.Now()
			pass, err := p.Sweep(t.Context(), cfg)
			require.NoError(t, err)
			require.Equal(t, 400, pass.Moved)
			most, took = top.Load(), time.Since(began)
			r.requireFilled(400)
		})
		return most, took
	}
	slow, oneByOne := run(1000)
	assert.EqualValues(t, 1, slow)
	assert.InDelta(t, 400*time.Millisecond, oneByOne, float64(10*time.Millisecond))
	fast, took := run(0)
	assert.EqualValues(t, 2, fast)
	assert.Less(t, took, 40*5*flush, "40 batches, one after the other, take five round trips each")
}

// inFlight counts the pipelines of keys that are in flight at once.
type inFlight struct{ now, most *atomic.Int64 }

func (inFlight) DialHook(next redis.DialHook) redis.DialHook          { return next }
func (inFlight) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

func (f inFlight) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if name := cmds[0].Name(); name != "evalsha" && name != "type" {
			return next(ctx, cmds) // of a new connection
		}
		now := f.now.Add(1)
		defer f.now.Add(-1)
		for most := f.most.Load(); now > most && !f.most.CompareAndSwap(most, now); most = f.most.Load() {
		}
		return next(ctx, cmds)
	}
}
