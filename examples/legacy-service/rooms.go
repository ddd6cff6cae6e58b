package main

import (
	"context"
	"encoding/json"
	"time"

	"github.com/redis/go-redis/v9"
)

// roomTTL is for how long a room is kept, whatever happens in it.
const roomTTL = 30 * 24 * time.Hour

// rooms are the rooms in Redis: a room at room:ID, its timeline at room:ID:log.
type rooms struct {
	rdb redis.UniversalClient
	now func() int64
}

func roomKey(id string) string { return "room:" + id }

func (s *rooms) get(ctx context.Context, id string) (room, error) {
	r, found, err := load[room](ctx, s.rdb, roomKey(id))
	if err == nil && !found {
		err = errNoRoom
	}
	return r, err
}

func (s *rooms) create(ctx context.Context, id, tenant, owner string, limit int) (room, error) {
	r, events := newRoom(id, tenant, owner, limit, s.now())
	raw, err := json.Marshal(r)
	if err != nil {
		return r, err
	}
	return r, watch(ctx, s.rdb, func(tx *redis.Tx) error {
		n, err := tx.Exists(ctx, roomKey(id)).Result()
		if err != nil {
			return err
		}
		if n > 0 {
			return errRoomExists
		}
		_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.Set(ctx, roomKey(id), raw, roomTTL)
			pipe.Del(ctx, logKey(id)) // of a room of that name that has expired
			return record(ctx, pipe, id, events)
		})
		return err
	}, roomKey(id))
}

// change applies a rule to a room. What it says has happened goes to the timeline
// and to the subscribers in the same transaction.
func (s *rooms) change(ctx context.Context, id string, rule func(r *room, now int64) ([]event, error)) (room, error) {
	var events []event
	return watchUpdate(ctx, s.rdb, roomKey(id), func(r *room, found bool) (err error) {
		if !found {
			return errNoRoom
		}
		events, err = rule(r, s.now())
		return err
	}, func(pipe redis.Pipeliner) error {
		return record(ctx, pipe, id, events)
	})
}
