package cas_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/cas"
	"github.com/unwatch/unwatch/rmw"
)

// The price of an update is counted, not timed.
func TestBudget(t *testing.T) {
	text := rmw.Key{Name: "s"}
	hash := rmw.Key{Name: "h", Kind: rmw.KindHash}
	stored := rmw.Hash(map[string]string{"f": "1", "g": "2"})
	for name, tc := range map[string]struct {
		key        rmw.Key
		fn         rmw.UpdateFunc
		roundTrips int64
		commands   []string
	}{
		"string":    {text, appendText("y"), 3, []string{"WATCH", "GET", "MULTI", "SET", "EXEC"}},
		"delete":    {text, set(rmw.Value{}), 3, []string{"WATCH", "GET", "MULTI", "DEL", "EXEC"}},
		"hash":      {hash, set(stored.With("f", "3")), 3, []string{"WATCH", "HGETALL", "MULTI", "HMSET", "EXEC"}},
		"set, hdel": {hash, set(stored.With("f", "3").Without("g")), 3, []string{"WATCH", "HGETALL", "MULTI", "HMSET", "HDEL", "EXEC"}},
		"unchanged": {text, keep, 3, []string{"WATCH", "GET", "UNWATCH"}},
		"aborted":   {hash, abort, 3, []string{"WATCH", "HGETALL", "UNWATCH"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t, cas.Config{})
				f.set(text, "x")
				require.NoError(t, f.other.HSet(t.Context(), hash.Name, stored.Fields()).Err())
				f.warm()
				start := f.meter.Read()
				_, _ = f.store.Update(t.Context(), tc.key, tc.fn)
				require.NoError(t, f.store.Close()) // what goes on behind the answer
				assert.Equal(t, tc.roundTrips, f.meter.Read().Sub(start).RoundTrips)
				assert.Equal(t, tc.commands, f.commands())
			})
		})
	}
}
