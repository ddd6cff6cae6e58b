package lockupdate_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
)

// The files pitfalls_*_test.go have one test for each known pitfall of other lock libraries.
// "repo#n" is an issue that reports it. Pitfall 20, a write that drops the TTL (lettuce#1234,
// valkey-admin#488), is guarded by the ttl clauses of rmwtest.

func increment(_ context.Context, cur rmw.Value) (rmw.Value, error) {
	n, _ := strconv.Atoi(cur.Text())
	return rmw.String(strconv.Itoa(n + 1)), nil
}

// retryingClient is a client that retries commands that forbid it.
type retryingClient struct{ *redis.Client }

func (c retryingClient) Process(ctx context.Context, cmd redis.Cmder) error {
	plain := redis.NewCmd(ctx, cmd.Args()...)
	err := c.Client.Process(ctx, plain)
	cmd.(interface{ SetVal(val any) }).SetVal(plain.Val())
	cmd.SetErr(err)
	return err
}

// If a client retries a compare-and-set whose reply was lost, the retry is refused because of the
// first try. The caller then applies the update twice (go-redis#1551, go-redis#2339, jedis#3187,
// redis-rb#668). Commands of lockupdate forbid retries, and a lost reply is rmw.ErrOutcomeUnknown.
func TestPitfall01ClientRetryDoubleApplies(t *testing.T) {
	lostReply := func(t *testing.T, wrap func(rdb *redis.Client) lockupdate.Commands) (n string, err error) {
		f := newFixture(t, lockupdate.Config{})
		key := rmw.Key{Name: "counter"}
		opts := f.proxy.Options()
		opts.MaxRetries = 3 // the default of go-redis
		rdb := redis.NewClient(opts)
		store := lockupdate.New(wrap(rdb), lockupdate.Config{})
		for range 10 {
			_, err := store.Update(t.Context(), key, increment)
			require.NoError(t, err)
		}
		f.proxy.Inject(proxytest.Fault{Match: isScript("commit_string"), Action: proxytest.DropReply})
		_, err = store.Update(t.Context(), key, increment)
		require.NoError(t, store.Close())
		require.NoError(t, rdb.Close())
		return f.text(key), err
	}
	synctest.Test(t, func(t *testing.T) {
		n, err := lostReply(t, func(rdb *redis.Client) lockupdate.Commands { return rdb })
		assert.Equal(t, "11", n)
		require.ErrorIs(t, err, rmw.ErrOutcomeUnknown)
	})
	synctest.Test(t, func(t *testing.T) {
		n, err := lostReply(t, func(rdb *redis.Client) lockupdate.Commands { return retryingClient{rdb} })
		assert.Equal(t, "12", n, "control: the pitfall exists")
		require.NoError(t, err, "control")
	})
}

// An acquire whose reply was lost holds the lock. The retry waits for it, or an error leaves it for
// a whole lease (node-redlock#369, sim#6864, openlinker#2717). The script of lockupdate recognises
// its owner, and a failed call releases.
func TestPitfall02LostAcquireReplyBlocksItself(t *testing.T) {
	for _, s := range append([]nativeStore{{commit: lockupdate.CommitGuarded}}, nativeStores...) {
		for _, lost := range []int{1, 2, 3} {
			bubble(t, fmt.Sprint(s.commit, lost), func(t *testing.T) {
				cfg := lockupdate.Config{Lease: 10 * time.Second, Commit: s.commit}
				f, key := warmFixture(t, cfg)
				other := f.another(cfg)
				f.proxy.Inject(proxytest.Fault{Match: isRequest("acquire"), Times: lost, Action: proxytest.DropReply})
				began := time.Now()
				res, err := f.store.Update(t.Context(), key, appendText("x"))
				if lost < 3 {
					require.NoError(t, err)
					assert.Zero(t, res.Waited, "the retry must not wait for its own lock")
				} else {
					require.ErrorIs(t, err, rmw.ErrUnavailable)
				}
				_, err = other.Update(t.Context(), key, appendText("y"))
				require.NoError(t, err)
				assert.Less(t, time.Since(began), 300*time.Millisecond)
				lockupdate.Settle(other)
				assert.False(t, f.hasLock("s"))
			})
		}
	}
}

// A release with the canceled ctx of its caller is not sent, and the lock stays for its lease
// (open-match#1578, blnk#355, ncps#913, authgear#5721). The same happens without a retry
// (redis-py#3847). lockupdate releases with its own ctx.
func TestPitfall03ReleaseWithACancelledCtx(t *testing.T) {
	for name, use := range map[string]func(ctx context.Context, s *lockupdate.Store, leave func()) error{
		"Update": func(ctx context.Context, s *lockupdate.Store, leave func()) error {
			_, err := s.Update(ctx, rmw.Key{Name: "s"}, duringFirstCall(leave, appendText("x")))
			return err
		},
		"commit": func(ctx context.Context, s *lockupdate.Store, leave func()) error {
			_, err := s.Update(ctx, rmw.Key{Name: "s"}, func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
				time.AfterFunc(time.Millisecond, leave) // while the commit is in flight
				return cur.WithTTL(time.Hour), nil
			})
			return err
		},
		"WithLock": func(ctx context.Context, s *lockupdate.Store, leave func()) error {
			return s.WithLock(ctx, "s", func(ctx context.Context) error { leave(); return ctx.Err() })
		},
		"Lock": func(ctx context.Context, s *lockupdate.Store, leave func()) error {
			l, err := s.Lock(ctx, "s")
			if err != nil {
				return err
			}
			leave()
			return l.Unlock()
		},
	} {
		bubble(t, name, func(t *testing.T) {
			f := newFixture(t, lockupdate.Config{Lease: 10 * time.Second})
			other := f.another(lockupdate.Config{})
			f.warm(rmw.Key{Name: "s"})
			f.proxy.Inject(proxytest.Fault{Match: isScript("commit_string"), Action: proxytest.Delay, Delay: 2 * time.Millisecond})
			f.proxy.Inject(proxytest.Fault{Match: isScript("release"), Times: 2, Action: proxytest.DropRequest})
			ctx, cancel := context.WithCancel(t.Context())
			began := time.Now()
			err := use(ctx, f.store, cancel)
			assert.Error(t, ctx.Err())
			assert.Equal(t, name != "Lock", err != nil, err)
			require.NoError(t, other.WithLock(t.Context(), "s", nothing))
			assert.Less(t, time.Since(began), 300*time.Millisecond)
		})
	}
}

// A watchdog that renews after the unlock, or for a dead holder, keeps a lock that has no holder
// (redisson#7272, redisson#1966, redisson#4368, redisson#4178). In lockupdate, renewal ends before
// the release, which waits for a renewal in flight, however fn ends.
func TestPitfall04RenewalAfterUnlock(t *testing.T) {
	for name, end := range map[string]func(){
		"returns": func() {},
		"panics":  func() { panic("a bug") },
		"exits":   runtime.Goexit,
	} {
		bubble(t, name, func(t *testing.T) {
			const lease = 10 * time.Second
			f := newFixture(t, lockupdate.Config{Lease: lease})
			f.warm(rmw.Key{Name: "s"})
			f.proxy.Inject(proxytest.Fault{Match: isScript("renew"), Action: proxytest.Delay, Delay: lease / 5})
			done := make(chan struct{})
			go func() {
				defer close(done)
				defer func() { _ = recover() }()
				_ = f.store.WithLock(t.Context(), "s", func(context.Context) error {
					time.Sleep(lease * 6 / 10) // a renewal is in flight
					end()
					return nil
				})
			}()
			<-done
			f.waitReleases()
			assert.Equal(t, []string{"acquire", "renew", "release"}, slices.Compact(f.calls()))
			f.proxy.ResetCalls()
			time.Sleep(3 * lease)
			assert.Empty(t, f.calls())
			assert.False(t, f.hasLock("s"))
		})
	}
}
