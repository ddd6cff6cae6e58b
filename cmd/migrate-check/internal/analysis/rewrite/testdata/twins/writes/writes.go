// Package writes has transactions with writes that an Update of the watched keys would drop, or not. The comment of each
// says which scaffold it gets: "value" has the stored value, "list" has a list of the writes, "none" has no code.
package writes

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

type service struct {
	rdb  *redis.Client
	pipe redis.Pipeliner
}

type setter interface {
	Set(ctx context.Context, key string, value any, expiration time.Duration) *redis.StatusCmd
}

type holder struct{ tx *redis.Tx }

func (h holder) save(context.Context) error { return nil }

func addTo(context.Context, redis.Pipeliner, string) {}

func fill(redis.Pipeliner) error { return nil }

func through(_ context.Context, _ *redis.Tx, key string) error { return nil }

func within(_ context.Context, c redis.Cmdable) {}

// value
func (s *service) one(ctx context.Context, key string) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error {
		_, err := tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.HSet(ctx, key, "a", "1")
			return nil
		})
		return err
	}, key)
}

// list
func (s *service) two(ctx context.Context, key string) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error {
		_, err := tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.Set(ctx, key, "a", 0)
			pipe.Expire(ctx, key, time.Hour)
			return nil
		})
		return err
	}, key)
}

// list
func (s *service) outsideOfTheTransaction(ctx context.Context, key string) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error {
		if err := s.rdb.Incr(ctx, key).Err(); err != nil {
			return err
		}
		return tx.Del(ctx, key).Err()
	}, key)
}

// list
func (s *service) loop(ctx context.Context, key string, times int) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error {
		pipe := tx.TxPipeline()
		for range times {
			pipe.Incr(ctx, key)
		}
		_, err := pipe.Exec(ctx)
		return err
	}, key)
}

// list
func (s *service) conditional(ctx context.Context, key string, enough bool) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error {
		_, err := tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			if enough {
				pipe.HDel(ctx, key, "a")
			}
			return nil
		})
		return err
	}, key)
}

// list
func (s *service) chosen(ctx context.Context, key string, n int) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error {
		pipe := tx.TxPipeline()
		switch {
		case n > 1:
			pipe.Incr(ctx, key)
		}
		_, err := pipe.Exec(ctx)
		return err
	}, key)
}

// list
func (s *service) closure(ctx context.Context, key string) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error {
		pipe := tx.TxPipeline()
		add := func() { pipe.Incr(ctx, key) }
		add()
		add()
		_, err := pipe.Exec(ctx)
		return err
	}, key)
}

// list
func (s *service) bothWatched(ctx context.Context, from, to string) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error {
		n, err := tx.Get(ctx, from).Int()
		if err != nil {
			return err
		}
		_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.Set(ctx, from, n-1, 0)
			pipe.Set(ctx, to, n+1, 0)
			return nil
		})
		return err
	}, from, to)
}

// list
func (s *service) set(ctx context.Context, key, member string) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error {
		_, err := tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.SAdd(ctx, key, member)
			pipe.Expire(ctx, key, time.Hour)
			return nil
		})
		return err
	}, key)
}

// none: drop `pipe.HSet(ctx, "{i}_key", id, value)` and `pipe.SRem(ctx, "{i}:"+old, id)`
func (s *service) record(ctx context.Context, key, id, old, value string) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error {
		_, err := tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.HSet(ctx, key, id, value)
			pipe.HSet(ctx, "{i}_key", id, value)
			pipe.SRem(ctx, "{i}:"+old, id)
			return nil
		})
		return err
	}, key)
}

// none: drop `pipe.Del(ctx, key, other)`
func (s *service) delBoth(ctx context.Context, key, other string) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error {
		_, err := tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error { return pipe.Del(ctx, key, other).Err() })
		return err
	}, key)
}

// none: drop `pipe.MSet(ctx, key, 1, other, 2)`
func (s *service) mset(ctx context.Context, key, other string) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error {
		_, err := tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error { return pipe.MSet(ctx, key, 1, other, 2).Err() })
		return err
	}, key)
}

// none: drop `pipe.Rename(ctx, key, other)`
func (s *service) rename(ctx context.Context, key, other string) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error {
		_, err := tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error { return pipe.Rename(ctx, key, other).Err() })
		return err
	}, key)
}

// none: drop `pipe.SMove(ctx, key, other, "a")`
func (s *service) move(ctx context.Context, key, other string) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error {
		_, err := tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error { return pipe.SMove(ctx, key, other, "a").Err() })
		return err
	}, key)
}

// none: drop `pipe.Publish(ctx, "changes", key)`
func (s *service) publish(ctx context.Context, key string) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error {
		_, err := tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.Set(ctx, key, "a", 0)
			pipe.Publish(ctx, "changes", key)
			return nil
		})
		return err
	}, key)
}

// none: drop `pipe.Do(ctx, "SET", key, "a")`
func (s *service) do(ctx context.Context, key string) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error {
		_, err := tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error { return pipe.Do(ctx, "SET", key, "a").Err() })
		return err
	}, key)
}

// none: drop `pipe.Set(ctx, k, "a", 0)`
func (s *service) many(ctx context.Context, key string, keys []string) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error {
		_, err := tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			for _, k := range keys {
				pipe.Set(ctx, k, "a", 0)
			}
			return nil
		})
		return err
	}, key)
}

// none: drop `pipe.Set(ctx, key, "a", 0)`
func (s *service) keyChanges(ctx context.Context, key string) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error {
		key += ":copy"
		_, err := tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error { return pipe.Set(ctx, key, "a", 0).Err() })
		return err
	}, key)
}

// none: drop `s.rdb.Incr(ctx, "n")`
func (s *service) byTheClient(ctx context.Context, key string) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error {
		if err := s.rdb.Incr(ctx, "n").Err(); err != nil {
			return err
		}
		_, err := tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error { return pipe.Set(ctx, key, "a", 0).Err() })
		return err
	}, key)
}

// none: `tx` is handed on
func (s *service) byHelper(ctx context.Context, key string) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error { return through(ctx, tx, key) }, key)
}

// none: `pipe` is handed on
func (s *service) pipelineHandedOn(ctx context.Context, key string) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error {
		_, err := tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.Set(ctx, key, "a", 0)
			addTo(ctx, pipe, key)
			return nil
		})
		return err
	}, key)
}

// none: `tx.TxPipeline()` is handed on
func (s *service) callHandedOn(ctx context.Context, key string) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error {
		addTo(ctx, tx.TxPipeline(), key)
		return nil
	}, key)
}

// none: `tx` is handed on
func (s *service) inStruct(ctx context.Context, key string) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error {
		h := holder{tx: tx}
		return h.save(ctx)
	}, key)
}

// none: `s.pipe` is handed on
func (s *service) inField(ctx context.Context, key string) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error {
		s.pipe = tx.TxPipeline()
		return nil
	}, key)
}

// none: `pipe` is handed on
func (s *service) asInterface(ctx context.Context, key string) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error {
		pipe := tx.TxPipeline()
		var to setter = pipe
		to.Set(ctx, "other", "a", 0)
		_, err := pipe.Exec(ctx)
		return err
	}, key)
}

// none: `c` is handed on
func (s *service) asCmdable(ctx context.Context, key string) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error {
		pipe := tx.TxPipeline()
		var c redis.Cmdable = pipe
		within(ctx, c)
		_, err := pipe.Exec(ctx)
		return err
	}, key)
}

// none: `pipe` is handed on
func (s *service) methodValue(ctx context.Context, key string) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error {
		pipe := tx.TxPipeline()
		set := pipe.Set
		set(ctx, "other", "a", 0)
		_, err := pipe.Exec(ctx)
		return err
	}, key)
}

// none: `fill` is declared elsewhere
func (s *service) filledElsewhere(ctx context.Context, key string) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error {
		_, err := tx.TxPipelined(ctx, fill)
		return err
	}, key)
}

// none: the writes of the function are not seen here
func (s *service) watchedElsewhere(ctx context.Context, key string) error {
	return s.rdb.Watch(ctx, s.apply, key)
}

func (s *service) apply(tx *redis.Tx) error { return nil }

// none: the keys are not seen here
func (s *service) slice(ctx context.Context, keys []string) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error {
		_, err := tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error { return pipe.Set(ctx, keys[0], "a", 0).Err() })
		return err
	}, keys...)
}

// none: drop `tx.Watch(ctx, "other")`
func (s *service) onTheWay(ctx context.Context, key string) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error {
		if err := tx.Watch(ctx, "other").Err(); err != nil {
			return err
		}
		_, err := tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error { return pipe.Set(ctx, key, "a", 0).Err() })
		return err
	}, key)
}
