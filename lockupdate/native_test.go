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

// eachNativeStore runs a test for each native store, on fake time.
func eachNativeStore(t *testing.T, cfg lockupdate.Config, test func(t *testing.T, f *fixture, s nativeStore)) {
	for _, s := range nativeStores {
		cfg.Commit = s.commit
		bubbleWith(t, s.commit.String(), cfg, func(t *testing.T, f *fixture) { test(t, f, s) })
	}
}

// eachStore is eachNativeStore, also for the store with Lua.
func eachStore(t *testing.T, cfg lockupdate.Config, test func(t *testing.T, f *fixture, s nativeStore)) {
	bubbleWith(t, "Lua", cfg, func(t *testing.T, f *fixture) { test(t, f, nativeStore{commit: lockupdate.CommitGuarded}) })
	eachNativeStore(t, cfg, test)
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
			defer f.waitReleases()
			defer unblock()
			return f.trips(func() { f.update(key, fn) })
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

// probing runs a test of Probe in a synctest bubble, with a fixture of such servers.
func probing(t *testing.T, name string, store proxytest.Store, test func(t *testing.T, f *fixture)) {
	t.Helper()
	bubble(t, name, func(t *testing.T) {
		test(t, newFixtureBehind(t, proxytest.Config{Engines: 2, Store: store}, lockupdate.Config{}))
	})
}

// requireExpiries requires that each key of the servers expires within the time.
func (f *fixture) requireExpiries(within time.Duration) {
	for i := range 2 {
		for _, key := range f.proxy.Engine(i).Keys() {
			ttl := f.proxy.Engine(i).TTL(key)
			assert.True(f.t, 0 < ttl && ttl <= within, "%s expires in %v", key, ttl)
		}
	}
}

// Probe finds the features of the store. Its keys expire soon.
func TestProbe(t *testing.T) {
	for store, want := range map[proxytest.Store]lockupdate.Commit{
		proxytest.Lua:     lockupdate.CommitGuarded,
		proxytest.Redis84: lockupdate.CommitIFEQ,
		proxytest.Valkey9: lockupdate.CommitDELIFEQ,
		proxytest.Pika:    lockupdate.CommitVX,
		proxytest.OldPika: lockupdate.CommitVX,
		proxytest.Kvrocks: lockupdate.CommitCAS,
	} {
		probing(t, store.String(), store, func(t *testing.T, f *fixture) {
			got, err := lockupdate.Probe(t.Context(), f.rdb)
			require.NoError(t, err)
			assert.Equal(t, want, got)
			f.requireExpiries(11 * time.Second)
		})
	}
}

// Probe rejects a store that ignores conditions, lacks commands or answers PTTL in seconds. It distinguishes
// that from a store that does not reply.
func TestProbeRejectsBrokenStores(t *testing.T) {
	broken := map[string]func(f *fixture){
		"conditions": func(f *fixture) { f.rdb.AddHook(before(unguard)) },
		"expiry unit": func(f *fixture) {
			f.rdb.AddHook(afterwards(func(cmd redis.Cmder) {
				c, ok := cmd.(interface {
					Int64() (int64, error)
					SetVal(val any)
				})
				if !ok || cmd.Name() != "pttl" {
					return
				}
				if ms, err := c.Int64(); err == nil && ms > 0 {
					c.SetVal((ms + 999) / 1000)
				}
			}))
		},
	}
	for _, command := range []string{"acquire", "renew", "release", "read"} {
		broken[command] = func(f *fixture) { f.refuse(command, -1, "ERR unknown command") }
	}
	for name, spoil := range broken {
		store := proxytest.Redis84
		if name == "expiry unit" {
			store = proxytest.Pika
		}
		probing(t, name, store, func(t *testing.T, f *fixture) {
			spoil(f)
			_, err := lockupdate.Probe(t.Context(), f.rdb)
			require.ErrorIs(t, err, rmw.ErrUnsupported)
			require.False(t, rmw.Retryable(err))
			for _, c := range []string{"CommitGuarded", "CommitIFEQ", "CommitDELIFEQ", "CommitVX", "CommitCAS"} {
				assert.ErrorContains(t, err, c)
			}
		})
	}
	probing(t, "down", proxytest.Lua, func(t *testing.T, f *fixture) {
		f.proxy.Down(0)
		f.proxy.Down(1)
		_, err := lockupdate.Probe(t.Context(), f.rdb)
		require.Error(t, err)
		require.NotErrorIs(t, err, rmw.ErrUnsupported)
	})
	probing(t, "hangs", proxytest.Lua, func(t *testing.T, f *fixture) {
		f.proxy.Inject(proxytest.Fault{Times: -1, Action: proxytest.HangRequest})
		began := time.Now()
		_, err := lockupdate.Probe(timeout(t.Context(), t, time.Second), f.rdb)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Less(t, time.Since(began), 10*time.Second)
	})
	_, err := lockupdate.Probe(t.Context(), nil)
	require.ErrorIs(t, err, rmw.ErrInvalid)
}

// Two services with different Commits find each other's locks malformed. Both report it, and the
// guard keeps their updates.
func TestMixedCommitsReportWrongKind(t *testing.T) {
	withFixture(t, lockupdate.Config{}, func(t *testing.T, f *fixture) {
		f.set(lock+"s", "somebody:1", time.Minute)
		err := operations["update"](t.Context(), f.store)
		require.ErrorIs(t, err, rmw.ErrWrongKind)
		require.ErrorContains(t, err, "Config.Commit")
		require.ErrorContains(t, err, "LockName")
	})
	eachNativeStore(t, lockupdate.Config{}, func(t *testing.T, f *fixture, s nativeStore) {
		f.takeAsOther(testKey, 0)
		err := operations["update"](t.Context(), f.store)
		require.ErrorIs(t, err, rmw.ErrWrongKind)
		require.ErrorContains(t, err, "Config.Commit")
		require.ErrorIs(t, operations["inspect"](t.Context(), f.store), rmw.ErrWrongKind)
		require.ErrorIs(t, f.store.TryLock(t.Context(), "s", nothing), rmw.ErrWrongKind)
	})
}

// Probe treats any refusal of a script as a missing feature, but not an error about a backend that
// is down.
func TestProbeTellsRefusalsFromFailures(t *testing.T) {
	for text, want := range map[string]lockupdate.Commit{
		"Err unknown or unsupported command 'evalsha'": lockupdate.CommitVX,
		"ERR I do not do scripts":                      lockupdate.CommitVX,
		"LOADING Redis is loading the dataset":         lockupdate.CommitGuarded,
		connReset:                                      lockupdate.CommitGuarded,
	} {
		probing(t, text, proxytest.Pika, func(t *testing.T, f *fixture) {
			f.proxy.Inject(proxytest.Fault{
				Match: func(args []string) bool { return strings.HasPrefix(args[0], "eval") }, Times: -1,
				Action: proxytest.RefuseWith, Text: text,
			})
			got, err := lockupdate.Probe(t.Context(), f.rdb)
			assert.Equal(t, want, got)
			assert.Equal(t, want == lockupdate.CommitGuarded, err != nil)
		})
	}
}

// Every key that a canceled Probe leaves behind expires.
func TestCanceledProbeLeavesExpiringKeys(t *testing.T) {
	probing(t, "", proxytest.Pika, func(t *testing.T, f *fixture) {
		ctx, cancel := context.WithCancel(t.Context())
		f.proxy.Inject(proxytest.Fault{
			Match:  func(args []string) bool { return args[0] == "set" && len(args) == 5 && args[2] == "" },
			Action: proxytest.DelayReply, Delay: time.Millisecond, Do: cancel,
		})
		_, err := lockupdate.Probe(ctx, f.rdb)
		require.ErrorIs(t, err, context.Canceled)
		f.requireExpiries(time.Hour)
	})
}
