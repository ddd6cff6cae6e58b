package cutover_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/cutover"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
)

// engine is a server behind the proxy.
type engine struct{ *miniredis.Miniredis }

func (e engine) Scan(ctx context.Context, _ uint64, _ string, _ int64) *redis.ScanCmd {
	page := redis.NewScanCmd(ctx, nil)
	page.SetVal(e.Keys(), 0)
	return page
}

func (r *rig) verify(n int) cutover.Report {
	p := r.open(follow)
	report, err := p.Verify(r.t.Context(), r.both(n))
	require.NoError(r.t, err)
	require.NoError(r.t, p.Close())
	return report
}

// drop lets no step of this name, and none after it, be executed, until heal.
func (r *rig) drop(step string) (heal func()) {
	var mu sync.Mutex
	stopped := false
	var heals []func()
	for _, p := range r.proxies {
		heals = append(heals, p.Inject(proxytest.Fault{Match: func(args []string) bool {
			mu.Lock()
			defer mu.Unlock()
			stopped = stopped || len(args) > 4 && args[4] == step
			return stopped
		}, Times: -1, Action: proxytest.DropRequest}))
	}
	return func() {
		for _, heal := range heals {
			heal()
		}
	}
}

// stopAt runs a sweep whose steps of this name, and all after them, are never executed.
func (r *rig) stopAt(stage cutover.Stage, step string) {
	heal := r.drop(step)
	defer heal()
	p := r.open(stage)
	_, _ = p.Sweep(r.t.Context(), r.sweep(16))
	_ = p.Close()
}

// plant makes one key wrong. It gets the clients of both stores.
type plant struct {
	stage cutover.Stage // of a sweep before it
	do    func(t *testing.T, r *rig, old, new *redis.Client)
	want  func(r *cutover.Report) // the change of a Report of 20 sound keys
}

const planted = "k7"

func named(k *cutover.Keys) { *k = cutover.Keys{Count: 1, Names: []string{planted}} }

// Each kind of error is planted in one key among 20, and it is found there and nowhere else.
func TestVerifyFindsPlants(t *testing.T) {
	set := func(side int, value any) func(*testing.T, *rig, *redis.Client, *redis.Client) {
		return func(t *testing.T, _ *rig, old, new *redis.Client) {
			require.NoError(t, [2]*redis.Client{old, new}[side].Set(t.Context(), planted, value, time.Hour).Err())
		}
	}
	for name, p := range map[string]plant{
		"nothing, before": {follow, func(*testing.T, *rig, *redis.Client, *redis.Client) {}, func(r *cutover.Report) { r.Open = 20 }},
		"nothing, after":  {forward, func(*testing.T, *rig, *redis.Client, *redis.Client) {}, func(r *cutover.Report) { r.Equal = 20 }},
		"too large": {follow, set(0, strings.Repeat("x", 1<<20+1)),
			func(r *cutover.Report) { r.Open = 19; named(&r.TooLarge) }},
		"a hash that is too large": {follow, func(t *testing.T, _ *rig, old, _ *redis.Client) {
			require.NoError(t, old.Del(t.Context(), planted).Err())
			for i := range 300 {
				require.NoError(t, old.HSet(t.Context(), planted, fmt.Sprint(i), strings.Repeat("x", 4000)).Err())
			}
		}, func(r *cutover.Report) { r.Open = 19; named(&r.TooLarge) }},
		"a list": {follow, func(t *testing.T, _ *rig, old, _ *redis.Client) {
			require.NoError(t, old.Del(t.Context(), planted).Err())
			require.NoError(t, old.RPush(t.Context(), planted, "a", "b").Err())
		}, func(r *cutover.Report) { r.Open = 19; named(&r.OtherType) }},
		"a value of its own in the new store": {follow, set(1, "foreign"),
			func(r *cutover.Report) { r.Open = 19; named(&r.TwoHomes) }},
		"a blind SET over the marker": {forward, set(0, "blind"),
			func(r *cutover.Report) { r.Equal = 19; named(&r.TwoHomes) }},
		"EXPIRE of the marker": {forward, func(t *testing.T, _ *rig, old, _ *redis.Client) {
			require.NoError(t, old.Expire(t.Context(), planted, time.Hour).Err())
		}, func(r *cutover.Report) { r.Equal = 19; named(&r.Expiring) }},
		"EXPIRE of the marker in the new store": {reverse, func(t *testing.T, _ *rig, _, new *redis.Client) {
			require.NoError(t, new.Expire(t.Context(), planted, time.Hour).Err())
		}, func(r *cutover.Report) { r.Open = 19; named(&r.Expiring) }},
		"DEL of the marker": {forward, func(t *testing.T, _ *rig, old, _ *redis.Client) {
			require.NoError(t, old.Del(t.Context(), planted).Err())
		}, func(r *cutover.Report) { r.Names, r.Chosen, r.Equal = 19, 19, 19; named(&r.Unmarked) }},
		"DEL of the value after a way back": {reverse, func(t *testing.T, _ *rig, old, _ *redis.Client) {
			require.NoError(t, old.Del(t.Context(), planted).Err())
		}, func(r *cutover.Report) { r.Names, r.Chosen, r.Open = 19, 19, 19; named(&r.Leftover) }},
		"a fill that the new store has forgotten": {forward, func(t *testing.T, _ *rig, old, new *redis.Client) {
			head := old.LRange(t.Context(), planted, 0, 3).Val() // magic, state, nonce, nonce of the reservation
			require.NoError(t, new.Del(t.Context(), planted).Err())
			require.NoError(t, new.RPush(t.Context(), planted, head[0], "away", head[3], "", "none", "-1", "0").Err())
		}, func(r *cutover.Report) { r.Equal = 19; named(&r.Forgotten) }},
		"a mark that the old store has forgotten, and the key was sent back": {reverse, func(t *testing.T, _ *rig, old, new *redis.Client) {
			head := new.LRange(t.Context(), planted, 0, 3).Val() // magic, state, nonce, nonce of the old store's marker
			require.NoError(t, old.Del(t.Context(), planted).Err())
			require.NoError(t, old.RPush(t.Context(), planted, head[0], "away", head[3], "0.1", "string", "-1", "0", "v").Err())
		}, func(r *cutover.Report) { r.Open = 19; named(&r.Forgotten) }},
		"markers of two moves": {forward, func(t *testing.T, _ *rig, old, new *redis.Client) {
			magic := old.LIndex(t.Context(), planted, 0).Val()
			require.NoError(t, new.Del(t.Context(), planted).Err())
			marker := []any{magic, "away", "2.1", "1.2", "none", "-1", "0"}
			require.NoError(t, new.RPush(t.Context(), planted, marker...).Err())
		}, func(r *cutover.Report) { r.Equal = 19; named(&r.Forgotten) }},
		"an update since": {forward, func(t *testing.T, _ *rig, _, new *redis.Client) {
			require.NoError(t, new.SetArgs(t.Context(), planted, "VALUE OF k7", redis.SetArgs{KeepTTL: true}).Err())
		}, func(r *cutover.Report) { r.Equal, r.ChangedSince = 19, 1 }},
		"another expiry since": {forward, func(t *testing.T, _ *rig, _, new *redis.Client) {
			require.NoError(t, new.Expire(t.Context(), planted, 2*time.Hour).Err())
		}, func(r *cutover.Report) { r.Equal, r.ChangedSince = 19, 1 }},
		"no expiry since": {forward, func(t *testing.T, _ *rig, _, new *redis.Client) {
			require.NoError(t, new.Persist(t.Context(), planted).Err())
		}, func(r *cutover.Report) { r.Equal, r.ChangedSince = 19, 1 }},
		"an update of a hash since": {forward, func(t *testing.T, _ *rig, _, new *redis.Client) {
			require.NoError(t, new.HSet(t.Context(), "k5", "f", "K5").Err())
		}, func(r *cutover.Report) { r.Equal, r.ChangedSince = 19, 1 }},
		"another field since": {forward, func(t *testing.T, _ *rig, _, new *redis.Client) {
			require.NoError(t, new.HDel(t.Context(), "k5", "g").Err())
			require.NoError(t, new.HSet(t.Context(), "k5", "G", "").Err())
		}, func(r *cutover.Report) { r.Equal, r.ChangedSince = 19, 1 }},
		"a deletion since": {forward, func(t *testing.T, _ *rig, _, new *redis.Client) {
			require.NoError(t, new.Del(t.Context(), planted).Err())
		}, func(r *cutover.Report) { r.Equal, r.ChangedSince = 19, 1; named(&r.Missing) }},
		"another type since": {forward, func(t *testing.T, _ *rig, _, new *redis.Client) {
			require.NoError(t, new.Del(t.Context(), planted).Err())
			require.NoError(t, new.SAdd(t.Context(), planted, "a").Err())
		}, func(r *cutover.Report) { r.Equal, r.ChangedSince = 19, 1 }},
		"a store that does not answer for one key": {forward, func(_ *testing.T, r *rig, _, _ *redis.Client) {
			r.proxies[1].Inject(proxytest.Fault{Match: func(args []string) bool { return len(args) > 4 && args[3] == planted },
				Times: -1, Action: proxytest.RefuseWith, Text: "ERR no"})
		}, func(r *cutover.Report) { r.Equal = 19; named(&r.Failed) }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				r.fill(20)
				if p.stage.Phase == cutover.Reverse {
					_, err := r.open(forward).Sweep(t.Context(), r.sweep(16))
					require.NoError(t, err)
				}
				_, err := r.open(p.stage).Sweep(t.Context(), r.sweep(16))
				require.NoError(t, err)
				time.Sleep(time.Minute)
				old, new := r.admin(0), r.admin(1)
				p.do(t, r, old, new)
				want := cutover.Report{Scanned: cutover.Scanned{
					Names: 20, Chosen: 20, Masters: 1, AllMasters: 1, NewMasters: 2, AllNewMasters: 2,
				}}
				p.want(&want)
				got := r.verify(6)
				assert.Equal(t, want.Failed.Count > 0, got.Cause != nil)
				want.Cause = got.Cause
				assert.Equal(t, want, got)
				wrong := want.TwoHomes.Count + want.Unmarked.Count + want.Expiring.Count + want.Forgotten.Count + want.Failed.Count
				assert.Equal(t, wrong, got.Wrong())
			})
		})
	}
}

// Keys that a crash has left on their way are counted with their age.
func TestVerifyTransit(t *testing.T) {
	for _, tc := range []struct {
		way     cutover.Stage
		stop    string
		transit int
	}{{forward, "seal", 0}, {forward, "fill", 8}, {forward, "mark", 8}, {reverse, "fill", 8}, {reverse, "mark", 0}} {
		t.Run(fmt.Sprint(tc.way.Phase, " before ", tc.stop), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				r.fill(8)
				if tc.way.Phase == cutover.Reverse {
					_, err := r.open(forward).Sweep(t.Context(), r.sweep(16))
					require.NoError(t, err)
				}
				r.stopAt(tc.way, tc.stop)
				time.Sleep(time.Minute)
				got := r.verify(3)
				assert.Equal(t, tc.transit, got.Transit.Count)
				assert.Equal(t, 8-tc.transit, got.Open)
				assert.Zero(t, got.Wrong())
				if tc.transit > 0 {
					assert.InDelta(t, time.Minute, got.OldestTransit, float64(15*time.Second))
				}
			})
		})
	}
}

// Verify beside updates and sweeps in both directions finds nothing wrong, and writes nothing.
func TestVerifyBesideMoves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.fill(12)
		ctx, stop := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for _, stage := range []cutover.Stage{forward, reverse} {
			p, cfg := r.open(stage), r.both(4)
			wg.Go(func() {
				for ctx.Err() == nil {
					_, _ = p.Sweep(ctx, cfg)
				}
			})
			wg.Go(func() {
				for i := 0; ctx.Err() == nil; i++ {
					_, _ = p.Update(ctx, rmw.Key{Name: fmt.Sprint("k", 1+i%4)}, add("x"))
				}
			})
		}
		p := r.open(follow)
		chosen := 0
		for range 10 {
			report, err := p.Verify(t.Context(), r.sweep(5))
			require.NoError(t, err)
			assert.Zero(t, report.Wrong(), "%+v", report)
			chosen += report.Open + report.Equal + report.ChangedSince + report.Transit.Count
		}
		assert.Equal(t, 10*12, chosen)
		stop()
		wg.Wait()
	})
}

func TestVerifyWritesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.fill(20)
		_, err := r.open(cutover.Stage{Phase: cutover.Copying, Percent: 50}).Sweep(t.Context(), r.sweep(16))
		require.NoError(t, err)
		for _, p := range r.proxies {
			p.ResetCalls()
		}
		report := r.verify(16)
		assert.Equal(t, 20, report.Open+report.Equal)
		assert.Equal(t, map[string]int{"look": 40, "type": report.Equal}, r.steps())
		for _, p := range r.proxies {
			reads := []string{"HELLO", "CLIENT", "SCAN", "TYPE", "EVALSHA", "EVAL", "PTTL", "STRLEN", "HSCAN", "HLEN", "GET", "HGETALL"}
			for command := range p.Count() {
				assert.Contains(t, reads, command)
			}
		}
	})
}

func TestVerifyEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.fill(20)
		p := r.open(follow)
		r.proxies[1].Down(0)
		r.proxies[1].Down(1)
		report, err := p.Verify(t.Context(), r.sweep(5))
		require.ErrorIs(t, err, rmw.ErrUnavailable)
		assert.Equal(t, 5, report.Failed.Count)
		require.NoError(t, p.Close())
		_, err = p.Verify(t.Context(), r.sweep(5))
		require.ErrorIs(t, err, rmw.ErrClosed)
	})
}
