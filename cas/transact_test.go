package cas_test

import (
	"context"
	"fmt"
	"strconv"
	"sync"
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

var accounts = []rmw.Key{{Name: "{bank}1"}, {Name: "{bank}2"}, {Name: "{bank}3"}}

// transfer moves one from an account to another.
func transfer(from, to rmw.Key) rmw.TxFunc {
	number := func(v rmw.Value) int {
		n, _ := strconv.Atoi(v.Text())
		return n
	}
	return func(_ context.Context, tx *rmw.Tx) error {
		tx.Put(from, rmw.String(strconv.Itoa(number(tx.Get(from))-1)))
		tx.Put(to, rmw.String(strconv.Itoa(number(tx.Get(to))+1)))
		return nil
	}
}

// redisWith returns a client of a server in this process with the accounts.
func redisWith(t *testing.T, balance string) *redis.Client {
	t.Helper()
	p, err := proxytest.Start(proxytest.Config{Profile: proxycompat.Redis(), InMemory: true, Engines: 1})
	require.NoError(t, err)
	rdb := redis.NewClient(p.Options())
	t.Cleanup(func() {
		require.NoError(t, rdb.Close())
		require.NoError(t, p.Close())
	})
	for _, key := range accounts {
		require.NoError(t, rdb.Set(t.Context(), key.Name, balance, 0).Err())
	}
	return rdb
}

// Processes of both paths share keys, as during a rolling change: no transfer is lost, and each read of all shows the sum.
func TestBothPathsShareKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rdb := redisWith(t, "100")
		stores := []rmw.Store{cas.New(rdb, cas.Config{}), lockupdate.New(rdb, lockupdate.Config{}), cas.New(rdb, cas.Config{}),
			lockupdate.New(rdb, lockupdate.Config{LockOnDemand: true})}
		var all sync.WaitGroup
		for w := range 8 {
			all.Go(func() {
				s := stores[w%len(stores)]
				for i := range 25 {
					from, to := accounts[(w+i)%3], accounts[(w+i+1+i%2)%3]
					if _, err := rmw.Transact(t.Context(), s, transfer(from, to), from, to); !assert.NoError(t, err) {
						return
					}
					_, err := s.Update(t.Context(), from, func(_ context.Context, v rmw.Value) (rmw.Value, error) {
						return rmw.String(v.Text()).WithTTL(rmw.NoTTL), nil // a write of the same value
					})
					assert.NoError(t, err)
					values, err := rmw.ReadAll(t.Context(), s, accounts...)
					assert.NoError(t, err)
					sum := 0
					for _, v := range values {
						n, _ := strconv.Atoi(v.Text())
						sum += n
					}
					assert.Equal(t, 300, sum)
				}
			})
		}
		all.Wait()
		for _, s := range stores {
			require.NoError(t, s.(interface{ Close() error }).Close())
		}
	})
}

// The seals of a process that has died are ended by cas as by lockupdate. A Read writes nothing and does not wait.
func TestSealsOfADeadProcess(t *testing.T) {
	nonce := "unwatch:dead:1"
	for name, tc := range map[string]struct {
		record, want string
		wait         time.Duration
	}{
		"no decision": {"", "5", seal.Patience},
		"aborted":     {seal.Aborted, "5", 0},
		"stored":      {seal.Committed([]seal.Next{{Key: accounts[0].Name, Nonce: nonce, Value: rmw.String("6")}}), "6", 0},
	} {
		for how, meet := range map[string]func(t *testing.T, s *cas.Store) string{
			"read": func(t *testing.T, s *cas.Store) string {
				v, err := s.Read(t.Context(), accounts[0])
				require.NoError(t, err)
				return v.Text()
			},
			"update": func(t *testing.T, s *cas.Store) string {
				res, err := s.Update(t.Context(), accounts[0], func(_ context.Context, v rmw.Value) (rmw.Value, error) { return v, nil })
				require.NoError(t, err)
				return res.Before.Text()
			},
			"transact": func(t *testing.T, s *cas.Store) string {
				values, err := rmw.ReadAll(t.Context(), s, accounts...)
				require.NoError(t, err)
				return values[0].Text()
			},
		} {
			t.Run(fmt.Sprint(name, ", ", how), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					rdb := redisWith(t, "5")
					decision := seal.DecisionKey(accounts[0].Name)
					args := seal.TakeArgs(accounts[0], nonce, decision, seal.CheckAll)
					require.NoError(t, rdb.Eval(t.Context(), seal.Take.Source, []string{accounts[0].Name}, args...).Err())
					if tc.record != "" {
						require.NoError(t, rdb.HSet(t.Context(), decision, nonce, tc.record).Err())
					}
					s := cas.New(rdb, cas.Config{})
					began := time.Now()
					assert.Equal(t, tc.want, meet(t, s))
					wait, kind := tc.wait, "string"
					if how == "read" {
						wait, kind = 0, "list"
					}
					assert.InDelta(t, wait, time.Since(began), float64(100*time.Millisecond))
					assert.Equal(t, kind, rdb.Type(t.Context(), accounts[0].Name).Val())
					require.NoError(t, s.Close())
				})
			})
		}
	}
}

// Keys of two slots of a cluster cannot be watched together.
func TestTransactOfTwoSlots(t *testing.T) {
	rdb := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{"192.0.2.1:1"}})
	defer func() { require.NoError(t, rdb.Close()) }()
	s := cas.New(rdb, cas.Config{})
	_, err := rmw.Transact(t.Context(), s, transfer(rmw.Key{Name: "a"}, rmw.Key{Name: "b"}), rmw.Key{Name: "a"}, rmw.Key{Name: "b"})
	require.ErrorIs(t, err, rmw.ErrUnsupported)
	require.ErrorContains(t, err, "give them a common hash tag, or use package lockupdate")
}
