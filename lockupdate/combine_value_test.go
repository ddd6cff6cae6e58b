package lockupdate_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/rmw"
)

// randomFn returns an fn that writes, deletes or keeps the value, with a random expiry.
func randomFn(rng *rand.Rand, kind rmw.Kind) (name string, fn rmw.UpdateFunc) {
	ttl := []time.Duration{0, 0, 0, rmw.NoTTL, time.Minute, time.Hour}[rng.IntN(6)]
	what := []string{"set", "set", "same", "delete", "delete", "keep"}[rng.IntN(6)]
	x := fmt.Sprint(rng.IntN(3))
	return fmt.Sprint(what, x, ttl), func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
		switch {
		case what == "delete":
			return rmw.Value{}, nil
		case what == "keep":
			return cur, nil
		case what == "same":
			return cur.WithTTL(ttl), nil
		case kind == rmw.KindHash:
			return cur.Without("0").With("f"+x, x).With(x, "").WithTTL(ttl), nil
		}
		return rmw.String(x).WithTTL(ttl), nil
	}
}

// finalValue runs the fns as one batch, on no value or on one with ten minutes to live. It returns
// the stored value and its expiry.
func finalValue(t *testing.T, cfg lockupdate.Config, kind rmw.Kind, before bool, fns []rmw.UpdateFunc) (v rmw.Value, pttl time.Duration) {
	withFixture(t, cfg, func(t *testing.T, f *fixture) {
		key := rmw.Key{Name: "s", Kind: kind, TTL: 10 * time.Minute}
		if before {
			_, err := f.store.Update(t.Context(), key, func(context.Context, rmw.Value) (rmw.Value, error) {
				if kind == rmw.KindHash {
					return rmw.Hash(map[string]string{"0": "", "f0": "0"}), nil
				}
				return rmw.String("0"), nil
			})
			require.NoError(t, err)
		}
		key.TTL = 0
		lockupdate.Settle(f.store)
		for _, call := range f.runBatch(key, fns...) {
			require.NoError(t, call.err)
		}
		var err error
		v, err = f.store.Read(t.Context(), key)
		require.NoError(t, err)
		pttl = f.direct().PTTL(t.Context(), key.Name).Val()
	})
	return v, pttl
}

// A batch leaves the same value, fields and expiry as separate updates.
func TestBatchEqualsSequentialUpdates(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range 40 {
		kind := rmw.Kind(i % 2)
		var names []string
		var fns []rmw.UpdateFunc
		for range 2 + rng.IntN(4) {
			name, fn := randomFn(rng, kind)
			names, fns = append(names, name), append(fns, fn)
		}
		before := rng.IntN(3) > 0
		v1, ttl1 := finalValue(t, lockupdate.Config{}, kind, before, fns)
		v2, ttl2 := finalValue(t, lockupdate.Config{NoCombining: true}, kind, before, fns)
		label := fmt.Sprint(kind, " ", before, " ", strings.Join(names, ", "))
		assert.True(t, v1.Equal(v2), label)
		assert.Equal(t, ttl2, ttl1, label)
	}
}

// Keys that share a lock, and kinds that share a key, wait for each other. Each call gets its own
// value, and rmw.ErrWrongKind only for its own mismatch.
func TestKeysShareALock(t *testing.T) {
	for name, cfg := range map[string]lockupdate.Config{
		"combining": {}, "no combining": {NoCombining: true}, "linger": {Linger: 5 * time.Millisecond},
	} {
		bubble(t, name, func(t *testing.T) {
			cfg := cfg
			cfg.LockName = func(string) string { return "/one/lock" }
			f := newFixture(t, cfg)
			f.slow(100 * time.Microsecond)
			hash := rmw.Key{Name: "h", Kind: rmw.KindHash}
			f.update(hash, setField("f", ""))
			const each = 10
			var wg sync.WaitGroup
			for g := range 3 {
				for _, name := range []string{"a", "b"} {
					wg.Go(func() {
						for range each {
							_, err := f.store.Update(t.Context(), rmw.Key{Name: name}, appendText(name))
							assert.NoError(t, err)
						}
					})
				}
				wg.Go(func() {
					for i := range each {
						_, err := f.store.Update(t.Context(), hash, setField(fmt.Sprint(g, i), ""))
						assert.NoError(t, err)
					}
				})
				wg.Go(func() {
					for range each {
						_, err := f.store.Update(t.Context(), rmw.Key{Name: "h"}, appendText("x"))
						assert.ErrorIs(t, err, rmw.ErrWrongKind)
					}
				})
			}
			wg.Wait()
			assert.Equal(t, strings.Repeat("a", 3*each), f.text(rmw.Key{Name: "a"}))
			assert.Equal(t, strings.Repeat("b", 3*each), f.text(rmw.Key{Name: "b"}))
			v, err := f.store.Read(t.Context(), hash)
			require.NoError(t, err)
			assert.Equal(t, 1+3*each, v.Len())
		})
	}
}

// A caller leaves while the holder reads its key for it. Queued calls of the previous key must not
// be lost, nor written to that key.
func TestCallerLeavesWhileItsKeyIsRead(t *testing.T) {
	withFixture(t, lockupdate.Config{LockName: func(string) string { return "/one/lock" }}, func(t *testing.T, f *fixture) {
		a, b := rmw.Key{Name: "a"}, rmw.Key{Name: "b"}
		f.warm(a)
		gate := make(chan struct{})
		first := start(t.Context(), f.store, a, until(gate, appendText("1,")))
		unblock := f.block("read")
		ctx, cancel := context.WithCancel(t.Context())
		leaver := start(ctx, f.store, b, appendText("x,"))
		close(gate)
		<-first.done
		synctest.Wait() // the read of b is in flight
		cancel()
		<-leaver.done
		last := start(t.Context(), f.store, a, appendText("2,"))
		unblock()
		select {
		case <-last.done:
		case <-time.After(time.Minute):
			t.Fatal("the last call never returns")
		}
		require.NoError(t, last.err)
		assert.Equal(t, "www1,2,", f.text(a))
		assert.Equal(t, "", f.text(b))
	})
}
