//go:build windows

package store

import (
	"context"

	"github.com/gomodule/redigo/redis"
	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
)

const multi = "MULTI"

type Store struct {
	rdb  *goredis.Client
	pool *redis.Pool
	rueidis.Client
}

func New(addr string) *Store {
	return &Store{rdb: goredis.NewClient(&goredis.Options{Addr: addr})}
}

func (s *Store) Take(ctx context.Context, key string) error {
	return s.rdb.Watch(ctx, func(tx *goredis.Tx) error { // want MC101
		n, err := tx.Get(ctx, key).Int()
		if err != nil {
			return err
		}
		_, err = tx.TxPipelined(ctx, func(pipe goredis.Pipeliner) error { // want MC102
			pipe.Set(ctx, key, n+1, 0)
			return nil
		})
		return err
	}, key)
}

func (s *Store) Piped(ctx context.Context) error {
	pipe := s.rdb.Pipeline()
	pipe.Get(ctx, "a")
	_, err := pipe.Exec(ctx)
	return err
}

func (s *Store) Tx(ctx context.Context) {
	pipe := s.rdb.TxPipeline() // want MC102
	pipe.Incr(ctx, "a")
	pipe.Exec(ctx)
	s.rdb.Publish(ctx, "a", "b")     // want MC202
	sub := s.rdb.Subscribe(ctx, "a") // want MC201
	defer sub.Close()
	s.rdb.Keys(ctx, "*")                           // want MC401
	s.rdb.BLPop(ctx, 0, "q")                       // want MC301
	s.rdb.Do(ctx, "WATCH", "a")                    // want MC103
	s.rdb.XRead(ctx, &goredis.XReadArgs{Block: 0}) // want MC302
}

func (s *Store) Raw() {
	conn := s.pool.Get()
	defer conn.Close()
	conn.Send(multi) // want MC103
	conn.Send("SET", "a", "b")
	conn.Do("EXEC") // want MC103
	psc := redis.PubSubConn{Conn: conn}
	psc.Subscribe("a") // want MC201
}

func cluster() goredis.UniversalClient {
	return goredis.NewClusterClient(&goredis.ClusterOptions{}) // want MC601
}

func other(ctx context.Context, c rueidis.Client, r goredis.Cmdable) {
	c.Do(ctx, c.B().Watch().Key("a").Build()) // want MC101
	r.Rename(ctx, "a", "b")                   // want MC401
	cluster().Publish(ctx, "a", "b")          // want MC202
}
