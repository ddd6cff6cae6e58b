package cas_test

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/cas"
	"github.com/unwatch/unwatch/internal/seal"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
)

// takeBoth leaves left and right as a process of package lockupdate does that is killed in a Transact. With next, its decision
// is committed.
func (f *fixture) takeBoth(next string) {
	f.t.Helper()
	ctx, id := context.Background(), "dead:1"
	decision := seal.DecisionKey(left.Name)
	var all []seal.Next
	for _, key := range []rmw.Key{left, right} {
		args := append([]any{"eval", seal.Take.Source, 1, key.Name}, seal.TakeArgs(key, id, decision, seal.CheckAll)...)
		require.NoError(f.t, f.other.Do(ctx, args...).Err())
		require.Equal(f.t, "list", f.other.Type(ctx, key.Name).Val())
		all = append(all, seal.Next{Key: key.Name, Nonce: id, Value: rmw.String(next)})
	}
	if next != "" {
		require.NoError(f.t, f.other.HSet(ctx, decision, id, seal.Committed(all)).Err())
	}
}

// A process was killed. The next call that meets its keys shows or writes what was decided: without a decision, a writer waits
// for a second. A Read writes nothing.
func TestKeysOfADeadProcess(t *testing.T) {
	calls := map[string]func(ctx context.Context, f *fixture) (string, error){
		"read": func(ctx context.Context, f *fixture) (string, error) {
			v, err := f.store.Read(ctx, left)
			return v.Text(), err
		},
		"peek": func(ctx context.Context, f *fixture) (string, error) {
			v, _, err := f.store.Peek(ctx, left)
			return v.Text(), err
		},
		"update": func(ctx context.Context, f *fixture) (string, error) {
			res, err := f.store.Update(ctx, left, appendText("x"))
			assert.Equal(t, 1, res.Attempts)
			return res.Before.Text(), err
		},
		"transact": func(ctx context.Context, f *fixture) (string, error) {
			res, err := f.store.Transact(ctx, []rmw.Key{left, right}, appendBoth("x"))
			if err != nil {
				return "", err
			}
			assert.Equal(t, res.Changes[0].Before, res.Changes[1].Before)
			return res.Changes[0].Before.Text(), nil
		},
		"transact, late": func(ctx context.Context, f *fixture) (string, error) {
			res, err := f.store.Transact(ctx, []rmw.Key{{Name: "other"}}, appendBoth("x"))
			if err != nil {
				return "", err
			}
			return res.Changes[1].Before.Text(), nil
		},
	}
	for name, call := range calls {
		for next, want := range map[string]string{"": "old", "new": "new"} {
			t.Run(name+" "+want, withFixture(cas.Config{}, func(t *testing.T, f *fixture) {
				ctx := t.Context()
				for _, key := range []rmw.Key{left, right} {
					require.NoError(t, f.other.Set(ctx, key.Name, "old", time.Hour).Err())
				}
				f.takeBoth(next)
				f.warm()
				began := time.Now()
				got, err := call(ctx, f)
				require.NoError(t, err)
				assert.Equal(t, want, got)
				if name == "read" {
					assert.Zero(t, time.Since(began))
					assert.Equal(t, "list", f.other.Type(ctx, left.Name).Val(), "it writes nothing")
					return
				}
				assert.Equal(t, "string", f.other.Type(ctx, left.Name).Val())
				if next == "" {
					assert.GreaterOrEqual(t, time.Since(began), seal.Patience)
				}
				if name != "peek" {
					assert.Equal(t, want+"x", f.both()[0])
				}
			}))
		}
	}
}

// A list that is no seal, and a mark that this build does not know, are refused, and stay.
func TestOtherListsAreRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		list []any
		want error
	}{
		"a list":         {[]any{"a"}, rmw.ErrWrongKind},
		"a newer mark":   {[]any{"~unwatch:9f2c4e7b", "tx9", "n", "~tx:{x}", "string", "-1", "0", "v"}, rmw.ErrUnsupported},
		"a move":         {[]any{"~unwatch:9f2c4e7b", "sealed", "n", "x", "string", "-1", "0", "v"}, rmw.ErrWrongKind},
		"a damaged seal": {[]any{"~unwatch:9f2c4e7b", "tx", "n", "", "string", "-1", "0", "v"}, rmw.ErrWrongKind},
	} {
		for _, scripts := range []bool{true, false} {
			t.Run(name+", scripts: "+strconv.FormatBool(scripts), withFixture(cas.Config{}, func(t *testing.T, f *fixture) {
				want := tc.want
				if !scripts {
					f.proxy.Inject(proxytest.Fault{Command: "EVAL", Times: -1, Action: proxytest.RefuseWith, Text: "NOPERM no permissions"})
					want = rmw.ErrWrongKind
				}
				require.NoError(t, f.other.RPush(t.Context(), key.Name, tc.list...).Err())
				_, err := f.store.Transact(t.Context(), []rmw.Key{left, key}, func(context.Context, *rmw.Tx) error {
					assert.Fail(t, "fn was called")
					return nil
				})
				errs := callAll(t, f.store)
				for _, err := range append(errs[:], err) {
					require.ErrorIs(t, err, want)
				}
				assert.Len(t, f.other.LRange(t.Context(), key.Name, 0, -1).Val(), len(tc.list))
			}))
		}
	}
}

// A decision that cannot be read is refused, and the seal stays.
func TestOtherDecisionsAreRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		decide func(ctx context.Context, f *fixture, decision, id string) error
		want   error
	}{
		"a newer decision": {func(ctx context.Context, f *fixture, decision, id string) error {
			return f.other.HSet(ctx, decision, id, "committed 9\n").Err()
		}, rmw.ErrUnsupported},
		"a damaged decision": {func(ctx context.Context, f *fixture, decision, id string) error {
			return f.other.HSet(ctx, decision, id, "committed 1\nxxxx").Err()
		}, rmw.ErrUnsupported},
		"decisions of another type": {func(ctx context.Context, f *fixture, decision, _ string) error {
			return f.other.Set(ctx, decision, "x", 0).Err()
		}, rmw.ErrWrongKind},
	} {
		t.Run(name, withFixture(cas.Config{}, func(t *testing.T, f *fixture) {
			decision := seal.DecisionKey(key.Name)
			list := []any{seal.Magic, "tx", "dead:1", decision, "string", "-1", "0", "v"}
			require.NoError(t, f.other.RPush(t.Context(), key.Name, list...).Err())
			require.NoError(t, tc.decide(t.Context(), f, decision, "dead:1"))
			for _, keys := range [][]rmw.Key{{left, key}, {left}} {
				_, err := f.store.Transact(t.Context(), keys, func(_ context.Context, tx *rmw.Tx) error {
					tx.Put(left, rmw.String("written"))
					tx.Put(key, rmw.String("written"))
					return nil
				})
				require.ErrorIs(t, err, tc.want)
			}
			errs := callAll(t, f.store)
			for _, err := range errs {
				require.ErrorIs(t, err, tc.want)
			}
			assert.Len(t, f.other.LRange(t.Context(), key.Name, 0, -1).Val(), len(list))
			assert.Zero(t, f.other.Exists(t.Context(), left.Name).Val())
		}))
	}
}

const accounts, each = 5, 100

// bank has Stores transfer between the same accounts. It returns whether the sum was right at the end, and in each read of all.
func bank(t *testing.T, f *fixture, stores ...rmw.Store) bool {
	ctx := t.Context()
	keys := make([]rmw.Key, accounts)
	for i := range keys {
		keys[i] = rmw.Key{Name: "account" + strconv.Itoa(i)}
		require.NoError(t, f.other.Set(ctx, keys[i].Name, each, 0).Err())
	}
	amount := func(v rmw.Value) int {
		n, _ := strconv.Atoi(v.Text())
		return n
	}
	var torn atomic.Bool
	var wg sync.WaitGroup
	for w, s := range stores {
		wg.Go(func() {
			for i := range 25 {
				from, to := keys[(w+i)%accounts], keys[(w+2*i+1)%accounts]
				if from == to {
					continue
				}
				_, err := rmw.Transact(ctx, s, func(_ context.Context, tx *rmw.Tx) error {
					a, b := amount(tx.Get(from)), amount(tx.Get(to))
					pass(time.Millisecond) // so that others run meanwhile
					tx.Put(from, rmw.String(strconv.Itoa(a-1)))
					tx.Put(to, rmw.String(strconv.Itoa(b+1)))
					return nil
				}, from, to)
				assert.NoError(t, err)
				_, err = s.Update(ctx, from, func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
					return rmw.String("0" + strconv.Itoa(amount(cur))), nil
				})
				assert.NoError(t, err)
				values, err := rmw.ReadAll(ctx, s, keys...)
				assert.NoError(t, err)
				sum := 0
				for _, v := range values {
					sum += amount(v)
				}
				torn.Store(torn.Load() || sum != accounts*each)
				_, err = s.Read(ctx, to)
				assert.NoError(t, err)
			}
		})
	}
	wg.Wait()
	sum := 0
	for _, key := range keys {
		v, err := stores[0].Read(ctx, key)
		require.NoError(t, err)
		sum += amount(v)
	}
	return !torn.Load() && sum == accounts*each
}

// In a rolling change some processes use cas, others lockupdate, on the same keys.
func TestBothPathsShareKeys(t *testing.T) {
	withFixtureOn(proxycompat.Redis(), cas.Config{MaxAttempts: 10000}, func(t *testing.T, f *fixture) {
		opts := f.proxy.Options()
		opts.PoolSize = 20
		rdb := redis.NewClient(opts)
		defer rdb.Close()
		lock, second := lockupdate.New(rdb, lockupdate.Config{MaxAttempts: 10000}), cas.New(rdb, cas.Config{MaxAttempts: 10000})
		defer lock.Close()
		defer second.Close()
		assert.True(t, bank(t, f, f.store, lock, second, lock))
	})(t)
}

// unguarded is a Store that reads and writes several keys without a guard.
type unguarded struct{ *cas.Store }

func (u unguarded) Transact(ctx context.Context, keys []rmw.Key, fn rmw.TxFunc) (rmw.TxResult, error) {
	values := make([]rmw.Value, len(keys))
	for i, key := range keys {
		values[i], _ = u.Read(ctx, key)
	}
	run := rmw.NewTxRun(u, keys, values, u.Read)
	if _, err := run.Do(ctx, fn, func() error { return nil }); err != nil {
		return rmw.TxResult{}, err
	}
	for _, c := range run.Changes() {
		if c.Written {
			_, _ = u.Update(ctx, c.Key, set(c.After))
		}
	}
	return rmw.TxResult{Changes: run.Changes(), Attempts: 1}, nil
}

// Negative control: the sum shows a Store without a guard.
func TestBankFindsUnguardedStore(t *testing.T) {
	withFixture(cas.Config{MaxAttempts: 10000}, func(t *testing.T, f *fixture) {
		assert.False(t, bank(t, f, f.store, unguarded{f.store}))
	})(t)
}

// A server that loads its data at the look at a key of another type is away. The key need not be of the wrong kind.
func TestAwayAtTheLookAtASeal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, err := proxytest.Start(proxytest.Config{Profile: proxycompat.Redis(), InMemory: true})
		require.NoError(t, err)
		defer func() { require.NoError(t, p.Close()) }()
		opts := p.Options()
		opts.MaxRetries = -1
		rdb := redis.NewClient(opts)
		defer func() { require.NoError(t, rdb.Close()) }()
		s := cas.New(rdb, cas.Config{})
		defer func() { require.NoError(t, s.Close()) }()
		require.NoError(t, rdb.RPush(t.Context(), "k", "v").Err())
		_, err = s.Read(t.Context(), rmw.Key{Name: "k"})
		require.ErrorIs(t, err, rmw.ErrWrongKind)
		heal := p.Inject(proxytest.Fault{
			Times: -1, Action: proxytest.RefuseWith, Text: loading, Match: func(args []string) bool { return args[0] == "eval" },
		})
		defer heal()
		_, err = s.Read(t.Context(), rmw.Key{Name: "k"})
		require.ErrorIs(t, err, rmw.ErrUnavailable)
		require.NotErrorIs(t, err, rmw.ErrWrongKind)
	})
}
