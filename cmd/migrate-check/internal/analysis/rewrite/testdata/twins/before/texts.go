package before

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

func (s *Service) increment(ctx context.Context, key string, in Input) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error {
		n, err := tx.Get(ctx, key).Int()
		if err != nil && err != redis.Nil {
			return err
		}
		n += in.N
		_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.Set(ctx, key, n, 0)
			return nil
		})
		return err
	}, key)
}

func (s *Service) addFloat(ctx context.Context, key string, in Input) error {
	err := s.rdb.Watch(ctx, func(tx *redis.Tx) error {
		f, err := tx.Get(ctx, key).Float64()
		if errors.Is(err, redis.Nil) {
			f = 0.5
		} else if err != nil {
			return err
		}
		if _, err := tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			return pipe.Set(ctx, key, f+float64(in.N), redis.KeepTTL).Err()
		}); err != nil {
			return err
		}
		return nil
	}, key)
	return err
}

// appendText keeps its comments.
func (s *Service) appendText(ctx context.Context, key string, in Input) error {
	if err := s.rdb.Watch(ctx, func(tx *redis.Tx) error {
		// The present text.
		old, err := tx.Get(ctx, key).Result()
		if err != nil && !errors.Is(err, redis.Nil) {
			return fmt.Errorf("read %s: %w", key, err) // with the key
		}
		if strings.HasSuffix(old, "refuse") {
			return ErrRefused
		}
		if len(old) > 40 {
			return nil
		}
		_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			// It lives on.
			pipe.Set(ctx, key, old+in.Text, redis.KeepTTL)
			return nil
		})
		return err
	}, key); err != nil {
		return fmt.Errorf("append: %w", err)
	}
	return nil
}

func (s *Service) bytesKept(ctx context.Context, key string, in Input) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error {
		raw, err := tx.Get(ctx, key).Bytes()
		if err != nil && err != redis.Nil {
			return err
		}
		raw = append(raw, in.Text...)
		_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.Set(ctx, key, raw, time.Minute)
			return nil
		})
		return err
	}, key)
}

func (s *Service) claim(ctx context.Context, key string, in Input) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error {
		owner, err := tx.Get(ctx, key).Result()
		if err == redis.Nil {
			owner = "nobody"
		} else if err != nil {
			return err
		} else if owner == in.Text {
			return nil
		}
		if owner == "refuse" {
			return ErrRefused
		}
		_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.Set(ctx, key, in.Text, 1500*time.Millisecond)
			return nil
		})
		return err
	}, key)
}

func (s *Service) take(ctx context.Context, key string, in Input) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error {
		text, err := tx.Get(ctx, key).Result()
		if err != nil {
			return err
		}
		if text != in.Text {
			return ErrRefused
		}
		_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.Del(ctx, key)
			return nil
		})
		return err
	}, key)
}

type state struct {
	Count int      `json:"count"`
	Seen  []string `json:"seen"`
}

// expiring stores the same again, to give it an hour.
func (s *Service) expiring(ctx context.Context, key string, _ Input) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error {
		text, err := tx.Get(ctx, key).Result()
		if err != nil {
			return err
		}
		_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.Set(ctx, key, text, time.Hour)
			return nil
		})
		return err
	}, key)
}

func (s *Service) dynamic(ctx context.Context, key string, in Input) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error {
		text, err := tx.Get(ctx, key).Result()
		if err != nil && err != redis.Nil {
			return err
		}
		if len(text) > 20 {
			text = ""
		}
		_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.Set(ctx, key, text, in.TTL)
			return nil
		})
		return err
	}, key)
}

func (s *Service) unsigned(ctx context.Context, key string, _ Input) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error {
		n, err := tx.Get(ctx, key).Uint64()
		if err == redis.Nil {
			return nil
		} else if err != nil {
			return err
		}
		_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.Set(ctx, key, uint32(n+1), 0)
			return nil
		})
		return err
	}, key)
}

func (s *Service) retried(ctx context.Context, key string, _ Input) error {
	change := func(tx *redis.Tx) error {
		n, err := tx.Get(ctx, key).Int()
		if err != nil && err != redis.Nil {
			return err
		}
		_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.Set(ctx, key, n+1, 0)
			return nil
		})
		return err
	}
	for range 1000 {
		err := s.rdb.Watch(ctx, change, key)
		if err == nil {
			return nil
		}
		if err == redis.TxFailedErr {
			continue
		}
		return err
	}
	return ErrRefused
}
