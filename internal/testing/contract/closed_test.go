package contract_test

import (
	"context"
	"io"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/cas"
	"github.com/unwatch/unwatch/cutover"
	"github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/lockupdate/redlock"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
)

// closed is a call of a path whose client is closed before the path itself.
type closed struct {
	path string
	call func(t *testing.T, rdb *redis.Client) error
}

// closedPaths are all paths that send by go-redis. Each call closes the client itself, before or within its fn.
func closedPaths() (all []closed) {
	key := rmw.Key{Name: "k"}
	stores := map[string]func(rdb *redis.Client) rmw.Store{
		"cas":        func(rdb *redis.Client) rmw.Store { return cas.New(rdb, cas.Config{}) },
		"lockupdate": func(rdb *redis.Client) rmw.Store { return lockupdate.New(rdb, lockupdate.Config{}) },
		"lockupdate on demand": func(rdb *redis.Client) rmw.Store {
			return lockupdate.New(rdb, lockupdate.Config{LockOnDemand: true})
		},
		"cutover": func(rdb *redis.Client) rmw.Store {
			side := cutover.Side{Store: cas.New(rdb, cas.Config{}), Redis: rdb}
			return cutover.New(side, side, cutover.Config{})
		},
	}
	for path, open := range stores {
		with := func(name string, call func(s rmw.Store, rdb *redis.Client) error) {
			all = append(all, closed{path + ", " + name, func(t *testing.T, rdb *redis.Client) error {
				s := open(rdb)
				_, err := s.Update(t.Context(), rmw.Key{Name: "warm"}, add)
				require.NoError(t, err)
				err = call(s, rdb)
				_ = s.(io.Closer).Close() // it tells of the lock
				return err
			}})
		}
		with("update", func(s rmw.Store, rdb *redis.Client) error {
			_ = rdb.Close()
			_, err := s.Update(context.Background(), key, add)
			return err
		})
		with("read", func(s rmw.Store, rdb *redis.Client) error {
			_ = rdb.Close()
			_, err := s.Read(context.Background(), key)
			return err
		})
		if path != "lockupdate" && path != "lockupdate on demand" {
			continue // a transaction that has begun fails on its own connection: the outcome counts as unknown
		}
		with("within fn", func(s rmw.Store, rdb *redis.Client) error {
			_, err := s.Update(context.Background(), key, func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
				_ = rdb.Close()
				return add(ctx, cur)
			})
			return err
		})
	}
	for path, open := range map[string]func(rdb *redis.Client) lock.Locker{
		"lockupdate": func(rdb *redis.Client) lock.Locker { return lockupdate.New(rdb, lockupdate.Config{}) },
		"redlock":    func(rdb *redis.Client) lock.Locker { return redlock.New([]redlock.Node{rdb}, redlock.Config{}) },
	} {
		all = append(all, closed{path + ", lock", func(_ *testing.T, rdb *redis.Client) error {
			l := open(rdb)
			_ = rdb.Close()
			err := l.WithLock(context.Background(), "k", func(context.Context) error { return nil })
			_ = l.(io.Closer).Close()
			return err
		}})
	}
	return all
}

// A closed client is not an outage: a retry cannot help, however often it is tried.
func TestClosedClientIsClosed(t *testing.T) {
	for _, c := range closedPaths() {
		t.Run(c.path, func(t *testing.T) {
			p, err := proxytest.Start(proxytest.Config{Profile: proxycompat.Redis()}) // a pipe does not tell which side has closed it
			require.NoError(t, err)
			opts := p.Options()
			opts.MaxRetries = -1
			err = c.call(t, redis.NewClient(opts))
			require.ErrorIs(t, err, rmw.ErrClosed)
			require.ErrorContains(t, err, "client is closed", "the text names what was closed")
			assert.False(t, rmw.Retryable(err))
			require.NoError(t, p.Close())
		})
	}
}

// A closed client does not open the circuit breaker, which would hide the reason.
func TestClosedClientStaysClosed(t *testing.T) {
	rdb := redis.NewClient(proxycompat.Options(proxycompat.Codis32(), "127.0.0.1:1"))
	require.NoError(t, rdb.Close())
	store := lockupdate.New(rdb, lockupdate.Config{})
	for range 50 {
		_, err := store.Update(t.Context(), rmw.Key{Name: "k"}, add)
		require.ErrorIs(t, err, rmw.ErrClosed)
	}
	assert.False(t, store.Stats().CircuitOpen)
	_ = store.Close() // it tells of the lock
}
