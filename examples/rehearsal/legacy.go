package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// legacyChat is the chat service as such services are written today, on go-redis alone. It is
// correct on a plain Redis.
type legacyChat struct {
	rdb  *redis.Client
	keys keys
}

const maxRetries = 1000

// apply applies one event to its room. It returns the number of attempts.
func (c legacyChat) apply(ctx context.Context, n numbered) (int, error) {
	return c.update(ctx, n.Room, func(r *room) { r.apply(n) })
}

// update is a typical WATCH helper.
func (c legacyChat) update(ctx context.Context, name string, change func(*room)) (tries int, err error) {
	key := c.keys.room(name)
	for tries = 1; tries <= maxRetries; tries++ {
		err := c.rdb.Watch(ctx, func(tx *redis.Tx) error {
			var r room
			raw, err := tx.Get(ctx, key).Bytes()
			if err != nil && !errors.Is(err, redis.Nil) {
				return err
			}
			if err == nil {
				if err := json.Unmarshal(raw, &r); err != nil {
					return err
				}
			}
			change(&r)
			if raw, err = json.Marshal(r); err != nil {
				return err
			}
			_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
				pipe.Set(ctx, key, raw, c.keys.ttl)
				return nil
			})
			return err
		}, key)
		if !errors.Is(err, redis.TxFailedErr) { // another writer was faster: retry
			return tries, err
		}
	}
	return maxRetries, fmt.Errorf("room %s: still contended after %d tries", name, maxRetries)
}

// post writes two keys in one transaction, so that readers never see a message that is not counted.
func (c legacyChat) post(ctx context.Context, name, text string) error {
	_, err := c.rdb.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
		pipe.Set(ctx, c.keys.last(name), text, c.keys.ttl)
		pipe.Incr(ctx, c.keys.count(name))
		pipe.Expire(ctx, c.keys.count(name), c.keys.ttl)
		return nil
	})
	return err
}
