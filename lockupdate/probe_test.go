package lockupdate_test

import (
	"context"
	"strings"
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
		bubble(t, store.String(), func(t *testing.T) {
			f := newFixtureBehind(t, proxytest.Config{Engines: 2, Store: store}, lockupdate.Config{})
			got, err := lockupdate.Probe(t.Context(), f.rdb)
			require.NoError(t, err)
			assert.Equal(t, want, got)
			for i := range 2 {
				for _, key := range f.proxy.Engine(i).Keys() {
					ttl := f.proxy.Engine(i).TTL(key)
					assert.True(t, 0 < ttl && ttl <= 11*time.Second, "%s expires in %v", key, ttl)
				}
			}
		})
	}
}

// Probe rejects a store that ignores conditions or lacks commands. It distinguishes that from a
// store that does not reply.
func TestProbeRejectsBrokenStores(t *testing.T) {
	broken := map[string]func(f *fixture){"conditions": func(f *fixture) { f.rdb.AddHook(before(unguard)) }}
	for _, command := range []string{"acquire", "renew", "release", "read"} {
		broken[command] = func(f *fixture) { f.refuse(command, -1, "ERR unknown command") }
	}
	for name, spoil := range broken {
		bubble(t, name, func(t *testing.T) {
			f := newFixtureBehind(t, proxytest.Config{Store: proxytest.Redis84}, lockupdate.Config{})
			spoil(f)
			_, err := lockupdate.Probe(t.Context(), f.rdb)
			require.ErrorIs(t, err, rmw.ErrUnsupported)
			for _, c := range []string{"CommitGuarded", "CommitIFEQ", "CommitDELIFEQ", "CommitVX", "CommitCAS"} {
				assert.ErrorContains(t, err, c)
			}
		})
	}
	withFixture(t, lockupdate.Config{}, func(t *testing.T, f *fixture) {
		f.proxy.Down(0)
		f.proxy.Down(1)
		_, err := lockupdate.Probe(t.Context(), f.rdb)
		require.Error(t, err)
		require.NotErrorIs(t, err, rmw.ErrUnsupported)
	})
	withFixture(t, lockupdate.Config{}, func(t *testing.T, f *fixture) {
		f.proxy.Inject(proxytest.Fault{Times: -1, Action: proxytest.HangRequest})
		ctx := timeout(t.Context(), t, time.Second)
		began := time.Now()
		_, err := lockupdate.Probe(ctx, f.rdb)
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
		rdb := f.direct()
		require.NoError(t, rdb.Set(t.Context(), lock+"s", "somebody:1", time.Minute).Err())
		_, err := f.store.Update(t.Context(), testKey, appendText("x"))
		require.ErrorIs(t, err, rmw.ErrWrongKind)
		require.ErrorContains(t, err, "Config.Commit")
		require.ErrorContains(t, err, "LockName")
	})
	eachNativeStore(t, lockupdate.Config{}, func(t *testing.T, f *fixture, s nativeStore) {
		rdb := f.direct()
		require.NoError(t, rdb.HSet(t.Context(), lock+"s", "somebody:1", 1).Err())
		_, err := f.store.Update(t.Context(), testKey, appendText("x"))
		require.ErrorIs(t, err, rmw.ErrWrongKind)
		require.ErrorContains(t, err, "Config.Commit")
		_, err = f.store.Inspect(t.Context(), "s")
		require.ErrorIs(t, err, rmw.ErrWrongKind)
		require.ErrorIs(t, f.store.TryLock(t.Context(), "s", nothing), rmw.ErrWrongKind)
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
		connReset:                                      lockupdate.CommitGuarded,
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
