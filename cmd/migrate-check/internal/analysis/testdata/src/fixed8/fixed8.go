// Package fixed8 has transactions of go-redis v8 that are rewritten.
package fixed8

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-redis/redis/v8"
	"github.com/unwatch/unwatch/rmw"
)

type quotas struct {
	client redis.UniversalClient
	store  rmw.Store
	ttl    time.Duration
}

var errSpent = errors.New("spent")

func quotaKey(project string) string { return fmt.Sprintf("quota:project:%s", project) }

// spend is as projects count what they have used.
func (q *quotas) spend(ctx context.Context, project string, size int64) error {
	err := q.client.Watch(ctx, func(tx *redis.Tx) error { // want `^fixed$`
		used, err := tx.Get(ctx, quotaKey(project)).Int64()
		if errors.Is(err, redis.Nil) {
			used = 0
		} else if err != nil {
			return fmt.Errorf("quota of %s: %w", project, err)
		}
		if used+size > 1<<30 {
			return errSpent
		}
		_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.Set(ctx, quotaKey(project), used+size, q.ttl)
			return nil
		})
		return err
	}, quotaKey(project))
	if err != nil {
		return fmt.Errorf("spend: %w", err)
	}
	return nil
}

// locked looks who has a lock, which is all that it does under the watch.
func (q *quotas) locked(ctx context.Context, name string) (owner string, err error) {
	err = q.client.Watch(ctx, func(tx *redis.Tx) error { // want `^fixed$`
		owner, err = tx.HGet(ctx, "lock:"+name, "owner").Result()
		return err
	}, "lock:"+name)
	return owner, err
}

// release gives a lock back to whoever comes next.
func (q *quotas) release(ctx context.Context, name, owner string) error {
	return q.client.Watch(ctx, func(tx *redis.Tx) error { // want `^fixed$`
		fields, err := tx.HGetAll(ctx, name).Result()
		if err != nil {
			return err
		}
		if fields["owner"] != owner {
			return errSpent
		}
		_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.HDel(ctx, name, "owner")
			return nil
		})
		return err
	}, name)
}

func (q *quotas) touch(ctx context.Context, key string) error {
	_, err := q.client.TxPipelined(ctx, func(pipe redis.Pipeliner) error { // want `^fixed$`
		pipe.Expire(ctx, key, q.ttl)
		return nil
	})
	return err
}
