package lockupdate_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
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
// the stored value, its expiry, and the number of commits.
func finalValue(
	t *testing.T, cfg lockupdate.Config, kind rmw.Kind, before bool, fns []rmw.UpdateFunc,
) (v rmw.Value, pttl time.Duration, commits int) {
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
		f.settle()
		for _, call := range f.runBatch(key, fns...) {
			require.NoError(t, call.err)
		}
		commits = f.sent()["commit_string"] + f.sent()["commit_hash"]
		var err error
		v, err = f.store.Read(t.Context(), key)
		require.NoError(t, err)
		pttl = f.direct().PTTL(t.Context(), key.Name).Val()
	})
	return v, pttl, commits
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
		v1, ttl1, _ := finalValue(t, lockupdate.Config{}, kind, before, fns)
		v2, ttl2, _ := finalValue(t, lockupdate.Config{NoCombining: true}, kind, before, fns)
		label := fmt.Sprint(kind, " ", before, " ", strings.Join(names, ", "))
		assert.True(t, v1.Equal(v2), label)
		assert.Equal(t, ttl2, ttl1, label)
	}
	back := []rmw.UpdateFunc{returning(rmw.String("1")), returning(rmw.String("0"))}
	_, _, commits := finalValue(t, lockupdate.Config{}, rmw.KindString, true, back)
	assert.Zero(t, commits, "a value that was changed back is not written")
}

// Calls of other kinds that share a key get rmw.ErrWrongKind only for their own mismatch.
func TestKindsShareAKey(t *testing.T) {
	withFixture(t, lockupdate.Config{}, func(t *testing.T, f *fixture) {
		key := rmw.Key{Name: "h", Kind: rmw.KindHash}
		f.update(key, setField("f", ""))
		proceed, hash := f.enqueue(key, setField("g", ""))
		text := start(t.Context(), f.store, rmw.Key{Name: "h"}, appendText("x"))
		proceed()
		<-hash[0].done
		<-text.done
		require.NoError(t, hash[0].err)
		require.ErrorIs(t, text.err, rmw.ErrWrongKind)
	})
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
