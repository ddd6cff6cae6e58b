package lockupdate_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
)

// After a failover or a slot migration, a server answers NOSCRIPT, and a client does not retry that
// in a pipeline. Proxies refuse SCRIPT LOAD, or send it to any server (go-redis#3228,
// redis-py#4206, codis#526, codis#1368). lockupdate sends each such call again as EVAL.
func TestPitfall09NoScriptInPipelines(t *testing.T) {
	withKey(t, lockupdate.Config{Lease: 10 * time.Second}, func(t *testing.T, f *fixture, key rmw.Key) {
		f.forgetScripts()
		pipe := f.rdb.Pipeline()
		ran := redis.NewScript("return 1").Run(t.Context(), pipe, []string{"s"})
		_, _ = pipe.Exec(t.Context())
		require.ErrorContains(t, ran.Err(), "NOSCRIPT", "control: the pitfall exists")
		f.proxy.ResetCalls()

		// Acquire and read, renewals, commit and release, each after one or both servers
		// lost their script caches.
		for round := range 4 {
			forget := func() {
				for backend := range 2 {
					if round&(backend+1) == 0 {
						require.NoError(t, f.proxy.FlushScripts(backend))
					}
				}
			}
			forget()
			err := f.store.WithLocks(t.Context(), []string{"a", "b", "c"}, func(ctx context.Context) error {
				res, err := f.store.Update(ctx, key, duringFirstCall(func() {
					forget()
					time.Sleep(20 * time.Second) // four renewals
					forget()
				}, appendText("x")))
				assert.Equal(t, 1, res.Attempts)
				return err
			})
			require.NoError(t, err)
			f.waitReleases()
		}
		assert.Equal(t, "wwwxxxx", f.text(key))
		assert.Positive(t, f.proxy.Count()["EVAL"])
		assert.Zero(t, f.proxy.Count()["SCRIPT"])
	})
}

// Proxies refuse the handshake of go-redis, or break shared connections because of it
// (go-redis#2616, go-redis#2792, go-redis#3536, go-redis#3853). With proxycompat.Options, go-redis
// sends none.
func TestPitfall11HandshakeCommands(t *testing.T) {
	for _, profile := range []*proxycompat.Profile{proxycompat.Codis32(), proxycompat.Twemproxy05()} {
		firstUpdate := func(t *testing.T, options func(f *fixture) *redis.Options) (sent map[string]int, err error) {
			f := newFixtureOn(t, profile, lockupdate.Config{})
			rdb := redis.NewClient(options(f))
			store := lockupdate.New(rdb, lockupdate.Config{})
			_, err = store.Update(t.Context(), rmw.Key{Name: "s"}, appendText("x"))
			closed := store.Close()
			assert.NoError(t, rdb.Close())
			return f.proxy.Count(), errors.Join(err, closed)
		}
		t.Run(profile.Name(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sent, err := firstUpdate(t, func(f *fixture) *redis.Options {
					opts := proxycompat.Options(profile, f.proxy.Addr())
					opts.Dialer = proxycompat.HelloDialer(f.proxy.Dial)
					return opts
				})
				require.NoError(t, err)
				assert.Equal(t, map[string]int{"EVAL": 4, "EVALSHA": 4}, sent)
			})
			synctest.Test(t, func(t *testing.T) {
				sent, err := firstUpdate(t, func(f *fixture) *redis.Options {
					return &redis.Options{Addr: f.proxy.Addr(), Dialer: f.proxy.Dial}
				})
				assert.Positive(t, sent["HELLO"], "control: the pitfall exists")
				if profile.Name() == "twemproxy" {
					require.Error(t, err, "control")
				}
			})
		})
	}
}

// A proxy may reorder the commands of a pipeline (pikiwidb#2174, which is Codis): a read before its
// acquire, or a release before its commit. The guard makes the first harmless. The release waits
// for the reply to the commit: see TestUnknownIsCountedAndLogsNoValue.
func TestPitfall15PipelineOrder(t *testing.T) {
	reordering := proxytest.Config{Engines: 2, Reorder: true}
	bubble(t, "read before acquire", func(t *testing.T) {
		f := newFixtureBehind(t, reordering, lockupdate.Config{})
		key := f.warmKey()
		other := f.another(lockupdate.Config{})
		f.proxy.Inject(proxytest.Fault{Match: isScript("acquire"), Do: func() {
			_, err := other.Update(t.Context(), key, appendText("+theirs"))
			assert.NoError(t, err)
			lockupdate.Settle(other)
		}})
		res := f.update(key, appendText("+mine"))
		assert.Zero(t, res.Waited, "control: the lock was free")
		assert.Equal(t, 2, res.Attempts, "control: the value was read before the acquire")
		assert.Equal(t, "www+theirs+mine", f.text(key))
	})
	bubble(t, "many writers", func(t *testing.T) {
		none := func(*testing.T, *proxytest.Proxy) (end func()) { return func() {} }
		acked, lost, _ := runWriters(t, reordering, []string{"s"}, 40, none, func(rdb *redis.Client) rmw.Updater {
			s := lockupdate.New(rdb, lockupdate.Config{})
			t.Cleanup(func() { require.NoError(t, s.Close()) })
			return s
		})
		assert.Equal(t, 160, acked)
		assert.Zero(t, lost)
	})
}
