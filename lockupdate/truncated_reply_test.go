package lockupdate_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
)

// A truncated reply is an error, not an empty value. go-redis returns the zero value with the
// error.
func TestTruncatedReplyIsAnError(t *testing.T) {
	step := 1
	if testing.Short() { // all lengths show the same races
		step = 7
	}
	text := rmw.Key{Name: "s"}
	hash := rmw.Key{Name: "h", Kind: rmw.KindHash}
	for name, test := range map[string]struct {
		cfg   lockupdate.Config
		read  string // the command whose reply is truncated
		key   rmw.Key
		value rmw.Value
	}{
		"a string":                {lockupdate.Config{}, "read", text, rmw.String(strings.Repeat("x", 20))},
		"an empty string":         {lockupdate.Config{}, "read", text, rmw.String("")},
		"no string":               {lockupdate.Config{}, "read", text, rmw.Value{}},
		"a string of a master":    {lockupdate.Config{MasterReads: true}, "get", text, rmw.String(strings.Repeat("x", 20))},
		"a hash":                  {lockupdate.Config{}, "read", hash, rmw.Hash(map[string]string{"f": "v", "g": "w"})},
		"a hash of a master":      {lockupdate.Config{MasterReads: true}, "hgetall", hash, rmw.Hash(map[string]string{"f": "v", "g": "w"})},
		"no hash, of a master":    {lockupdate.Config{MasterReads: true}, "hgetall", hash, rmw.Value{}},
		"a hash of another shape": {lockupdate.Config{}, "read", hash, rmw.Hash(map[string]string{"": ""})},
	} {
		t.Run(name, func(t *testing.T) {
			for keep := 0; keep < 60; keep += step {
				withFixture(t, test.cfg, func(t *testing.T, f *fixture) {
					store(t, f.direct(), test.key, test.value)
					same := func(_ context.Context, cur rmw.Value) (rmw.Value, error) { return cur, nil }
					_, err := f.store.Update(t.Context(), test.key, same) // loads the scripts
					require.NoError(t, err)
					f.waitReleases()
					cut := func(args []string) bool {
						return isScript(test.read)(args) || strings.EqualFold(args[0], test.read)
					}
					f.proxy.Inject(proxytest.Fault{Match: cut, Action: proxytest.DropReply, Keep: keep})
					_, err = f.store.Update(t.Context(), test.key, func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
						assert.True(t, cur.Equal(test.value), "%d bytes: fn was given %v", keep, cur.Exists())
						return cur, nil
					})
					require.NoError(t, err)
					// Reads in one flush.
					f.proxy.Inject(proxytest.Fault{Match: cut, Action: proxytest.DropReply, Keep: keep})
					var all sync.WaitGroup
					for range 5 {
						all.Go(func() {
							v, err := f.store.Read(t.Context(), test.key)
							assert.True(t, err != nil || v.Equal(test.value), "%d bytes: %v was read", keep, v.Exists())
						})
					}
					all.Wait()
				})
			}
		})
	}
}

// store writes a value without the Store.
func store(t *testing.T, rdb *redis.Client, key rmw.Key, v rmw.Value) {
	t.Helper()
	switch {
	case !v.Exists():
	case key.Kind == rmw.KindHash:
		require.NoError(t, rdb.HSet(t.Context(), key.Name, v.Fields()).Err())
	default:
		require.NoError(t, rdb.Set(t.Context(), key.Name, v.Text(), 0).Err())
	}
}
