package cas_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/cas"
	"github.com/unwatch/unwatch/rmw"
)

// The price of a call is counted, not timed.
func TestBudget(t *testing.T) {
	type call = func(ctx context.Context, s *cas.Store)
	update := func(key rmw.Key, fn rmw.UpdateFunc) call {
		return func(ctx context.Context, s *cas.Store) { _, _ = s.Update(ctx, key, fn) }
	}
	peek := func(key rmw.Key) call {
		return func(ctx context.Context, s *cas.Store) { _, _, _ = s.Peek(ctx, key) }
	}
	hash := rmw.Key{Name: "h", Kind: rmw.KindHash}
	stored := rmw.Hash(map[string]string{"f": "1", "g": "2"})
	for name, tc := range map[string]struct {
		call       call
		roundTrips int64
		commands   []string
	}{
		"string": {update(key, appendText("y")), 3, []string{"WATCH", "GET", "MULTI", "SET", "EXEC"}},
		"delete": {update(key, set(rmw.Value{})), 3, []string{"WATCH", "GET", "MULTI", "DEL", "EXEC"}},
		"hash":   {update(hash, set(stored.With("f", "3"))), 3, []string{"WATCH", "HGETALL", "MULTI", "HMSET", "EXEC"}},
		"set, hdel": {
			update(hash, set(stored.With("f", "3").Without("g"))), 3, []string{"WATCH", "HGETALL", "MULTI", "HMSET", "HDEL", "EXEC"},
		},
		"unchanged":   {update(key, keep), 3, []string{"WATCH", "GET", "UNWATCH"}},
		"aborted":     {update(hash, abort), 3, []string{"WATCH", "HGETALL", "UNWATCH"}},
		"peek string": {peek(key), 1, []string{"MULTI", "PTTL", "GET", "EXEC"}},
		"peek hash":   {peek(hash), 1, []string{"MULTI", "PTTL", "HGETALL", "EXEC"}},
		"peek absent": {peek(rmw.Key{Name: "none"}), 1, []string{"MULTI", "PTTL", "GET", "EXEC"}},
	} {
		t.Run(name, withFixture(cas.Config{}, func(t *testing.T, f *fixture) {
			f.set("x")
			require.NoError(t, f.other.HSet(t.Context(), hash.Name, stored.Fields()).Err())
			peek(key)(t.Context(), f.store)          // pipelines have connections of their own
			update(hash, keep)(t.Context(), f.store) // the first one asks whether fields expire
			synctest.Wait()
			f.warm()
			start := f.meter.Read()
			tc.call(t.Context(), f.store)
			require.NoError(t, f.store.Close()) // what goes on behind the answer
			assert.Equal(t, tc.roundTrips, f.meter.Read().Sub(start).RoundTrips)
			assert.Equal(t, tc.commands, f.commands())
		}))
	}
}

// A Store that has not watched a key yet tries that at its first Peek, once; an update is as good.
func TestFirstPeek(t *testing.T) {
	for first, fn := range map[string]rmw.UpdateFunc{"peek": nil, "update": keep} {
		t.Run(first, withFixture(cas.Config{}, func(t *testing.T, f *fixture) {
			if fn != nil {
				_, err := f.store.Update(t.Context(), key, fn)
				require.NoError(t, err)
			}
			for range 3 {
				_, _, err := f.store.Peek(t.Context(), key)
				require.NoError(t, err)
			}
			assert.Equal(t, 1, f.proxy.Count()["WATCH"])
		}))
	}
}
