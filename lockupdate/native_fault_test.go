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

// Wait hints serve fairness only. A dead or hanging backend that stores nothing but hints delays no
// update.
func TestUpdatesDoNotDependOnHints(t *testing.T) {
	for name, action := range map[string]proxytest.Action{
		"lost": proxytest.DropRequest, "frozen": proxytest.HangRequest,
	} {
		t.Run(name, func(t *testing.T) {
			eachNativeStore(t, func(t *testing.T, s nativeStore) {
				cfg := lockupdate.Config{NoCombining: true}
				f := s.fixture(t, cfg)
				cfg.Commit = s.commit
				other := f.another(cfg)
				key := f.warmKey()
				f.proxy.Inject(proxytest.Fault{Match: isRequest("hint"), Times: -1, Action: action})
				began := time.Now()
				var calls []*pendingCall
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

// A reply counts even if the connection breaks later in the same flush.
func TestReplyBeforeAConnectionErrorCounts(t *testing.T) {
	withKey(t, lockupdate.Config{}, func(t *testing.T, f *fixture, key rmw.Key) {
		f.proxy.Inject(proxytest.Fault{Match: isScript("read"), Action: proxytest.DropReply})
		f.update(key, appendText("x"))
		f.waitReleases()
		assert.Equal(t, []string{"acquire", "read", "read", "commit_string", "release"}, f.calls(), "the lock is not acquired again")
	})
}

// If one acquire command was refused and another one may have been executed, the lock may be held.
// It is released.
func TestUnknownAcquireAmongRefusals(t *testing.T) {
	eachNativeStore(t, func(t *testing.T, s nativeStore) {
		f := s.fixture(t, lockupdate.Config{})
		key := f.warmKey()
		f.proxy.Inject(proxytest.Fault{Match: isRequest("release"), Action: proxytest.HangRequest})
		f.update(key, appendText("x"))
		f.proxy.Inject(proxytest.Fault{
			Match:  func(args []string) bool { return isRequest("acquire")(args) && args[3] == "nx" },
			Action: proxytest.RefuseWith, Text: "LOADING Redis is loading the dataset in memory",
		})
		f.proxy.Inject(proxytest.Fault{
			Match:  func(args []string) bool { return isRequest("acquire")(args) && args[3] != "nx" },
			Action: proxytest.DropReply,
		})
		_, err := f.store.Update(t.Context(), key, appendText("y"))
		require.NoError(t, err, "the retry finds the lock held by this owner")
		f.waitReleases()
		assert.False(t, f.hasLock(key.Name))
	})
}

// A release in flight may be executed between the two commands of an acquire.
func TestReleaseDuringTakeover(t *testing.T) {
	eachNativeStore(t, func(t *testing.T, s nativeStore) {
		f := s.fixture(t, lockupdate.Config{})
		key := f.warmKey()
		f.proxy.Inject(proxytest.Fault{Match: isRequest("release"), Action: proxytest.HangRequest})
		f.update(key, appendText("x"))
		asked := 0
		f.proxy.Inject(proxytest.Fault{Times: -1, Match: func(args []string) bool {
			if isRequest("acquire")(args) {
				if asked++; asked == 2 {
					f.proxy.Engine(f.proxy.BackendOf(lock + "s")).Del(lock + "s")
				}
			}
			return false
		}})
		res := f.update(key, appendText("y"))
		assert.Equal(t, 2, asked, "the lock is not acquired again")
		assert.Zero(t, res.Waited)
	})
}

// Updates that keep the expiry do not prolong it.
func TestKeptExpiryEnds(t *testing.T) {
	for _, s := range append(nativeStores, nativeStore{commit: lockupdate.CommitVX, store: proxytest.Pika}) {
		bubble(t, s.store.String(), func(t *testing.T) {
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
	}
}

// A retried PTTL does not subtract the time of the first try.
func TestRepeatedExpiryQueryIsAccurate(t *testing.T) {
	withFixture(t, lockupdate.Config{Commit: lockupdate.CommitCAS}, func(t *testing.T, f *fixture) {
		f.warm(rmw.Key{Name: "other"})
		rdb := f.direct()
		require.NoError(t, rdb.Set(t.Context(), "s", "x", time.Minute+time.Millisecond).Err())
		f.proxy.Inject(proxytest.Fault{
			Match: func(args []string) bool { return args[0] == "pttl" && args[1] == "s" }, Action: proxytest.HangRequest,
		})
		began := time.Now()
		f.update(rmw.Key{Name: "s"}, appendText("y"))
		assert.InDelta(t, time.Minute-time.Since(began), rdb.PTTL(t.Context(), "s").Val(), float64(10*time.Millisecond))
	})
}

// A key that was absent when its expiry was read is not written. Another writer may create it again
// with the same value and a new expiry, which would be lost.
func TestRecreatedKeyIsNotOverwritten(t *testing.T) {
	withFixture(t, lockupdate.Config{Commit: lockupdate.CommitCAS}, func(t *testing.T, f *fixture) {
		rdb := f.direct()
		require.NoError(t, rdb.Set(t.Context(), "s", "0", time.Minute).Err())
		calls := 0
		_, err := f.store.Update(t.Context(), rmw.Key{Name: "s"}, func(context.Context, rmw.Value) (rmw.Value, error) {
			if calls++; calls == 1 {
				require.NoError(t, rdb.Del(t.Context(), "s").Err())
				f.proxy.Inject(proxytest.Fault{Match: isRequest("read"), Action: proxytest.None, Do: func() {
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

// Kvrocks prefixes its WRONGTYPE error with other text.
func TestKvrocksWrongTypeError(t *testing.T) {
	withFixture(t, lockupdate.Config{Commit: lockupdate.CommitCAS}, func(t *testing.T, f *fixture) {
		f.proxy.Inject(proxytest.Fault{
			Match: isRequest("read"), Times: -1, Action: proxytest.RefuseWith,
			Text: "ERR Invalid argument: WRONGTYPE Operation against a key holding the wrong kind of value",
		})
		_, err := f.store.Read(t.Context(), rmw.Key{Name: "s"})
		require.ErrorIs(t, err, rmw.ErrWrongKind)
		require.False(t, rmw.Retryable(err))
	})
}

// If no token can be drawn, the outcome of the update stays known.
func TestLostTokenWithoutLua(t *testing.T) {
	eachNativeStore(t, func(t *testing.T, s nativeStore) {
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

// Probe checks the remaining time of an expiry, not only that it exists.
func TestProbeChecksTheExpiryUnit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixtureBehind(t, proxytest.Config{Store: proxytest.Pika}, lockupdate.Config{})
		f.rdb.AddHook(afterwards(func(cmd redis.Cmder) {
			if c, ok := cmd.(interface{ SetVal(any) }); ok && cmd.Name() == "pttl" {
				if ms, err := cmd.(interface{ Int64() (int64, error) }).Int64(); err == nil && ms > 0 {
					c.SetVal((ms + 999) / 1000)
				}
			}
		}))
		_, err := lockupdate.Probe(t.Context(), f.rdb)
		require.ErrorIs(t, err, rmw.ErrUnsupported)
		require.False(t, rmw.Retryable(err))
	})
}

// Probe treats any refusal of a script as a missing feature, but not an error about a backend that
// is down.
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

// Every key that a canceled Probe leaves behind expires.
func TestCanceledProbeLeavesExpiringKeys(t *testing.T) {
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

// The largest TTL does not overflow to one that has passed.
func TestHugeTTL(t *testing.T) {
	eachNativeStore(t, func(t *testing.T, s nativeStore) {
		f := s.fixture(t, lockupdate.Config{})
		f.update(rmw.Key{Name: "s", TTL: 1<<62 - 1}, appendText("x"))
		assert.Equal(t, "x", f.text(rmw.Key{Name: "s"}))
	})
}

// A waiter that got the lock clears its hint. A server that counts in seconds would keep it for too
// long.
func TestWaiterClearsItsHint(t *testing.T) {
	eachNativeStore(t, func(t *testing.T, s nativeStore) {
		f := s.fixture(t, lockupdate.Config{})
		other := f.another(lockupdate.Config{Commit: s.commit})
		key := f.warmKey()
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

// A hint that arrives after the release of its lock is cleared.
func TestLateHintIsCleared(t *testing.T) {
	eachNativeStore(t, func(t *testing.T, s nativeStore) {
		f := s.fixture(t, lockupdate.Config{})
		hint := "/wait" + lock + "s"
		var sent, arrived atomic.Int32
		late := func(n *atomic.Int32, d time.Duration) func(redis.Cmder) {
			return func(cmd redis.Cmder) {
				if args := argsOf(cmd); args[0] == "set" && args[1] == hint {
					n.Add(1)
					time.Sleep(d)
				}
			}
		}
		f.rdb.AddHook(tap(late(&sent, time.Second), late(&arrived, 0)))
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
		assert.Zero(t, f.direct().Exists(t.Context(), hint).Val())
	})
}

// after returns an fn that sleeps for d before it calls fn.
func after(d time.Duration, fn rmw.UpdateFunc) rmw.UpdateFunc {
	return func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
		time.Sleep(d)
		return fn(ctx, cur)
	}
}
