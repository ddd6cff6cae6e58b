package contract_test

import (
	"io"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/cas"
	"github.com/unwatch/unwatch/internal/testing/contract"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
)

// A balancer drops every idle connection of a client, with a reset or without a word. No update gets an unknown
// outcome: it commits over a connection that has just answered, and a failed write proves that nothing was sent.
func TestDeadIdleConnectionsLeaveNothingUnknown(t *testing.T) {
	for how, drop := range map[string]func(*contract.Network){"reset": (*contract.Network).Reset, "silent": (*contract.Network).Swallow} {
		for path, open := range map[string]func(rdb *redis.Client) rmw.Store{
			"cas":        func(rdb *redis.Client) rmw.Store { return cas.New(rdb, cas.Config{}) },
			"lockupdate": func(rdb *redis.Client) rmw.Store { return lockupdate.New(rdb, lockupdate.Config{}) },
			"lockupdate on demand": func(rdb *redis.Client) rmw.Store {
				return lockupdate.New(rdb, lockupdate.Config{LockOnDemand: true})
			},
		} {
			t.Run(how+"/"+path, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					p, err := proxytest.Start(proxytest.Config{Profile: proxycompat.Redis(), InMemory: true})
					require.NoError(t, err)
					network, opts := &contract.Network{}, p.Options()
					opts.Dialer, opts.MaxRetries = network.Dialer(opts.Dialer), -1
					rdb := redis.NewClient(opts)
					store := open(rdb)
					t.Cleanup(func() {
						_ = store.(io.Closer).Close() // its releases may have met dead connections only
						require.NoError(t, rdb.Close())
						require.NoError(t, p.Close())
					})
					key := rmw.Key{Name: "k"}
					// Concurrent updates and reads leave connections of both kinds: of pipelines, and of single commands.
					var all sync.WaitGroup
					for range 2 {
						all.Go(func() { _, err := store.Update(t.Context(), rmw.Key{Name: "warm"}, add); assert.NoError(t, err) })
						all.Go(func() { _, err := store.Read(t.Context(), key); assert.NoError(t, err) })
					}
					all.Wait()
					synctest.Wait()
					drop(network)
					for done := false; !done; done = err == nil {
						_, err = store.Update(t.Context(), key, add)
						require.NotErrorIs(t, err, rmw.ErrOutcomeUnknown)
						require.True(t, err == nil || rmw.Retryable(err), err)
					}
					beside := redis.NewClient(p.Options())
					assert.Equal(t, "+", beside.Get(t.Context(), key.Name).Val())
					require.NoError(t, beside.Close())
				})
			})
		}
	}
}
