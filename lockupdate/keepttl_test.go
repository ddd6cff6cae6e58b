package lockupdate_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/rmw"
)

// A commit keeps the expiry by KEEPTTL. A server before Redis 6 refuses that. Then the script finds
// the expiry itself in the same round trip, and later commits of the Store do so at once.
func TestKeepTTL(t *testing.T) {
	for version, asks := range map[string][]string{
		"5.0": {"keepttl", "keep", "keep"},
		"3.2": {"keepttl", "keep", "keep"},
		"6.0": {"keepttl", "keepttl", "keepttl"},
	} {
		t.Run(version, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				profile, err := proxycompat.Redis().Over(version)
				require.NoError(t, err)
				f := newFixtureOn(t, profile, lockupdate.Config{})
				rdb := f.direct()
				require.NoError(t, rdb.Set(t.Context(), "mortal", "a", time.Hour).Err())
				require.NoError(t, rdb.Set(t.Context(), "immortal", "a", 0).Err())
				require.NoError(t, rdb.Set(t.Context(), "last moment", "a", time.Minute+time.Millisecond).Err())
				_, err = f.another(lockupdate.Config{}).Update(t.Context(), rmw.Key{Name: "s"}, appendText("loads the scripts"))
				require.NoError(t, err)
				time.Sleep(time.Minute)

				var asked []string
				for _, key := range []string{"mortal", "last moment", "immortal"} {
					f.proxy.ResetCalls()
					res := f.update(rmw.Key{Name: key}, appendText("b"))
					assert.Equal(t, 1, res.Attempts)
					f.waitReleases()
					assert.Equal(t, "ab", rdb.Get(t.Context(), key).Val())
					for _, c := range f.proxy.Calls() {
						if lockupdate.ScriptName(c.Args) == "commit_string" {
							asked = append(asked, c.Args[4])
						}
					}
				}
				assert.Equal(t, asks, asked, "one commit each")
				assert.Equal(t, 59*time.Minute, rdb.PTTL(t.Context(), "mortal").Val())
				assert.Equal(t, time.Millisecond, rdb.PTTL(t.Context(), "last moment").Val())
				assert.EqualValues(t, -1, rdb.PTTL(t.Context(), "immortal").Val())
				time.Sleep(time.Millisecond)
				assert.Zero(t, rdb.Exists(t.Context(), "last moment").Val())
			})
		})
	}
}
