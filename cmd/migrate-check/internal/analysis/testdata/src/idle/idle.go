// Package idle watches for nothing.
package idle

import (
	"context"
	"strconv"

	redigo "github.com/gomodule/redigo/redis"
	"github.com/redis/go-redis/v9"
)

type store struct{ rdb *redis.Client }

func (s *store) outside(ctx context.Context) {
	s.rdb.Watch(ctx, func(tx *redis.Tx) error { // want `MC101` `under this WATCH SET is sent outside of MULTI and EXEC.*MC104`
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
	s.rdb.Watch(ctx, func(tx *redis.Tx) error { return s.given(tx) }, "k")        // want `MC101`
	s.rdb.Watch(ctx, func(tx *redis.Tx) error { return s.another(ctx) }, "k")     // want `MC101`
	s.rdb.Watch(ctx, s.given, "k")                                                // want `MC101`
	s.rdb.Watch(ctx, func(tx *redis.Tx) error { tx.Pipeline(); return nil }, "k") // want `MC101`
	s.rdb.Watch(ctx, func(tx *redis.Tx) error {                                   // want `MC101`
		tx.TxPipeline() // want `MC102`
		return nil
	}, "k")
}

func (s *store) given(tx *redis.Tx) error          { return nil }
func (s *store) another(ctx context.Context) error { return s.rdb.Set(ctx, "k", 1, 0).Err() }

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
