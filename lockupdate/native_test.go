package lockupdate_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/testing/contract"
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
				if name != "" {
					long.Repeats(t)
				}
				cfg.Commit = s.commit
				contract.Bench{
					Proxy: proxytest.Config{Profile: proxycompat.Codis32(), Engines: 2, InMemory: true, Store: s.store},
					Open:  func(rdb *redis.Client) rmw.Store { return lockupdate.New(rdb, cfg) },
					Kinds: []rmw.Kind{rmw.KindString},

					ExpiryUnit: s.unit,
				}.RunFake(t)
			})
		}
	}
}

func (s nativeStore) fixture(t *testing.T, cfg lockupdate.Config) *fixture {
	cfg.Commit = s.commit
	return newFixture(t, cfg)
}

// eachNativeStore runs a test for each native store, on fake time.
func eachNativeStore(t *testing.T, test func(t *testing.T, s nativeStore)) {
	for _, s := range nativeStores {
		t.Run(s.commit.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { test(t, s) })
		})
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
	failed := map[string]bool{}
	for _, clause := range rmwtest.Clauses() {
		synctest.Test(t, func(t *testing.T) {
			b := contract.Bench{
				Proxy: proxytest.Config{Engines: 2, InMemory: true, Store: proxytest.Redis84},
				Open: func(rdb *redis.Client) rmw.Store {
					rdb.AddHook(before(unguard))
					return lockupdate.New(rdb, lockupdate.Config{Commit: lockupdate.CommitIFEQ})
				},
				Kinds: []rmw.Kind{rmw.KindString},
			}
			failed[clause.Name] = clause.Check(t.Context(), b.Target(t)) != nil
		})
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
	eachNativeStore(t, func(t *testing.T, s nativeStore) {
		f := s.fixture(t, lockupdate.Config{})
		profile := proxycompat.Codis32()
		f.rdb.AddHook(proxycompat.Hook(profile))
		other := f.another(lockupdate.Config{Commit: s.commit})
		for _, key := range []rmw.Key{{Name: "k"}, {Name: "k", TTL: time.Hour}, {Name: "k"}, {Name: "k", TTL: rmw.NoTTL}} {
			_, err := f.store.Update(t.Context(), key, func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
				ctx2, cancel := context.WithTimeout(t.Context(), 6*time.Second) // a renewal
				defer cancel()
				_, err := other.Update(ctx2, key, keep)
				require.ErrorIs(t, err, rmw.ErrContended)
				_, err = locking.Token(ctx)
				require.NoError(t, err)
				h, err := f.store.Inspect(ctx, key.Name)
				require.NoError(t, err)
				require.True(t, h.Waiters)
				require.InDelta(t, 6*time.Second, h.Age, float64(time.Second))
				return rmw.String(cur.Text() + "x"), nil
			})
			require.NoError(t, err)
			_, _, err = f.store.Peek(t.Context(), key)
			require.NoError(t, err)
			f.waitReleases() // else the next call could inherit the lock and its age
		}
		f.update(rmw.Key{Name: "k"}, remove)
		f.waitReleases()
		sent, called := lockupdate.Config{Commit: s.commit}.RequiredCommands()
		assert.Empty(t, called)
		seen := map[string]bool{}
		for _, c := range f.proxy.Calls() {
			require.NoError(t, profile.Check(c.Args...), c.Args[0])
			require.Contains(t, sent, c.Command())
			require.Contains(t, []string{"k", "/lock/k", "/wait/lock/k", "/fence/lock/k"}, c.Args[1])
			seen[c.Command()] = true
		}
		for _, command := range sent {
			assert.True(t, seen[command], "%s was not sent", command)
		}
	})
}

// Without Lua the round trips are the same, with one more where a commit has to keep an expiry that
// the server cannot keep.
func TestBudgetWithoutLua(t *testing.T) {
	eachNativeStore(t, func(t *testing.T, s nativeStore) {
		f := s.fixture(t, lockupdate.Config{})
		key := rmw.Key{Name: "s", TTL: time.Hour}
		f.warm(key)
		update := func(key rmw.Key, fn rmw.UpdateFunc) int64 {
			unblock := make(chan struct{})
			remove := f.proxy.Inject(proxytest.Fault{
				Match:  func(args []string) bool { return args[1] == lock+"s" && args[0] != "set" && args[0] != "cas" },
				Action: proxytest.Delay, Do: func() { <-unblock },
			})
			start := f.meter.Read()
			f.update(key, fn)
			trips := f.meter.Read().Sub(start).RoundTrips
			close(unblock)
			f.waitReleases()
			remove()
			return trips
		}
		asks := int64(0)
		if s.commit == lockupdate.CommitVX || s.commit == lockupdate.CommitCAS {
			asks = 1
		}
		assert.EqualValues(t, 2, update(key, appendText("x")))
		assert.EqualValues(t, 2+asks, update(rmw.Key{Name: "s"}, appendText("x")))
		assert.EqualValues(t, 1, update(key, keep))
	})
}
