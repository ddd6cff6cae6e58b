package lockupdate_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	locking "github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
)

// The notes of those who wait serve fairness alone. A backend that has nothing but
// them, and is dead, or frozen, costs no update anything.
func TestNothingDependsOnNotes(t *testing.T) {
	for name, action := range map[string]proxytest.Action{
		"lost": proxytest.DropRequest, "frozen": proxytest.HangRequest,
	} {
		t.Run(name, func(t *testing.T) {
			eachWithoutLua(t, func(t *testing.T, s luaLess) {
				cfg := lockupdate.Config{NoCombining: true}
				f := s.fixture(t, cfg)
				cfg.Commit = s.commit
				other := f.another(cfg)
				key := rmw.Key{Name: "s"}
				f.warm(key)
				f.proxy.Inject(proxytest.Fault{Match: says("note"), Times: -1, Action: action})
				began := time.Now()
				var calls []*fate
				for range 3 {
					calls = append(calls, start(t.Context(), f.store, key, after(20*time.Millisecond, appendText("x"))),
						start(t.Context(), other, key, after(20*time.Millisecond, appendText("x"))))
				}
				for _, c := range calls {
					<-c.done
					require.NoError(t, c.err)
				}
				assert.Less(t, time.Since(began), time.Second)
				assert.Equal(t, "wwwxxxxxx", f.text(key))
			})
		})
	}
}

// What is known of a command counts, whatever happens to those after it in the flush.
func TestAnswerBeforeTheConnectionBroke(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, lockupdate.Config{})
		key := rmw.Key{Name: "s"}
		f.warm(key)
		f.proxy.Inject(proxytest.Fault{Match: isScript("read"), Action: proxytest.DropReply})
		_, err := f.store.Update(t.Context(), key, appendText("x"))
		require.NoError(t, err)
		f.waitReleases()
		assert.Equal(t, []string{"acquire", "read", "read", "commit_string", "release"}, f.calls(), "the lock is not asked for again")
	})
}

// One that may have been executed counts for more than one that certainly was not: the
// lock is released.
func TestUnknownAcquireAmongRefusals(t *testing.T) {
	eachWithoutLua(t, func(t *testing.T, s luaLess) {
		f := s.fixture(t, lockupdate.Config{})
		key := rmw.Key{Name: "s"}
		f.warm(key)
		f.proxy.Inject(proxytest.Fault{Match: says("release"), Action: proxytest.HangRequest})
		_, err := f.store.Update(t.Context(), key, appendText("x"))
		require.NoError(t, err)
		f.proxy.Inject(proxytest.Fault{
			Match:  func(args []string) bool { return says("acquire")(args) && args[3] == "nx" },
			Action: proxytest.RefuseWith, Text: "LOADING Redis is loading the dataset in memory",
		})
		f.proxy.Inject(proxytest.Fault{
			Match:  func(args []string) bool { return says("acquire")(args) && args[3] != "nx" },
			Action: proxytest.DropReply,
		})
		_, err = f.store.Update(t.Context(), key, appendText("y"))
		require.NoError(t, err, "it is asked for again, and is ours")
		f.waitReleases()
		assert.False(t, f.hasLock(key))
	})
}

// A release that is on its way may be executed between the commands that take the lock.
func TestReleasedAmidTakeover(t *testing.T) {
	eachWithoutLua(t, func(t *testing.T, s luaLess) {
		f := s.fixture(t, lockupdate.Config{})
		key := rmw.Key{Name: "s"}
		f.warm(key)
		f.proxy.Inject(proxytest.Fault{Match: says("release"), Action: proxytest.HangRequest})
		_, err := f.store.Update(t.Context(), key, appendText("x"))
		require.NoError(t, err)
		asked := 0
		f.proxy.Inject(proxytest.Fault{Times: -1, Match: func(args []string) bool {
			if says("acquire")(args) {
				if asked++; asked == 2 {
					f.proxy.Engine(f.proxy.BackendOf(lock + "s")).Del(lock + "s")
				}
			}
			return false
		}})
		res, err := f.store.Update(t.Context(), key, appendText("y"))
		require.NoError(t, err)
		assert.Equal(t, 2, asked, "the lock is not asked for again")
		assert.Zero(t, res.Waited)
	})
}

// TryLock does not ask twice, and still tells a lock of another kind from one that is
// taken.
func TestTryLockOfAnotherKind(t *testing.T) {
	eachWithoutLua(t, func(t *testing.T, s luaLess) {
		f := s.fixture(t, lockupdate.Config{})
		require.NoError(t, f.direct().HSet(t.Context(), lock+"s", "somebody:1", 1).Err())
		err := f.store.TryLock(t.Context(), "s", func(context.Context) error { return nil })
		require.ErrorIs(t, err, rmw.ErrWrongKind)
	})
}

// A key expires when it should, however often it is written until then.
func TestKeptExpiryEnds(t *testing.T) {
	for _, s := range append(withoutLua, luaLess{commit: lockupdate.CommitVX, store: proxytest.Pika}) {
		t.Run(s.store.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFixtureBehind(t, proxytest.Config{Store: s.store}, lockupdate.Config{Commit: s.commit})
				key := rmw.Key{Name: "s"}
				require.NoError(t, f.direct().Set(t.Context(), "s", "x", 3*time.Second).Err())
				began := time.Now()
				for gone := false; !gone; time.Sleep(90 * time.Millisecond) {
					_, err := f.store.Update(t.Context(), key, func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
						if gone = !cur.Exists(); gone {
							return cur, nil
						}
						return rmw.String(cur.Text() + "y"), nil
					})
					require.NoError(t, err)
					require.Less(t, time.Since(began), 5*time.Second, "it does not expire")
				}
			})
		})
	}
}

// An expiry that is asked for again is not charged with the time of the first try.
func TestExpiryAskedTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, lockupdate.Config{Commit: lockupdate.CommitCAS})
		f.warm(rmw.Key{Name: "other"})
		rdb := f.direct()
		require.NoError(t, rdb.Set(t.Context(), "s", "x", time.Minute+time.Millisecond).Err())
		f.proxy.Inject(proxytest.Fault{
			Match: func(args []string) bool { return args[0] == "pttl" && args[1] == "s" }, Action: proxytest.HangRequest,
		})
		began := time.Now()
		_, err := f.store.Update(t.Context(), rmw.Key{Name: "s"}, appendText("y"))
		require.NoError(t, err)
		assert.InDelta(t, time.Minute-time.Since(began), rdb.PTTL(t.Context(), "s").Val(), float64(10*time.Millisecond))
	})
}

// A key that is gone when its expiry is asked for is not written, though it may come
// back with the same value: it would have lost the expiry.
func TestKeyThatComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, lockupdate.Config{Commit: lockupdate.CommitCAS})
		rdb := f.direct()
		require.NoError(t, rdb.Set(t.Context(), "s", "0", time.Minute).Err())
		calls := 0
		_, err := f.store.Update(t.Context(), rmw.Key{Name: "s"}, func(context.Context, rmw.Value) (rmw.Value, error) {
			if calls++; calls == 1 {
				require.NoError(t, rdb.Del(t.Context(), "s").Err())
				f.proxy.Inject(proxytest.Fault{Match: says("read"), Action: proxytest.None, Do: func() {
					assert.NoError(t, rdb.Set(context.Background(), "s", "0", time.Minute).Err())
				}})
			}
			return rmw.String("1"), nil
		})
		require.NoError(t, err)
		assert.Equal(t, 2, calls)
		assert.Positive(t, rdb.PTTL(t.Context(), "s").Val())
	})
}

// Kvrocks says in more words than others that a key holds another type.
func TestWrongTypeInMoreWords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, lockupdate.Config{Commit: lockupdate.CommitCAS})
		f.proxy.Inject(proxytest.Fault{
			Match: says("read"), Times: -1, Action: proxytest.RefuseWith,
			Text: "ERR Invalid argument: WRONGTYPE Operation against a key holding the wrong kind of value",
		})
		_, err := f.store.Read(t.Context(), rmw.Key{Name: "s"})
		require.ErrorIs(t, err, rmw.ErrWrongKind)
		require.False(t, rmw.Retryable(err))
	})
}

// A token that cannot be drawn is no doubt about the value.
func TestLostTokenWithoutLua(t *testing.T) {
	eachWithoutLua(t, func(t *testing.T, s luaLess) {
		f := s.fixture(t, lockupdate.Config{})
		f.proxy.Inject(proxytest.Fault{
			Match: func(args []string) bool {
				return strings.HasPrefix(args[1], "/fence") && !strings.HasPrefix(args[0], "get")
			}, Times: -1, Action: proxytest.DropReply,
		})
		require.NoError(t, f.store.WithLock(t.Context(), "s", func(ctx context.Context) error {
			_, err := locking.Token(ctx)
			require.ErrorIs(t, err, rmw.ErrUnavailable)
			require.NotErrorIs(t, err, rmw.ErrOutcomeUnknown)
			return nil
		}))
	})
}

// Probe looks at how much of an expiry is left, not only whether any is.
func TestProbeNoticesTheUnit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixtureBehind(t, proxytest.Config{Store: proxytest.Pika}, lockupdate.Config{})
		f.rdb.AddHook(tap{after: func(cmd redis.Cmder) {
			if c, ok := cmd.(interface{ SetVal(any) }); ok && cmd.Name() == "pttl" {
				if ms, err := cmd.(interface{ Int64() (int64, error) }).Int64(); err == nil && ms > 0 {
					c.SetVal((ms + 999) / 1000)
				}
			}
		}})
		_, err := lockupdate.Probe(t.Context(), f.rdb)
		require.ErrorIs(t, err, rmw.ErrUnsupported)
		require.False(t, rmw.Retryable(err))
	})
}

// A store may say in words of its own that it does not know a command, and a proxy that
// its backend is down.
func TestProbeTellsRefusalsFromFailures(t *testing.T) {
	for text, want := range map[string]lockupdate.Commit{
		"Err unknown or unsupported command 'evalsha'": lockupdate.CommitVX,
		"ERR I do not do scripts":                      lockupdate.CommitVX,
		"LOADING Redis is loading the dataset":         lockupdate.CommitGuarded,
		"ERR handle response, backend conn reset":      lockupdate.CommitGuarded,
	} {
		synctest.Test(t, func(t *testing.T) {
			f := newFixtureBehind(t, proxytest.Config{Store: proxytest.Pika}, lockupdate.Config{})
			f.proxy.Inject(proxytest.Fault{
				Match: func(args []string) bool { return strings.HasPrefix(args[0], "eval") }, Times: -1,
				Action: proxytest.RefuseWith, Text: text,
			})
			got, err := lockupdate.Probe(t.Context(), f.rdb)
			assert.Equal(t, want, got, text)
			assert.Equal(t, want == lockupdate.CommitGuarded, err != nil, text)
		})
	}
}

// A Probe that is broken off leaves no key behind for ever.
func TestProbeTidiesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixtureBehind(t, proxytest.Config{Store: proxytest.Pika}, lockupdate.Config{})
		ctx, cancel := context.WithCancel(t.Context())
		f.proxy.Inject(proxytest.Fault{
			Match:  func(args []string) bool { return args[0] == "set" && len(args) == 5 && args[2] == "" },
			Action: proxytest.DelayReply, Delay: time.Millisecond, Do: cancel,
		})
		_, err := lockupdate.Probe(ctx, f.rdb)
		require.ErrorIs(t, err, context.Canceled)
		for _, key := range f.proxy.Engine(0).Keys() {
			assert.Positive(t, f.proxy.Engine(0).TTL(key), key)
		}
	})
}

// A TTL beyond all measure is not one that has passed.
func TestHugeTTL(t *testing.T) {
	eachWithoutLua(t, func(t *testing.T, s luaLess) {
		f := s.fixture(t, lockupdate.Config{})
		_, err := f.store.Update(t.Context(), rmw.Key{Name: "s", TTL: 1<<62 - 1}, appendText("x"))
		require.NoError(t, err)
		assert.Equal(t, "x", f.text(rmw.Key{Name: "s"}))
	})
}

// Who got the lock takes its note back with it: on a server that counts in seconds it
// would keep others away long after.
func TestNoteIsTakenBack(t *testing.T) {
	eachWithoutLua(t, func(t *testing.T, s luaLess) {
		f := s.fixture(t, lockupdate.Config{})
		other := f.another(lockupdate.Config{Commit: s.commit})
		key := rmw.Key{Name: "s"}
		f.warm(key)
		gate := make(chan struct{})
		first := start(t.Context(), f.store, key, until(gate, appendText("1")))
		time.Sleep(time.Millisecond)
		second := start(t.Context(), other, key, appendText("2"))
		time.Sleep(20 * time.Millisecond)
		require.Positive(t, f.direct().Exists(t.Context(), "/wait"+lock+"s").Val())
		close(gate)
		<-first.done
		<-second.done
		require.NoError(t, second.err)
		f.waitReleases()
		lockupdate.Settle(other)
		assert.Zero(t, f.direct().Exists(t.Context(), "/wait"+lock+"s").Val())
	})
}

// A note that is late, so that its lock is given back before it arrives, does not stay.
func TestLateNoteIsTakenBack(t *testing.T) {
	eachWithoutLua(t, func(t *testing.T, s luaLess) {
		f := s.fixture(t, lockupdate.Config{})
		note := "/wait" + lock + "s"
		var sent, arrived atomic.Int32
		late := func(n *atomic.Int32, d time.Duration) func(redis.Cmder) {
			return func(cmd redis.Cmder) {
				if args := argsOf(cmd); args[0] == "set" && args[1] == note {
					n.Add(1)
					time.Sleep(d)
				}
			}
		}
		f.rdb.AddHook(tap{before: late(&sent, time.Second), after: late(&arrived, 0)})
		other := f.another(lockupdate.Config{Commit: s.commit})
		key := rmw.Key{Name: "s"}
		gate := make(chan struct{})
		first := start(t.Context(), other, key, until(gate, appendText("1")))
		time.Sleep(time.Millisecond)
		second := start(t.Context(), f.store, key, appendText("2"))
		time.Sleep(20 * time.Millisecond)
		close(gate)
		<-first.done
		<-second.done
		require.NoError(t, second.err)
		lockupdate.Settle(f.store)
		require.EqualValues(t, 1, sent.Load())
		require.Zero(t, arrived.Load())
		time.Sleep(time.Second)
		synctest.Wait()
		require.EqualValues(t, 1, arrived.Load())
		assert.Zero(t, f.direct().Exists(t.Context(), note).Val())
	})
}

// after is an fn that takes its time.
func after(d time.Duration, fn rmw.UpdateFunc) rmw.UpdateFunc {
	return func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
		time.Sleep(d)
		return fn(ctx, cur)
	}
}
