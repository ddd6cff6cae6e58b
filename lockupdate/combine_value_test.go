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

// change is an fn out of a few that matter to values and their expiry.
func change(rng *rand.Rand, kind rmw.Kind) (name string, fn rmw.UpdateFunc) {
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

// left is what a sequence of updates leaves of a value that had ten minutes to live.
func left(t *testing.T, cfg lockupdate.Config, kind rmw.Kind, before bool, fns []rmw.UpdateFunc) (v rmw.Value, pttl time.Duration) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, cfg)
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
		for _, fate := range f.together(key, fns...) {
			require.NoError(t, fate.err)
		}
		var err error
		v, err = f.store.Read(t.Context(), key)
		require.NoError(t, err)
		pttl = f.direct().PTTL(t.Context(), key.Name).Val()
	})
	return v, pttl
}

// A group leaves the value, the fields and the expiry that its members leave one by one.
func TestGroupsLeaveWhatTheirMembersLeave(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range 40 {
		kind := rmw.Kind(i % 2)
		var names []string
		var fns []rmw.UpdateFunc
		for range 2 + rng.IntN(4) {
			name, fn := change(rng, kind)
			names, fns = append(names, name), append(fns, fn)
		}
		before := rng.IntN(3) > 0
		v1, ttl1 := left(t, lockupdate.Config{}, kind, before, fns)
		v2, ttl2 := left(t, lockupdate.Config{NoCombining: true}, kind, before, fns)
		says := fmt.Sprint(kind, " ", before, " ", strings.Join(names, ", "))
		assert.True(t, v1.Equal(v2), says)
		assert.Equal(t, ttl2, ttl1, says)
	}
}

// Keys that share a lock, and kinds that share a key, wait for each other and each get
// their own: only who asks for the wrong kind is told so.
func TestSharedLock(t *testing.T) {
	for name, cfg := range map[string]lockupdate.Config{
		"combining": {}, "no combining": {NoCombining: true}, "keep": {Linger: 5 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cfg := cfg
				cfg.LockName = func(string) string { return "/one/lock" }
				f := newFixture(t, cfg)
				f.slow(100 * time.Microsecond)
				hash := rmw.Key{Name: "h", Kind: rmw.KindHash}
				_, err := f.store.Update(t.Context(), hash, setField("f", ""))
				require.NoError(t, err)
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
		})
	}
}

// One whose turn would be next leaves while the value of its key is being read. Then
// those of the key before it must neither be lost nor be written to that key.
func TestLeavingWhileTheNextKeyIsRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, lockupdate.Config{LockName: func(string) string { return "/one/lock" }})
		a, b := rmw.Key{Name: "a"}, rmw.Key{Name: "b"}
		f.warm(a)
		gate := make(chan struct{})
		first := start(t.Context(), f.store, a, until(gate, appendText("1,")))
		letGo := f.holdUp("read")
		ctx, cancel := context.WithCancel(t.Context())
		leaver := start(ctx, f.store, b, appendText("x,"))
		close(gate)
		<-first.done
		synctest.Wait() // b is being read
		cancel()
		<-leaver.done
		last := start(t.Context(), f.store, a, appendText("2,"))
		letGo()
		select {
		case <-last.done:
		case <-time.After(time.Minute):
			t.Fatal("the last one is never answered")
		}
		require.NoError(t, last.err)
		assert.Equal(t, "www1,2,", f.text(a))
		assert.Equal(t, "", f.text(b))
	})
}
