package peers

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/rmw"
)

// Together is an Impl that updates several keys together.
type Together interface {
	Impl
	// UpdateTogether applies fn to the value of each key.
	UpdateTogether(ctx context.Context, keys []string, fn func(old []byte) ([]byte, error)) error
}

// values reads the values of keys, nil for absent ones.
func values(ctx context.Context, rdb redis.Cmdable, keys []string) ([][]byte, error) {
	list, err := rdb.MGet(ctx, keys...).Result()
	if err != nil {
		return nil, err
	}
	all := make([][]byte, len(keys))
	for i, v := range list {
		if text, ok := v.(string); ok {
			all[i] = []byte(text)
		}
	}
	return all, nil
}

// apply applies fn to each value.
func apply(all [][]byte, fn func([]byte) ([]byte, error)) (err error) {
	for i, old := range all {
		if all[i], err = fn(old); err != nil {
			return err
		}
	}
	return nil
}

func setAll(ctx context.Context, keys []string, all [][]byte) func(pipe redis.Pipeliner) error {
	return func(pipe redis.Pipeliner) error {
		for i, key := range keys {
			pipe.Set(ctx, key, all[i], 0)
		}
		return nil
	}
}

// UpdateTogether implements [Together].
func (w *watch) UpdateTogether(ctx context.Context, keys []string, fn func([]byte) ([]byte, error)) error {
	return w.again(ctx, func(tx *redis.Tx) error {
		all, err := values(ctx, tx, keys)
		if err != nil {
			return err
		}
		if err := apply(all, fn); err != nil {
			return err
		}
		_, err = tx.TxPipelined(ctx, setAll(ctx, keys, all))
		return err
	}, keys...)
}

// UpdateTogether implements [Together].
func (u *unwatch) UpdateTogether(ctx context.Context, keys []string, fn func([]byte) ([]byte, error)) error {
	named := make([]rmw.Key, len(keys))
	for i, key := range keys {
		named[i] = rmw.Key{Name: key}
	}
	res, err := rmw.Transact(ctx, u.store, func(_ context.Context, tx *rmw.Tx) error {
		for _, key := range named {
			var old []byte
			if v := tx.Get(key); v.Exists() {
				old = []byte(v.Text())
			}
			next, err := fn(old)
			if err != nil {
				return err
			}
			tx.Put(key, rmw.Bytes(next))
		}
		return nil
	}, named...)
	if res.Attempts > 1 {
		u.n.Add(int64(res.Attempts - 1))
	}
	return err
}

// UpdateTogether implements [Together]. The locks are taken in the order of the names. They guard nothing: a process that dies
// or whose lock expires leaves some of the keys written.
func (r *redsyncs) UpdateTogether(ctx context.Context, keys []string, fn func([]byte) ([]byte, error)) error {
	return under(ctx, keys, func(key string) (func(context.Context) error, error) {
		lock, err := r.lock(ctx, key)
		return func(ctx context.Context) error {
			_, err := lock.UnlockContext(ctx)
			return err
		}, err
	}, func() error { return getSetAll(ctx, r.rdb, keys, fn) })
}

// UpdateTogether implements [Together], as that of redsync.
func (r *redislocks) UpdateTogether(ctx context.Context, keys []string, fn func([]byte) ([]byte, error)) error {
	return under(ctx, keys, func(key string) (func(context.Context) error, error) {
		lock, err := r.obtain(ctx, key)
		if err != nil {
			return nil, err
		}
		return lock.Release, nil
	}, func() error { return getSetAll(ctx, r.rdb, keys, fn) })
}

// under calls do under the locks of keys.
func under(
	ctx context.Context, keys []string, take func(key string) (unlock func(context.Context) error, err error), do func() error,
) (err error) {
	for _, key := range slices.Sorted(slices.Values(keys)) {
		unlock, errTake := take(key)
		if errTake != nil {
			return errTake
		}
		defer func() { err = errors.Join(err, unlock(context.WithoutCancel(ctx))) }()
	}
	return do()
}

func getSetAll(ctx context.Context, rdb *redis.Client, keys []string, fn func([]byte) ([]byte, error)) error {
	all, err := values(ctx, rdb, keys)
	if err != nil {
		return err
	}
	if err := apply(all, fn); err != nil {
		return err
	}
	_, err = rdb.Pipelined(ctx, setAll(ctx, keys, all))
	return err
}

// UpdateAll updates one key, or several together.
func UpdateAll(ctx context.Context, impl Impl, keys []string, fn func(old []byte) ([]byte, error)) error {
	if len(keys) == 1 {
		return impl.Update(ctx, keys[0], fn)
	}
	t, ok := impl.(Together)
	if !ok {
		return fmt.Errorf("%T cannot update several keys together", impl)
	}
	return t.UpdateTogether(ctx, keys, fn)
}
