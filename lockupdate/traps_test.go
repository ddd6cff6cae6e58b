package lockupdate_test

import (
	"context"
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

// The files traps_*_test.go provoke, one test for each, the traps that users of other
// lock libraries fell into. "repo#n" is the report of one who did.

// timesSent returns how often the proxy was sent a script.
func (f *fixture) timesSent(script string) int {
	n := 0
	for _, name := range f.calls() {
		if name == script {
			n++
		}
	}
	return n
}

// isFree reports whether the lock of a key does not exist.
func (f *fixture) isFree(name string) bool {
	return f.direct().Exists(f.t.Context(), lock+name).Val() == 0
}

func increment(_ context.Context, cur rmw.Value) (rmw.Value, error) {
	n, _ := strconv.Atoi(cur.Text())
	return rmw.String(strconv.Itoa(n + 1)), nil
}

// repeating is a client that repeats commands whatever they say about that.
type repeating struct{ *redis.Client }

func (c repeating) Process(ctx context.Context, cmd redis.Cmder) error {
	plain := redis.NewCmd(ctx, cmd.Args()...)
	err := c.Client.Process(ctx, plain)
	cmd.(interface{ SetVal(val any) }).SetVal(plain.Val())
	cmd.SetErr(err)
	return err
}

// A client that repeats a compare-and-set whose reply was lost finds it refused, by its
// own first run: the caller computes anew, and the update is there twice (go-redis#1551,
// go-redis#2339, jedis#3187, redis-rb#668). Ours tell go-redis not to repeat them, and a
// lost answer is rmw.ErrOutcomeUnknown.
func TestTrap01ClientRetryDoubleApplies(t *testing.T) {
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
		n, err := lostReply(t, func(rdb *redis.Client) lockupdate.Commands { return repeating{rdb} })
		assert.Equal(t, "12", n, "control: the trap is there")
		require.NoError(t, err, "control")
	})
}

// An acquire whose reply was lost has taken the lock: the next try meets it and waits
// for itself, or an error leaves it behind for a whole lease (node-redlock#369, sim#6864,
// openlinker#2717). Our script knows its owner, and whoever gives up releases.
func TestTrap02LostAcquireReplyBlocksItself(t *testing.T) {
	for _, lost := range []int{1, 2, 3} {
		t.Run(strconv.Itoa(lost), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t, lockupdate.Config{Lease: 10 * time.Second})
				other := f.another(lockupdate.Config{})
				key := rmw.Key{Name: "s"}
				f.warm(key)
				f.proxy.Inject(proxytest.Fault{Match: isScript("acquire"), Times: lost, Action: proxytest.DropReply})
				began := time.Now()
				res, err := f.store.Update(t.Context(), key, appendText("x"))
				if lost < 3 {
					require.NoError(t, err)
					assert.Zero(t, res.Waited, "for whom?")
				} else {
					require.ErrorIs(t, err, rmw.ErrUnavailable)
				}
				_, err = other.Update(t.Context(), key, appendText("y"))
				require.NoError(t, err)
				assert.Less(t, time.Since(began), 300*time.Millisecond)
				lockupdate.Settle(other)
				assert.True(t, f.isFree("s"))
			})
		})
	}
}

// A release that is sent with the ctx of a caller who has left is not sent, and the lock
// stays until its lease ends (open-match#1578, blnk#355, ncps#913, authgear#5721); so it
// does if the first failure is the last try (redis-py#3847). Ours has a ctx of its own.
func TestTrap03ReleaseWithACancelledCtx(t *testing.T) {
	for name, use := range map[string]func(ctx context.Context, s *lockupdate.Store, leave func()) error{
		"Update": func(ctx context.Context, s *lockupdate.Store, leave func()) error {
			_, err := s.Update(ctx, rmw.Key{Name: "s"}, behindItsBack(leave, appendText("x")))
			return err
		},
		"commit": func(ctx context.Context, s *lockupdate.Store, leave func()) error {
			_, err := s.Update(ctx, rmw.Key{Name: "s"}, func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
				time.AfterFunc(time.Millisecond, leave) // while the commit is on its way
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
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
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
		})
	}
}

// A watchdog that goes on renewing after the unlock, or for a holder that has died,
// keeps a lock that nobody holds (redisson#7272, redisson#1966, redisson#4368,
// redisson#4178). The watch ends before the release, which waits for a renewal under
// way, and however the holder ends.
func TestTrap04RenewalAfterUnlock(t *testing.T) {
	for name, end := range map[string]func(){
		"returns": func() {},
		"panics":  func() { panic("a bug") },
		"exits":   runtime.Goexit,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const lease = 10 * time.Second
				f := newFixture(t, lockupdate.Config{Lease: lease})
				f.warm(rmw.Key{Name: "s"})
				f.proxy.Inject(proxytest.Fault{Match: isScript("renew"), Action: proxytest.Delay, Delay: lease / 5})
				done := make(chan struct{})
				go func() {
					defer close(done)
					defer func() { _ = recover() }()
					_ = f.store.WithLock(t.Context(), "s", func(context.Context) error {
						time.Sleep(lease * 6 / 10) // a renewal is under way
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
				assert.True(t, f.isFree("s"))
			})
		})
	}
}
