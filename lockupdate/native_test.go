package lockupdate_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/testing/long"
	locking "github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/rmwtest"
)

// nativeStore is a store without Lua.
type nativeStore struct {
	commit lockupdate.Commit
	store  proxytest.Store
	unit   time.Duration // of expiries
	delay  time.Duration // a lock delay for TestLocker
}

// nativeStores lists the Commits without scripts, each with a store that supports it.
var nativeStores = []nativeStore{
	{lockupdate.CommitIFEQ, proxytest.Redis84, 0, 5 * time.Second},
	{lockupdate.CommitDELIFEQ, proxytest.Valkey9, 0, 0},
	{lockupdate.CommitVX, proxytest.OldPika, time.Second, 5 * time.Second},
	{lockupdate.CommitCAS, proxytest.Kvrocks, time.Second, 0},
}

func TestContractWithoutLua(t *testing.T) {
	for _, s := range nativeStores {
		for name, cfg := range map[string]lockupdate.Config{
			"":               {},
			", sole writer":  {SoleWriter: true},
			", no combining": {NoCombining: true},
			", linger":       {Linger: 5 * time.Millisecond},
			", master reads": {MasterReads: true},
		} {
			t.Run(s.commit.String()+name, func(t *testing.T) {
				if name != "" || s.commit == lockupdate.CommitDELIFEQ || s.commit == lockupdate.CommitCAS {
					long.Repeats(t)
				}
				cfg.Commit = s.commit
				newBench(proxycompat.Codis32(), cfg).RunFake(t)
			})
		}
	}
}

// eachNativeStore runs a test for each native store, on fake time.
func eachNativeStore(t *testing.T, cfg lockupdate.Config, test func(t *testing.T, f *fixture, s nativeStore)) {
	for _, s := range nativeStores {
		cfg.Commit = s.commit
		bubbleWith(t, s.commit.String(), cfg, func(t *testing.T, f *fixture) { test(t, f, s) })
	}
}

// unguard removes the condition from a command that writes a value.
func unguard(cmd redis.Cmder) {
	args := cmd.Args()
	if len(args) < 5 || strings.HasPrefix(fmt.Sprint(args[1]), lock) {
		return
	}
	if args[0] == "set" && args[3] == "ifeq" {
		args[3], args[4] = "ifne", "never stored"
	}
}

// Negative control: without the guard, the suite fails.
func TestContractFindsAMissingGuardWithoutLua(t *testing.T) {
	long.Repeats(t)
	failed := map[string]bool{}
	b := newBench(proxycompat.Codis32(), lockupdate.Config{Commit: lockupdate.CommitIFEQ})
	open := b.Open
	b.Open = func(rdb *redis.Client) rmw.Store { rdb.AddHook(before(unguard)); return open(rdb) }
	for _, clause := range rmwtest.Clauses() {
		synctest.Test(t, func(t *testing.T) { failed[clause.Name] = clause.Check(t.Context(), b.Target(t)) != nil })
	}
	for name, want := range map[string]bool{"guard": true, "no-lost-update": true, "create": false, "ttl-kept": false} {
		got, known := failed[name]
		require.True(t, known, "there is no clause %q", name)
		assert.Equal(t, want, got, "%s fails", name)
	}
}

// All commands are listed by RequiredCommands, have one key each, and are permitted by Codis, which
// forwards unknown commands by their key.
func TestRequiredCommandsWithoutLua(t *testing.T) {
	long.Repeats(t)
	eachNativeStore(t, lockupdate.Config{}, func(t *testing.T, f *fixture, s nativeStore) {
		cfg := lockupdate.Config{Commit: s.commit}
		other := f.another(cfg)
		seen := f.exercise(proxycompat.Codis32(), cfg, func(ctx context.Context, key rmw.Key) {
			_, err := other.Update(timeout(t.Context(), t, 6*time.Second), key, keep) // meanwhile a renewal
			require.ErrorIs(t, err, rmw.ErrContended)
			h, err := f.store.Inspect(ctx, key.Name)
			require.NoError(t, err)
			require.True(t, h.Waiters)
			require.InDelta(t, 6*time.Second, h.Age, float64(time.Second))
		})
		sent, called := cfg.RequiredCommands()
		assert.Empty(t, called)
		assert.ElementsMatch(t, sent, slices.Collect(maps.Keys(seen)))
	})
}

// Without Lua the round trips are the same, with one more where a commit has to keep an expiry that
// the server cannot keep.
func TestBudgetWithoutLua(t *testing.T) {
	eachNativeStore(t, lockupdate.Config{}, func(t *testing.T, f *fixture, s nativeStore) {
		key := rmw.Key{Name: "s", TTL: time.Hour}
		f.warm(key)
		update := func(key rmw.Key, fn rmw.UpdateFunc) int64 {
			unblock := f.block("release")
			start := f.meter.Read()
			f.update(key, fn)
			trips := f.meter.Read().Sub(start).RoundTrips
			unblock()
			f.waitReleases()
			return trips
		}
		asks := int64(0)
		if s.commit == lockupdate.CommitVX || s.commit == lockupdate.CommitCAS {
			asks = 1
		}
		assert.EqualValues(t, 2, update(key, appendText("x")))
		assert.EqualValues(t, 2+asks, update(testKey, appendText("x")))
		assert.EqualValues(t, 1, update(key, keep))
	})
}

// Wait hints serve fairness only. A dead or hanging backend that stores nothing but hints delays no
// update.
func TestUpdatesDoNotDependOnHints(t *testing.T) {
	for _, action := range []proxytest.Action{proxytest.DropRequest, proxytest.HangRequest} {
		cfg := lockupdate.Config{NoCombining: true}
		eachNativeStore(t, cfg, func(t *testing.T, f *fixture, s nativeStore) {
			cfg.Commit = s.commit
			other := f.another(cfg)
			key := f.warmKey()
			f.proxy.Inject(proxytest.Fault{Match: isRequest("hint"), Times: -1, Action: action})
			began := time.Now()
			var calls []*pendingCall
			for range 3 {
				for _, store := range []*lockupdate.Store{f.store, other} {
					calls = append(calls, start(t.Context(), store, key, after(20*time.Millisecond, appendText("x"))))
				}
			}
			succeed(t, calls...)
			assert.Less(t, time.Since(began), time.Second)
			assert.Equal(t, "wwwxxxxxx", f.text(key))
		})
	}
}

// If one acquire command was refused and another one may have been executed, the lock may be held.
// It is released.
func TestUnknownAcquireAmongRefusals(t *testing.T) {
	eachNativeStore(t, lockupdate.Config{}, func(t *testing.T, f *fixture, s nativeStore) {
		key := f.warmKey()
		f.proxy.Inject(proxytest.Fault{Match: isRequest("release"), Action: proxytest.HangRequest})
		f.update(key, appendText("x"))
		for nx, fault := range map[bool]proxytest.Fault{
			true: {Action: proxytest.RefuseWith, Text: "LOADING Redis is loading"}, false: {Action: proxytest.DropReply},
		} {
			fault.Match = func(args []string) bool { return isRequest("acquire")(args) && nx == (args[3] == "nx") }
			f.proxy.Inject(fault)
		}
		f.update(key, appendText("y")) // the retry finds the lock held by this owner
		f.waitReleases()
		assert.False(t, f.hasLock(key.Name))
	})
}

// A release in flight may be executed between the two commands of an acquire.
func TestReleaseDuringTakeover(t *testing.T) {
	eachNativeStore(t, lockupdate.Config{}, func(t *testing.T, f *fixture, s nativeStore) {
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

// If no token can be drawn, the outcome of the update stays known.
func TestLostTokenWithoutLua(t *testing.T) {
	eachNativeStore(t, lockupdate.Config{}, func(t *testing.T, f *fixture, s nativeStore) {
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

// A waiter that got the lock clears its hint, which a server that counts in seconds would keep for too long. A
// hint that arrives after the release of its lock is cleared, too.
func TestLateHintIsCleared(t *testing.T) {
	for _, delay := range []time.Duration{0, time.Second} {
		eachNativeStore(t, lockupdate.Config{}, func(t *testing.T, f *fixture, s nativeStore) {
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
			f.rdb.AddHook(tap(late(&sent, delay), late(&arrived, 0)))
			gate := make(chan struct{})
			first := start(t.Context(), f.another(lockupdate.Config{Commit: s.commit}), testKey, until(gate, appendText("1")))
			time.Sleep(time.Millisecond)
			second := start(t.Context(), f.store, testKey, appendText("2"))
			time.Sleep(20 * time.Millisecond)
			require.Equal(t, delay == 0, f.direct().Exists(t.Context(), hint).Val() > 0)
			close(gate)
			succeed(t, first, second)
			lockupdate.Settle(f.store)
			if delay > 0 {
				require.EqualValues(t, 1, sent.Load())
				require.Zero(t, arrived.Load())
				time.Sleep(delay)
				synctest.Wait()
				require.EqualValues(t, 1, arrived.Load())
			}
			assert.Zero(t, f.direct().Exists(t.Context(), hint).Val())
		})
	}
}
