// Package idle watches for nothing.
package idle

import (
	"context"
	"strconv"
	"time"

	redigo "github.com/gomodule/redigo/redis"
	"github.com/redis/go-redis/v9"
)

type store struct{ rdb *redis.Client }

func (s *store) outside(ctx context.Context) {
	s.rdb.Watch(ctx, func(tx *redis.Tx) error { // want `MC101` `under this WATCH SET is sent outside of its MULTI and EXEC.*MC104`
		tx.Get(ctx, "k")
		s.rdb.Set(ctx, "k", 1, 0)
		return nil
	}, "k")
	s.rdb.Watch(ctx, func(tx *redis.Tx) error { // want `MC101` `INCR is sent outside.*MC104`
		tx.Incr(ctx, "k")
		return nil
	}, "k")
}

func (s *store) reads(ctx context.Context) {
	s.rdb.Watch(ctx, func(tx *redis.Tx) error { // want `MC101` `nothing is written under this WATCH: read without it \(MC104\)$`
		_, err := strconv.Atoi(tx.Get(ctx, "k").Val())
		return err
	}, "k")
}

func (s *store) unclear(ctx context.Context, pipe redis.Pipeliner) {
	s.rdb.Watch(ctx, func(tx *redis.Tx) error { return handOn(tx) }, "k")               // want `MC101`
	s.rdb.Watch(ctx, func(tx *redis.Tx) error { return s.another(ctx) }, "k")           // want `MC101`
	s.rdb.Watch(ctx, func(tx *redis.Tx) error { return handOn2(ctx, pipe, tx) }, "k")   // want `MC101`
	s.rdb.Watch(ctx, func(tx *redis.Tx) error { fill(tx.Pipeline()); return nil }, "k") // want `MC101`
	s.rdb.Watch(ctx, func(tx *redis.Tx) error {                                         // want `MC101`
		_, err := tx.Pipelined(ctx, fillWith)
		return err
	}, "k")
	s.rdb.Watch(ctx, func(tx *redis.Tx) error { // want `MC101`
		tx.TxPipeline() // want `MC102`
		return nil
	}, "k")
	s.rdb.Watch(ctx, func(tx *redis.Tx) error { return s.transacts(ctx, tx) }, "k") // want `MC101`
}

// The commands of these are not visible.
var (
	handOn   func(tx *redis.Tx) error
	handOn2  func(context.Context, redis.Pipeliner, *redis.Tx) error
	fill     func(redis.Pipeliner)
	fillWith func(redis.Pipeliner) error
)

func (s *store) another(ctx context.Context) error { return s.rdb.Set(ctx, "k", 1, 0).Err() }

func (s *store) transacts(ctx context.Context, tx *redis.Tx) error {
	_, err := tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error { // want `MC102`
		pipe.Incr(ctx, "k")
		return nil
	})
	return err
}

// In go-redis' own examples the function is in a variable.
func (s *store) inVariable(ctx context.Context, key string) {
	txf := func(tx *redis.Tx) error {
		n, err := tx.Get(ctx, key).Int()
		if err != nil {
			return err
		}
		return tx.Set(ctx, key, n+1, 0).Err()
	}
	for range 3 {
		s.rdb.Watch(ctx, txf, key) // want `MC101` `under this WATCH SET is sent outside of its MULTI and EXEC.*MC104`
	}
	s.rdb.Watch(ctx, s.sets, key)                                         // want `MC101` `under this WATCH SET is sent outside`
	s.rdb.Watch(ctx, func(tx *redis.Tx) error { return s.sets(tx) }, key) // want `MC101` `under this WATCH SET is sent outside`
	another := func(tx *redis.Tx) error { return nil }
	another = handOn
	s.rdb.Watch(ctx, another, key) // want `MC101`
}

func (s *store) sets(tx *redis.Tx) error { return tx.Set(context.TODO(), "k", 1, 0).Err() }

// Pipelined is no transaction since v7.
func (s *store) pipelined(ctx context.Context, key string) {
	s.rdb.Watch(ctx, func(tx *redis.Tx) error { // want `MC101` `under this WATCH SET, EXPIRE is sent outside`
		_, err := tx.Pipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.Set(ctx, key, 1, 0)
			pipe.Expire(ctx, key, time.Hour)
			return nil
		})
		return err
	}, key)
}

// A transaction of the client goes over another connection than the WATCH.
func (s *store) byClient(ctx context.Context, key string) {
	s.rdb.Watch(ctx, func(tx *redis.Tx) error { // want `MC101` `under this WATCH SET is sent outside`
		_, err := s.rdb.TxPipelined(ctx, func(pipe redis.Pipeliner) error { // want `MC102`
			pipe.Set(ctx, key, 1, 0)
			return nil
		})
		return err
	}, key)
}

func (s *store) keyless(ctx context.Context, keys ...string) {
	fn := func(tx *redis.Tx) error {
		_, err := tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error { // want `MC102`
			pipe.Set(ctx, "k", 1, 0)
			return nil
		})
		return err
	}
	s.rdb.Watch(ctx, fn)                        // want `MC101` `this WATCH names no key, so its EXEC never fails.*MC104`
	s.rdb.Watch(ctx, fn, keys...)               // want `MC101`
	s.rdb.Watch(ctx, func(tx *redis.Tx) error { // want `MC101`
		tx.Watch(ctx, keys...) // want `MC101`
		return fn(tx)
	})
}

func pooled(pool *redigo.Pool) {
	pool.Get().Do("WATCH", "k") // want `MC103` `WATCH on a connection from the pool that is lost with it.*MC104`
	c := pool.Get()
	c.Do("WATCH", "k") // want `MC103` `under this WATCH SET is sent outside`
	c.Do("SET", "k", 1)
}

func whole(pool *redigo.Pool) {
	c := pool.Get()
	c.Do("WATCH", "k") // want `MC103`
	c.Send("MULTI")    // want `MC103`
	c.Send("SET", "k", 1)
	c.Do("EXEC") // want `MC103`
}

func held(c redigo.Conn) {
	c.Do("WATCH", "k") // want `MC103`
}
