package cas_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/cas"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
)

var (
	left  = rmw.Key{Name: "left"}
	right = rmw.Key{Name: "right"}
)

// appendBoth is a TxFunc that appends to left and right.
func appendBoth(s string) rmw.TxFunc {
	return func(_ context.Context, tx *rmw.Tx) error {
		for _, key := range []rmw.Key{left, right} {
			tx.Put(key, rmw.String(tx.Get(key).Text()+s))
		}
		return nil
	}
}

// both returns the stored texts of left and right.
func (f *fixture) both() [2]string {
	var texts [2]string
	for i, key := range []rmw.Key{left, right} {
		texts[i], _ = f.other.Get(context.Background(), key.Name).Result()
	}
	return texts
}

// The price of a Transact of two keys is counted.
func TestTransactBudget(t *testing.T) {
	text := func(fn rmw.TxFunc, keys ...rmw.Key) func(ctx context.Context, s *cas.Store) {
		return func(ctx context.Context, s *cas.Store) { _, _ = s.Transact(ctx, keys, fn) }
	}
	read := func(_ context.Context, tx *rmw.Tx) error { tx.Get(left); tx.Get(right); return nil }
	for name, tc := range map[string]struct {
		call       func(ctx context.Context, s *cas.Store)
		roundTrips int64
		commands   []string
	}{
		"two keys": {text(appendBoth("x"), left, right), 3, []string{"WATCH", "GET", "GET", "MULTI", "SET", "SET", "SET", "EXEC"}},
		"one of them late": {
			text(appendBoth("x"), left), 5, []string{"WATCH", "GET", "WATCH", "GET", "MULTI", "SET", "SET", "SET", "EXEC"},
		},
		"read":    {text(read, left, right), 3, []string{"WATCH", "GET", "GET", "MULTI", "EXISTS", "EXEC"}},
		"aborted": {text(func(context.Context, *rmw.Tx) error { return errFull }, left, right), 3, []string{"WATCH", "GET", "GET", "MULTI", "EXISTS", "EXEC"}},
	} {
		t.Run(name, withFixture(cas.Config{}, func(t *testing.T, f *fixture) {
			_, err := f.store.Transact(t.Context(), []rmw.Key{left, right}, appendBoth("a")) // asks for KEEPTTL
			require.NoError(t, err)
			synctest.Wait()
			f.warm()
			start := f.meter.Read()
			tc.call(t.Context(), f.store)
			require.NoError(t, f.store.Close())
			assert.Equal(t, tc.roundTrips, f.meter.Read().Sub(start).RoundTrips)
			assert.Equal(t, tc.commands, f.commands())
		}))
	}
}

// There are as many decisions as calls at a time, whatever their keys, and they expire.
func TestDecisionsAreFewAndExpire(t *testing.T) {
	withFixture(cas.Config{}, func(t *testing.T, f *fixture) {
		decisions := func() []string { return f.other.Keys(context.Background(), "~tx:*").Val() }
		for i := range 50 {
			key := rmw.Key{Name: fmt.Sprint("k", i)}
			_, err := f.store.Transact(t.Context(), []rmw.Key{key, left}, func(_ context.Context, tx *rmw.Tx) error {
				tx.Put(key, rmw.String("x"))
				return nil
			})
			require.NoError(t, err)
		}
		assert.Len(t, decisions(), 1)
		f.proxy.Engine(0).FastForward(2 * time.Minute)
		assert.Empty(t, decisions())
	})(t)
}

// The outcome of an EXEC without an answer is asked for: the call succeeds once, and fn runs again only if it must.
func TestLostExecIsAskedFor(t *testing.T) {
	for name, tc := range map[string]struct {
		fault proxytest.Fault
		runs  int
	}{
		"reply lost":             {proxytest.Fault{Action: proxytest.DropReply}, 1},
		"request lost":           {proxytest.Fault{Action: proxytest.DropRequest}, 2},
		"no answer":              {proxytest.Fault{Action: proxytest.HangReply}, 1},
		"not run, and no answer": {proxytest.Fault{Action: proxytest.HangRequest}, 2},
		"executed late":          {proxytest.Fault{Action: proxytest.ExecuteLater, Delay: time.Minute}, 2},
		"unheard of":             {proxytest.Fault{Action: proxytest.RefuseWith, Text: "WHAT is this"}, 2},
	} {
		for _, asks := range []string{"", "APPEND", "EXEC"} { // the answer to the first question is lost as well
			t.Run(name+", and the "+asks, withFixture(cas.Config{}, func(t *testing.T, f *fixture) {
				f.warm()
				tc.fault.Command = "EXEC"
				f.proxy.Inject(tc.fault)
				switch asks {
				case "APPEND":
					f.proxy.Inject(proxytest.Fault{Command: asks, Action: proxytest.DropReply})
				case "EXEC":
					f.proxy.Inject(proxytest.Fault{Command: asks, Skip: 1, Action: proxytest.DropReply})
				}
				runs := 0
				res, err := f.store.Transact(t.Context(), []rmw.Key{left, right}, func(ctx context.Context, tx *rmw.Tx) error {
					runs++
					return appendBoth("x")(ctx, tx)
				})
				require.NoError(t, err)
				assert.Equal(t, tc.runs, runs)
				assert.Equal(t, runs, res.Attempts)
				time.Sleep(2 * time.Minute)
				assert.Equal(t, [2]string{"x", "x"}, f.both())
			}))
		}
	}
}

// Once the Store has found that an EXEC was not executed, it never is, also if no other call writes the keys.
func TestLateExecFails(t *testing.T) {
	for _, attempts := range []int{1, 2} {
		t.Run(fmt.Sprint(attempts), withFixture(cas.Config{MaxAttempts: attempts}, func(t *testing.T, f *fixture) {
			f.warm()
			f.proxy.Inject(proxytest.Fault{Command: "EXEC", Action: proxytest.Delay, Delay: time.Minute})
			runs := 0
			_, err := f.store.Transact(t.Context(), []rmw.Key{left, right}, func(ctx context.Context, tx *rmw.Tx) error {
				if runs++; runs > 1 {
					return errFull
				}
				return appendBoth("x")(ctx, tx)
			})
			want := rmw.ErrUnavailable
			if attempts > 1 {
				want = errFull
			}
			require.ErrorIs(t, err, want)
			require.NotErrorIs(t, err, rmw.ErrOutcomeUnknown)
			assert.Equal(t, attempts, runs)
			time.Sleep(2 * time.Minute)
			assert.Equal(t, [2]string{"", ""}, f.both())
		}))
	}
}

// While the store cannot be asked, the outcome is unknown: until ctx ends, or a minute is over.
func TestNoAnswerIsUnknown(t *testing.T) {
	for timeout, took := range map[time.Duration]time.Duration{time.Second: time.Second, time.Hour: time.Minute} {
		t.Run(took.String(), withFixture(cas.Config{}, func(t *testing.T, f *fixture) {
			f.proxy.Inject(proxytest.Fault{Command: "EXEC", Times: -1, Action: proxytest.DropReply})
			f.proxy.Inject(proxytest.Fault{Command: "APPEND", Times: -1, Action: proxytest.DropRequest})
			ctx, cancel := context.WithTimeout(t.Context(), timeout)
			defer cancel()
			began := time.Now()
			_, err := f.store.Transact(ctx, []rmw.Key{left, right}, appendBoth("x"))
			require.ErrorIs(t, err, rmw.ErrOutcomeUnknown)
			assert.Equal(t, ctx.Err() != nil, errors.Is(err, context.DeadlineExceeded))
			assert.InDelta(t, took, time.Since(began), float64(time.Second))
		}))
	}
}

// Before 6.0 the second write of an EXEC would be stored after the first has failed for its KEEPTTL.
func TestTransactWithoutKeepTTL(t *testing.T) {
	old, err := proxycompat.Lookup("redis@3.2")
	require.NoError(t, err)
	for name, gone := range map[string]bool{"": false, ", a key expires meanwhile": true} {
		t.Run(name, withFixtureOn(old, cas.Config{}, func(t *testing.T, f *fixture) {
			require.NoError(t, f.other.Set(t.Context(), left.Name, "a", time.Hour).Err())
			runs := 0
			res, err := f.store.Transact(t.Context(), []rmw.Key{left, right}, func(ctx context.Context, tx *rmw.Tx) error {
				if runs++; runs == 1 && gone {
					f.proxy.Engine(0).FastForward(time.Hour)
				}
				return appendBoth("x")(ctx, tx)
			})
			require.NoError(t, err)
			if gone {
				assert.Equal(t, [2]string{"x", "x"}, f.both())
				assert.Equal(t, 2, res.Attempts)
				return
			}
			assert.Equal(t, [2]string{"ax", "x"}, f.both())
			assert.Equal(t, 1, res.Attempts)
			assert.Equal(t, time.Hour, f.other.TTL(t.Context(), left.Name).Val().Round(time.Minute))
		}))
	}
}

// A field expires while fn runs. Nothing of the Transact is stored, and fn runs again.
func TestFieldExpiresDuringTransact(t *testing.T) {
	for _, writes := range []string{"the hash", "another key", "nothing"} {
		t.Run(writes, withFieldExpiry(noRight, func(t *testing.T, f *fixture) {
			ctx := t.Context()
			require.NoError(t, f.other.HSet(ctx, hash.Name, "otp", "1", "n", "1").Err())
			require.NoError(t, f.other.HExpire(ctx, hash.Name, time.Minute, "otp").Err())
			var seen []int
			_, err := f.store.Transact(ctx, []rmw.Key{left, hash}, func(_ context.Context, tx *rmw.Tx) error {
				h := tx.Get(hash)
				if seen = append(seen, h.Len()); len(seen) == 1 {
					f.expireFields()
				}
				if writes != "nothing" {
					tx.Put(left, rmw.String(fmt.Sprint(tx.Get(left).Text(), h.Len())))
				}
				if writes == "the hash" {
					tx.Put(hash, h.With("n", "2"))
				}
				return nil
			})
			require.NoError(t, err)
			assert.Equal(t, []int{2, 1}, seen)
			if writes != "nothing" {
				assert.Equal(t, "1", f.both()[0])
			}
			if writes == "the hash" {
				assert.Equal(t, map[string]string{"n": "2"}, f.other.HGetAll(ctx, hash.Name).Val())
			}
		}))
	}
}

// What the script writes is what the commands write.
func TestScriptWritesTheSame(t *testing.T) {
	for name, reply := range map[string]string{"commands": "ERR unknown command 'hpexpiretime'", "script": noRight} {
		t.Run(name, withFieldExpiry(reply, func(t *testing.T, f *fixture) {
			ctx := t.Context()
			created, gone := rmw.Key{Name: "created", Kind: rmw.KindHash, TTL: time.Minute}, rmw.Key{Name: "gone", Kind: rmw.KindHash}
			require.NoError(t, f.other.HSet(ctx, hash.Name, "a", "1", "b", "2", "c", "3").Err())
			require.NoError(t, f.other.PExpire(ctx, hash.Name, time.Hour).Err())
			require.NoError(t, f.other.HSet(ctx, gone.Name, "a", "1").Err())
			require.NoError(t, f.other.Set(ctx, left.Name, "old", time.Hour).Err())
			require.NoError(t, f.other.Set(ctx, right.Name, "old", time.Hour).Err())
			f.warm()
			_, err := f.store.Transact(ctx, []rmw.Key{hash, created, gone, left, right}, func(_ context.Context, tx *rmw.Tx) error {
				tx.Put(hash, tx.Get(hash).With("a", "9").Without("b", "c"))
				tx.Put(created, rmw.Hash(map[string]string{"f": "1"}))
				tx.Put(gone, rmw.Value{})
				tx.Put(left, rmw.String("new"))
				tx.Put(right, rmw.String("new").WithTTL(rmw.NoTTL))
				return nil
			})
			require.NoError(t, err)
			assert.Equal(t, name == "script", slices.Contains(f.commands(), "EVAL"))
			assert.Equal(t, map[string]string{"a": "9"}, f.other.HGetAll(ctx, hash.Name).Val())
			assert.Equal(t, map[string]string{"f": "1"}, f.other.HGetAll(ctx, created.Name).Val())
			assert.Zero(t, f.other.Exists(ctx, gone.Name).Val())
			assert.Equal(t, [2]string{"new", "new"}, f.both())
			for key, want := range map[string]time.Duration{
				hash.Name: time.Hour, created.Name: time.Minute, left.Name: time.Hour, right.Name: 0,
			} {
				assert.Equal(t, want, max(0, f.other.TTL(ctx, key).Val()).Round(time.Second), key)
			}
		}))
	}
}

// sharded are the profiles where the keys of a WATCH must have one slot.
var sharded = []string{"alibaba", "cluster", "redis-cluster-proxy"}

// In a Redis Cluster the keys need one slot: the client's, a server's, or that of a proxy.
func TestTransactNeedsOneSlot(t *testing.T) {
	a, b, c := rmw.Key{Name: "{room}:a"}, rmw.Key{Name: "{room}:b"}, rmw.Key{Name: "c"}
	put := func(keys ...rmw.Key) rmw.TxFunc {
		return func(_ context.Context, tx *rmw.Tx) error {
			for _, key := range keys {
				tx.Put(key, rmw.String(tx.Get(key).Text()+"x"))
			}
			return nil
		}
	}
	for _, name := range append([]string{"client"}, sharded...) {
		t.Run(name, func(t *testing.T) {
			profile := proxycompat.Redis()
			if name != "client" {
				var err error
				profile, err = proxycompat.Lookup(name)
				require.NoError(t, err)
			}
			withFixtureOn(profile, cas.Config{}, func(t *testing.T, f *fixture) {
				s := f.store
				if name == "client" {
					s = cas.New(f.cluster(t), cas.Config{})
					defer s.Close()
				}
				ctx := t.Context()
				odd := rmw.Key{Name: "{}odd}"}
				for _, keys := range [][]rmw.Key{{c}, {a, b}, {odd}} {
					_, err := s.Transact(ctx, keys, put(keys...))
					require.NoError(t, err)
				}
				f.warm()
				for named, keys := range map[string][]rmw.Key{"": {a, b, c}, "late": {a}} {
					_, err := s.Transact(ctx, keys, put(a, b, c))
					require.ErrorIs(t, err, rmw.ErrUnsupported, named)
					assert.ErrorContains(t, err, "common hash tag")
				}
				for _, key := range []rmw.Key{a, b, c, odd} {
					assert.Equal(t, "x", f.other.Get(ctx, key.Name).Val(), "nothing more is written")
				}
			})(t)
		})
	}
}

// cluster returns a cluster client of the fixture's server.
func (f *fixture) cluster(t *testing.T) *redis.ClusterClient {
	opts := f.rdb.Options()
	rdb := redis.NewClusterClient(&redis.ClusterOptions{
		ClusterSlots: func(context.Context) ([]redis.ClusterSlot, error) {
			return []redis.ClusterSlot{{Start: 0, End: 16383, Nodes: []redis.ClusterNode{{Addr: opts.Addr}}}}, nil
		},
		Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
			return opts.Dialer(ctx, network, addr)
		},
		Protocol: opts.Protocol, PoolSize: poolSize, DisableIdentity: true,
	})
	t.Cleanup(func() { _ = rdb.Close() })
	return rdb
}

// The keys are found wrong, or the keys are those of decisions.
func TestTransactRefusesNames(t *testing.T) {
	withFixture(cas.Config{}, func(t *testing.T, f *fixture) {
		_, err := f.store.Transact(t.Context(), []rmw.Key{left, {Name: "~tx:x"}}, appendBoth("x"))
		require.ErrorIs(t, err, rmw.ErrInvalid)
		_, err = f.store.Transact(t.Context(), []rmw.Key{left}, func(_ context.Context, tx *rmw.Tx) error {
			tx.Get(rmw.Key{Name: "~tx:x"})
			return nil
		})
		require.ErrorIs(t, err, rmw.ErrInvalid)
		var e *rmw.Error
		require.ErrorAs(t, err, &e)
		assert.Equal(t, "transact", e.Op)
	})(t)
}

// Attempts are bounded, and the backoff counts as waited.
func TestTransactIsBounded(t *testing.T) {
	withFixture(cas.Config{MaxAttempts: 4}, func(t *testing.T, f *fixture) {
		f.warm()
		began := time.Now()
		res, err := f.store.Transact(t.Context(), []rmw.Key{left, right}, func(ctx context.Context, tx *rmw.Tx) error {
			require.NoError(t, f.other.Append(ctx, right.Name, "theirs").Err())
			return appendBoth("x")(ctx, tx)
		})
		require.ErrorIs(t, err, rmw.ErrContended)
		assert.Equal(t, 4, res.Attempts)
		assert.Equal(t, time.Since(began), res.Waited)
		assert.NotContains(t, f.both()[1], "x")
	})(t)
}

// Several callers share one Store. Each has a decision of its own.
func TestConcurrentTransactsHaveTheirDecisions(t *testing.T) {
	withFixture(cas.Config{MaxAttempts: 1000}, func(t *testing.T, f *fixture) {
		f.proxy.Inject(proxytest.Fault{
			Action: proxytest.DropReply, Times: -1,
			Match: func() func(args []string) bool {
				var n atomic.Int64
				return func(args []string) bool { return strings.EqualFold(args[0], "exec") && n.Add(1)%3 == 0 }
			}(),
		})
		var wg sync.WaitGroup
		for range poolSize - 1 {
			wg.Go(func() {
				for range 10 {
					if _, err := f.store.Transact(t.Context(), []rmw.Key{left, right}, appendBoth("x")); err != nil {
						assert.NoError(t, err)
					}
				}
			})
		}
		wg.Wait()
		want := strings.Repeat("x", 10*(poolSize-1))
		assert.Equal(t, [2]string{want, want}, f.both())
	})(t)
}

// A refusal that comes of values of two moments does not reach the caller.
func TestTornRefusalIsChecked(t *testing.T) {
	for name, refused := range map[string]func(tx *rmw.Tx){
		"a late key of another kind": func(tx *rmw.Tx) { tx.Get(rmw.Key{Name: "a hash"}) },
		"a Put of another kind":      func(tx *rmw.Tx) { tx.Put(left, rmw.Hash(map[string]string{"f": "1"})) },
		"the name of a decision":     func(tx *rmw.Tx) { tx.Get(rmw.Key{Name: "~tx:x"}) },
	} {
		t.Run(name, withFixture(cas.Config{}, func(t *testing.T, f *fixture) {
			require.NoError(t, f.other.HSet(t.Context(), "a hash", "f", "1").Err())
			res, err := f.store.Transact(t.Context(), []rmw.Key{left}, func(ctx context.Context, tx *rmw.Tx) error {
				l := tx.Get(left)
				require.NoError(t, f.other.MSetNX(ctx, left.Name, "1", right.Name, "1").Err())
				if r := tx.Get(right); !r.Equal(l) {
					refused(tx)
				}
				return appendBoth("x")(ctx, tx)
			})
			require.NoError(t, err)
			assert.Equal(t, 2, res.Attempts)
			assert.Equal(t, [2]string{"1x", "1x"}, f.both())
		}))
	}
}

// pass lets fake time pass.
func pass(d time.Duration) { time.Sleep(d) }
