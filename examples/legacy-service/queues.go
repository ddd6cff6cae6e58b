package main

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"
)

// queues are the waiting sessions in Redis: for each queue a sorted set queue:NAME,
// of session ids by their place.
type queues struct {
	rdb redis.UniversalClient
}

func queueKey(name string) string { return "queue:" + name }

// firstOfAll returns, of several queues, the one whose first has the lowest score,
// and that first. It is a script because an agent who serves ten queues would
// otherwise ask ten times.
var firstOfAll = redis.NewScript(`
local best, queue, id
for i, key in ipairs(KEYS) do
  local head = redis.call('ZRANGE', key, 0, 0, 'WITHSCORES')
  if head[1] and (not best or tonumber(head[2]) < best) then
    best, queue, id = tonumber(head[2]), ARGV[i], head[1]
  end
end
return id and {queue, id}`)

// first returns who has waited longest in these queues, and where.
func (s *queues) first(ctx context.Context, names []string) (queue, id string, found bool, err error) {
	keys, args := make([]string, len(names)), make([]any, len(names))
	for i, name := range names {
		keys[i], args[i] = queueKey(name), name
	}
	head, err := firstOfAll.Run(ctx, s.rdb, keys, args...).StringSlice()
	if errors.Is(err, redis.Nil) {
		return "", "", false, nil
	}
	if err != nil {
		return "", "", false, err
	}
	return head[0], head[1], true, nil
}

// waiting returns the first hundred of a queue, and how many wait in all.
func (s *queues) waiting(ctx context.Context, name string) (ids []string, length int64, err error) {
	key := queueKey(name)
	err = s.rdb.Watch(ctx, func(tx *redis.Tx) error {
		n, err := tx.ZCard(ctx, key).Result()
		if err != nil {
			return err
		}
		length = n
		ids, err = tx.ZRange(ctx, key, 0, 99).Result()
		return err
	}, key)
	return ids, length, err
}

func (s *queues) remove(ctx context.Context, name, id string) error {
	_, err := s.rdb.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
		return pipe.ZRem(ctx, queueKey(name), id).Err()
	})
	return err
}
