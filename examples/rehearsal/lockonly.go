package main

import (
	"context"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/rmw"
)

// lockOnly uses the lock as most services do: read and SET while it is held. The SET is not
// guarded, so a process that stalls past its lease overwrites other updates.
type lockOnly struct {
	*lockupdate.Store
	rdb *redis.Client
}

func (s lockOnly) Update(ctx context.Context, key rmw.Key, fn rmw.UpdateFunc) (res rmw.Result, err error) {
	done := false
	err = s.WithLock(ctx, key.Name, func(context.Context) error { // the inner ctx would end with the lease
		cur, left, err := s.Peek(ctx, key)
		if err != nil {
			return err
		}
		next, err := fn(ctx, cur)
		if err != nil {
			return err
		}
		write, ttl, err := rmw.CheckWrite(key, cur, next)
		res = rmw.Result{Before: cur, After: next, Written: write, Attempts: 1}
		if ttl == 0 {
			ttl = left // a plain SET would remove it
		}
		switch {
		case err != nil || !write:
		case next.Exists():
			err = s.rdb.Set(ctx, key.Name, next.Text(), max(ttl, 0)).Err()
		default:
			err = s.rdb.Del(ctx, key.Name).Err()
		}
		done = err == nil
		return err
	})
	if done { // most services ignore the loss of the lock
		return res, nil
	}
	return rmw.Result{}, err
}
