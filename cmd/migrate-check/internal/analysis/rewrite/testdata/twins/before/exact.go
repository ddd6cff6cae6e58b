package before

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

func (s *Service) scanned(ctx context.Context, key string, _ Input) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error {
		var n int8
		if err := tx.Get(ctx, key).Scan(&n); err != nil {
			return err
		}
		_, err := tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.Set(ctx, key, n/2, 0)
			return nil
		})
		return err
	}, key)
}

func (s *Service) dated(ctx context.Context, key string, in Input) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error {
		at, err := tx.HGet(ctx, key, in.Field).Time()
		if err != nil && err != redis.Nil {
			return err
		}
		_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.HSet(ctx, key, in.Field, at.Add(time.Hour).Format(time.RFC3339))
			return nil
		})
		return err
	}, key)
}

// counts changes variables outside, in each way.
func (s *Service) counts(ctx context.Context, key string, in Input) error {
	var (
		seen    []string
		created bool
		last    string
		decoded state
		sorted  = []int{3, in.N, 2}
		byName  = map[string]int{}
	)
	runs, err := 0, error(nil)
	err = s.rdb.Watch(ctx, func(tx *redis.Tx) error {
		text, err := tx.Get(ctx, key).Result()
		if err != nil && err != redis.Nil {
			return err
		}
		runs++
		s.remember(text)
		seen = append(seen, text)
		created = created || err == redis.Nil
		for _, last = range strings.SplitAfter(text, " ") {
			alias := byName
			alias[last]++
		}
		slices.Sort(sorted)
		if json.Unmarshal([]byte(text), &decoded) != nil && text == "refuse" {
			return ErrRefused
		}
		_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.Set(ctx, key, text+in.Text+"!", 0)
			return nil
		})
		return err
	}, key)
	if runs > 0 && err == nil {
		return fmt.Errorf("%d runs, %q, %v, %q, %v, %v, %v, %q", runs, seen, created, last, decoded, sorted, byName, s.last)
	}
	return err
}

func (s *Service) remember(text string) { s.last = append(s.last, text) }

// outside hands the value out.
func (s *Service) outside(ctx context.Context, key string, in Input) error {
	var old string
	err := s.rdb.Watch(ctx, func(tx *redis.Tx) error {
		var err error
		old, err = tx.Get(ctx, key).Result()
		if err != nil && err != redis.Nil {
			return err
		}
		if err = ctx.Err(); err != nil {
			return err
		}
		_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.Set(ctx, key, in.Text, 0)
			return nil
		})
		return err
	}, key)
	if err == nil && old == "refuse" {
		return ErrRefused
	}
	return err
}
