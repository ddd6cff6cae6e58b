package peers

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/rmw"
)

// unwatch is lockupdate. Its retries are repeated calls of fn. Polls show only in the server's
// calls.
type unwatch struct {
	counter
	rdb     *redis.Client
	store   *lockupdate.Store
	updates rmw.Updater
}

func openStore(o Options, cfg lockupdate.Config, middleware ...rmw.Middleware) (Impl, error) {
	cfg.Lease = lease
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	rdb := Client(o)
	store := lockupdate.New(rdb, cfg)
	return &unwatch{rdb: rdb, store: store, updates: rmw.Chain(store, middleware...)}, nil
}

func (u *unwatch) Update(ctx context.Context, key string, fn func([]byte) ([]byte, error)) error {
	res, err := u.updates.Update(ctx, rmw.Key{Name: key}, func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
		var old []byte
		if cur.Exists() {
			old = []byte(cur.Text())
		}
		next, err := fn(old)
		if err != nil {
			return rmw.Value{}, err
		}
		return rmw.Bytes(next), nil
	})
	if res.Attempts > 1 {
		u.n.Add(int64(res.Attempts - 1))
	}
	return err
}

func (u *unwatch) Close() error { return errors.Join(u.store.Close(), u.rdb.Close()) }
