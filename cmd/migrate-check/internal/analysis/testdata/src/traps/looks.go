package traps

import (
	"context"

	"github.com/redis/go-redis/v9"
)

func (s *service) lookNamed(ctx context.Context, key string) (err error) {
	return s.rdb.Watch(ctx, // want `^fixed$`
		// it must not change meanwhile
		func(tx *redis.Tx) error {
			text, err := tx.Get(ctx, key).Result()
			if err != nil {
				return err
			}
			seen = len(text)
			return nil
		}, key)
}

func (s *service) lookWithoutError(ctx context.Context, key string) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error { // want `^not fixed: .*(?:error)`
		text, _ := tx.Get(ctx, key).Result()
		seen = len(text)
		return nil
	}, key)
}

func (s *service) lookForgiving(ctx context.Context, key string) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error { // want `^not fixed: .*(?:error)`
		text, err := tx.Get(ctx, key).Result()
		if err != nil {
			return nil
		}
		seen = len(text)
		return nil
	}, key)
}

func (s *service) lookAfterEffect(ctx context.Context, key string) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error { // want `^not fixed: .*(?:before)`
		s.rename()
		text, err := tx.Get(ctx, key).Result()
		if err != nil {
			return err
		}
		seen = len(text)
		return nil
	}, key)
}

func (s *service) lookMaybe(ctx context.Context, key string) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error { // want `^not fixed: .*`
		if s.name == "" {
			return nil
		}
		return tx.Get(ctx, key).Err()
	}, key)
}

func (s *service) lookOtherContext(ctx context.Context, key string) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error { // want `^not fixed: .*(?:context)`
		text, err := tx.Get(context.Background(), key).Result()
		if err != nil {
			return err
		}
		seen = len(text)
		return nil
	}, key)
}

func (s *service) lookLater(ctx context.Context, all []*redis.Client, key string) {
	var c *redis.Client
	for _, c = range all {
		go c.Watch(ctx, func(tx *redis.Tx) error { // want `^not fixed: .*(?:later)`
			text, err := tx.Get(ctx, key).Result()
			if err != nil {
				return err
			}
			seen = len(text)
			return nil
		}, key)
	}
}

func (s *service) lookDeferred(ctx context.Context, key string) {
	defer s.rdb.Watch(ctx, func(tx *redis.Tx) error { // want `^not fixed: .*(?:later)`
		text, err := tx.Get(ctx, key).Result()
		if err != nil {
			return err
		}
		seen = len(text)
		return nil
	}, key)
}

func (s *service) lookInRing(ctx context.Context, ring *redis.Ring, key string) error {
	return ring.Watch(ctx, func(tx *redis.Tx) error { // want `^not fixed: .*(?:another server)`
		text, err := tx.Get(ctx, key+":other").Result()
		if err != nil {
			return err
		}
		seen = len(text)
		return nil
	}, key)
}

func (s *service) lookInCluster(ctx context.Context, many *redis.ClusterClient, key string) error {
	return many.Watch(ctx, func(tx *redis.Tx) error { // want `^not fixed: .*(?:another server)`
		text, err := tx.Get(ctx, key).Result()
		if err != nil {
			return err
		}
		seen = len(text)
		return nil
	}, key)
}

func (s *service) lookElsewhere(ctx context.Context, any redis.UniversalClient, key string) error {
	return any.Watch(ctx, func(tx *redis.Tx) error { // want `^not fixed: .*(?:another server)`
		text, err := tx.Get(ctx, key+":other").Result()
		if err != nil {
			return err
		}
		seen = len(text)
		return nil
	}, key)
}

func (s *service) lookLosesKey(ctx context.Context, id string) error {
	var key string
	key = "a:" + id
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error { // want `^not fixed: it would not compile: declared and not used: key`
		text, err := tx.Get(ctx, "a:"+id).Result()
		if err != nil {
			return err
		}
		seen = len(text)
		return nil
	}, key)
}
