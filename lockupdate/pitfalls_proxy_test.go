package lockupdate_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
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

// busyKeys has several processes update keys and contend for locks.
func (f *fixture) busyKeys(processes int) {
	var wg sync.WaitGroup
	for range processes {
		s := f.another(lockupdate.Config{Lease: time.Second})
		wg.Go(func() {
			for i := range 4 {
				_, err := s.Update(f.t.Context(), rmw.Key{Name: "s"}, appendText("x"))
				assert.NoError(f.t, err)
				_, err = s.Update(f.t.Context(), rmw.Key{Name: "h", Kind: rmw.KindHash}, setField("f", fmt.Sprint(i)))
				assert.NoError(f.t, err)
				assert.NoError(f.t, s.WithLocks(f.t.Context(), []string{"a", "b", "s"}, func(context.Context) error {
					time.Sleep(600 * time.Millisecond) // one renewal
					return nil
				}))
			}
		})
	}
	wg.Wait()
}

// Pub/sub and scripts with several keys do not work behind a proxy, or only while all keys are on
// one server (redisson#2338, redisson#2541, redisson#4989, redisson#6867, redisson#7116).
// lockupdate sends only scripts with one key.
func TestPitfall10PubSubAndMultiKey(t *testing.T) {
	for _, profile := range []*proxycompat.Profile{proxycompat.Codis32(), proxycompat.Twemproxy05()} {
		t.Run(profile.Name(), func(t *testing.T) {
			for _, theirs := range [][]string{
				{"SUBSCRIBE", "redisson_lock__channel:{s}"}, {"PUBLISH", "redisson_lock__channel:{s}", "0"},
				{"EVAL", "return 1", "2", "lock:a", "lock:b"}, {"WATCH", "s"}, {"MULTI"}, {"SCRIPT", "LOAD", "return 1"},
			} {
				require.Error(t, profile.Check(theirs...), "control: the pitfall exists: %v", theirs)
			}
			synctest.Test(t, func(t *testing.T) {
				f := newFixtureOn(t, profile, lockupdate.Config{})
				f.busyKeys(4)
				for _, c := range f.proxy.Calls() {
					require.NoError(t, profile.Check(c.Args...))
					require.Contains(t, []string{"EVAL", "EVALSHA"}, c.Command())
					require.Equal(t, "1", c.Args[2], "one key")
				}
				sent := f.calls()
				for _, script := range []string{"acquire", "renew", "release", "read", "commit_string", "commit_hash"} {
					assert.Contains(t, sent, script)
				}
			})
		})
	}
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
// for the reply to the commit.
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
	bubble(t, "release after commit", func(t *testing.T) {
		f := newFixtureBehind(t, reordering, lockupdate.Config{})
		key := f.warmKey()
		unblock := f.block("commit_string")
		done := make(chan error, 1)
		go func() {
			_, err := f.store.Update(t.Context(), key, appendText("x"))
			done <- err
		}()
		synctest.Wait()
		assert.Equal(t, []string{"read", "acquire"}, f.calls(), "and nothing else but the commit")
		assert.EqualValues(t, 1, f.direct().Exists(t.Context(), lock+"s").Val())
		unblock()
		require.NoError(t, <-done)
		f.waitReleases()
		assert.False(t, f.hasLock("s"))
	})
	bubble(t, "many writers", func(t *testing.T) {
		f := newFixtureBehind(t, reordering, lockupdate.Config{})
		var acks ackLog
		var wg sync.WaitGroup
		for w := range 4 {
			s := f.another(lockupdate.Config{})
			for g := range 4 {
				wg.Go(func() {
					for i := range 10 {
						id := fmt.Sprintf("%d-%d-%d,", w, g, i)
						if _, err := s.Update(t.Context(), rmw.Key{Name: "s"}, appendText(id)); assert.NoError(t, err) {
							acks.add(id)
						}
					}
				})
			}
		}
		wg.Wait()
		acked, lost := acks.audit(f.text(rmw.Key{Name: "s"}))
		assert.Equal(t, 160, acked)
		assert.Zero(t, lost)
	})
}

// A published release goes to every node of a cluster and wakes every waiter. In redisson#3349, a
// million locks a minute saturated 20 nodes. lockupdate publishes nothing, and a release is one
// command for any number of waiters.
func TestPitfall17Broadcast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixtureOn(t, proxycompat.Redis(), lockupdate.Config{})
		sub := f.proxy.Engine(0).NewSubscriber()
		sub.Psubscribe("*")
		var heard atomic.Int64
		var listening sync.WaitGroup
		listening.Go(func() {
			for range sub.Pmessages() {
				heard.Add(1)
			}
		})
		f.proxy.Engine(0).Publish("control", "hello")
		synctest.Wait()
		require.EqualValues(t, 1, heard.Load(), "control")

		f.warm(rmw.Key{Name: "s"})
		f.busyKeys(4)
		l := f.lockAll("s")[0]
		var waiting sync.WaitGroup
		for range 10 {
			waiter := f.another(lockupdate.Config{Poll: rmw.Backoff{Base: time.Minute, Max: time.Minute}, Lease: time.Second})
			waiting.Go(func() { assert.NoError(t, waiter.WithLock(t.Context(), "s", nothing)) })
		}
		synctest.Wait()
		f.proxy.ResetCalls()
		require.NoError(t, l.Unlock())
		synctest.Wait()
		assert.Equal(t, []string{"release"}, f.calls())
		waiting.Wait()
		assert.EqualValues(t, 1, heard.Load(), "nothing but the control was published")
		sub.Close()
		listening.Wait()
	})
}
