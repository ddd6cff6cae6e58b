// Package shapes has a transaction of each class.
package shapes

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

type store struct{ rdb *redis.Client }

func (s *store) oneString(ctx context.Context, key string) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error { // want `one string: store\.Update\(ctx, rmw\.Key\{Name: key, TTL: rmw\.NoTTL\}, func.* return rmw\.String\(fmt\.Sprint\(n \+ 1\)\), nil \}\) \(MC101\)$`
		n, err := tx.Get(ctx, key).Int()
		if err != nil {
			return err
		}
		_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error { // want `part of a WATCH: it goes away with the WATCH \(MC102\)$`
			pipe.Set(ctx, key, n+1, 0)
			return nil
		})
		return err
	}, key)
}

func (s *store) kept(ctx context.Context, key, text string, ttl time.Duration) {
	s.rdb.Watch(ctx, func(tx *redis.Tx) error { // want `one string: store\.Update\(ctx, rmw\.Key\{Name: key\}, func.* return rmw\.String\(text\), nil`
		tx.Get(ctx, key)
		tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error { // want `MC102`
			pipe.Set(ctx, key, text, redis.KeepTTL)
			return nil
		})
		return nil
	}, key)
	s.rdb.Watch(ctx, func(tx *redis.Tx) error { // want `rmw\.Key\{Name: key, TTL: ttl\}`
		tx.Get(ctx, key)
		return s.write(ctx, tx, key, ttl)
	}, key)
}

func (s *store) write(ctx context.Context, tx *redis.Tx, name string, d time.Duration) error {
	_, err := tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error { // want `MC102`
		pipe.Set(ctx, name, "x", d)
		return nil
	})
	return err
}

func (s *store) oneHash(ctx context.Context, key string) {
	s.rdb.Watch(ctx, func(tx *redis.Tx) error { // want `one hash: store\.Update\(ctx, rmw\.Key\{Name: key, Kind: rmw\.KindHash\}, func.* return cur\.With\("state", "open"\), nil`
		tx.HGetAll(ctx, key)
		tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error { // want `MC102`
			pipe.HSet(ctx, key, "state", "open")
			return nil
		})
		return nil
	}, key)
}

func (s *store) lockByHand(ctx context.Context, key string) {
	s.rdb.Watch(ctx, func(tx *redis.Tx) error { // want `a lock by hand: store\.WithLock\(ctx, key, func`
		if tx.Get(ctx, key).Val() != "me" {
			return nil
		}
		tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error { // want `MC102`
			pipe.Del(ctx, key)
			return nil
		})
		return nil
	}, key)
}

func (s *store) otherType(ctx context.Context, key string) {
	s.rdb.Watch(ctx, func(tx *redis.Tx) error { // want `one key of type zset: store\.Update changes strings and hashes only`
		tx.ZCard(ctx, key)
		tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error { // want `MC102`
			pipe.ZAdd(ctx, key, redis.Z{})
			return nil
		})
		return nil
	}, key)
}

func (s *store) recordAndIndex(ctx context.Context, id string) {
	s.rdb.Watch(ctx, func(tx *redis.Tx) error { // want `a record and its index: rmw\.Transact changes .*: make "rooms" a hash, .*docs/several-keys\.md`
		tx.Get(ctx, "room:"+id)
		tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error { // want `MC102`
			pipe.Set(ctx, "room:"+id, "x", 0)
			pipe.ZAdd(ctx, "rooms", redis.Z{})
			return nil
		})
		return nil
	}, "room:"+id)
}

func (s *store) together(ctx context.Context, a, b string) {
	s.rdb.Watch(ctx, func(tx *redis.Tx) error { // want `several keys changed together: rmw\.Transact\(ctx, store, func.*, rmw\.Key\{Name: a, TTL: rmw\.NoTTL\}, rmw\.Key\{Name: b, Kind: rmw\.KindHash\}\)`
		tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error { // want `MC102`
			pipe.Set(ctx, a, 1, 0)
			pipe.HSet(ctx, b, "n", 2)
			return nil
		})
		return nil
	}, a, b)
	s.rdb.Watch(ctx, func(tx *redis.Tx) error { // want `one key, and a check of another: rmw\.Transact\(.*, rmw\.Key\{Name: a, TTL: rmw\.NoTTL\}, rmw\.Key\{Name: b\}\)`
		tx.Get(ctx, b)
		tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error { // want `MC102`
			pipe.Set(ctx, a, 1, 0)
			return nil
		})
		return nil
	}, a, b)
	s.rdb.Watch(ctx, func(tx *redis.Tx) error { // want `a move between collections: rmw\.Transact .*: make a and b a hash, `
		tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error { // want `MC102`
			pipe.ZRem(ctx, a, "x")
			pipe.ZAdd(ctx, b, redis.Z{})
			return nil
		})
		return nil
	}, a, b)
}

func (s *store) unguarded(ctx context.Context, key string) {
	s.rdb.Watch(ctx, func(tx *redis.Tx) error { // want `nothing guarded, one string: store\.Update` `MC104`
		return tx.Set(ctx, key, "x", time.Minute).Err()
	}, key)
	s.rdb.Watch(ctx, func(tx *redis.Tx) error { // want `nothing is written: send the reads without it` `MC104`
		return tx.Get(ctx, key).Err()
	}, key)
}

func (s *store) batches(ctx context.Context, key string, keys []string) {
	s.rdb.TxPipelined(ctx, func(pipe redis.Pipeliner) error { // want `one command: rdb\.HSet\(ctx, key, "a", 1\) \(MC102\)$`
		pipe.HSet(ctx, key, "a", 1)
		return nil
	})
	s.rdb.TxPipelined(ctx, func(pipe redis.Pipeliner) error { // want `one counter: rmw\.Add\(ctx, store, rmw\.Key\{Name: key, TTL: time\.Hour\}, …\)`
		pipe.Incr(ctx, key)
		pipe.Expire(ctx, key, time.Hour)
		return nil
	})
	s.rdb.TxPipelined(ctx, func(pipe redis.Pipeliner) error { // want `one string: store\.Update.* return …, nil`
		for range keys {
			pipe.Set(ctx, key, "x", 0)
		}
		return nil
	})
	p := s.rdb.TxPipeline() // want `a batch of several keys: rmw\.Transact\(.*Name: "a", TTL: rmw\.NoTTL\}, .*Name: "b"`
	p.Set(ctx, "a", 1, 0)
	s.rdb.Set(ctx, "c", 1, 0)
	p.Set(ctx, "b", 1, 0)
	p.Exec(ctx)
	s.rdb.TxPipelined(ctx, func(pipe redis.Pipeliner) error { // want `commands that are not visible here: `
		fill(pipe)
		return nil
	})
}

var fill func(redis.Pipeliner)

func (s *store) helper(ctx context.Context, fn func(*redis.Tx) error, key string) {
	s.rdb.Watch(ctx, fn, key)                   // want `a function from elsewhere: classify each caller that gives one \(MC101\)$`
	s.rdb.Watch(ctx, func(tx *redis.Tx) error { // want `MC101`
		tx.Watch(ctx, "another") // want `one more key of a WATCH: name it in the rmw\.Transact of that WATCH: docs/several-keys\.md \(MC101\)$`
		return fn(tx)
	}, key)
}
