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
	rdb    *redis.Client
	prefix string // of all keys
}

func (c legacyChat) room(name string) string  { return c.prefix + "room:" + name }
func (c legacyChat) last(name string) string  { return c.prefix + "last:" + name }
func (c legacyChat) count(name string) string { return c.prefix + "posts:" + name }

// apply applies one event to its room. It returns the number of attempts.
func (c legacyChat) apply(ctx context.Context, e event) (int, error) {
	return c.update(ctx, e.Room, func(r *room) { r.apply(e) })
}

// update is a typical WATCH helper.
func (c legacyChat) update(ctx context.Context, name string, change func(*room)) (tries int, err error) {
	const maxRetries = 1000
	key := c.room(name)
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
				pipe.Set(ctx, key, raw, roomTTL)
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
		pipe.Set(ctx, c.last(name), text, roomTTL)
		pipe.Incr(ctx, c.count(name))
		pipe.Expire(ctx, c.count(name), roomTTL)
		return nil
	})
	return err
}
