// Package comments has comments in all places that are rewritten.
package comments

import (
	"context" // for all of them

	"github.com/redis/go-redis/v9" // the client
)

type service struct {
	rdb   *redis.Client
	store store
	n     int
}

func (s *service) single(ctx context.Context, key string) error {
	_, err := s.rdb.TxPipelined(ctx, func(pipe redis.Pipeliner) error { // want `^fixed$`
		// It counts.
		pipe.HSet(ctx, key, "n", 1) // by one
		return nil                  // always
	})
	return err
}

func (s *service) look(ctx context.Context, key string) (err error) {
	return s.rdb.Watch(ctx, // want `^fixed$`
		// it must not change meanwhile
		func(tx *redis.Tx) error {
			text, err := tx.Get(ctx, key).Result()
			if err != nil {
				return err
			}
			s.count(text)
			return nil
		},
		key, // the account
	)
}

func (s *service) count(text string) { s.n += len(text) }

func (s *service) update(ctx context.Context, key string) error {
	err := s.rdb.Watch(ctx, func(tx *redis.Tx) error { // want `^fixed$`
		n, err := tx.Get(ctx, key).Int() // how many
		if err != nil && err != redis.Nil {
			return err // of the network
		}
		_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			// One more.
			pipe.Set(ctx, key, n+1 /* of them */, 0) // for ever
			return nil
		})
		return err
	},
		key, // the account
	)
	return err
}
