package before

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// again uses the error of the read twice.
func (s *Service) again(ctx context.Context, key string, in Input) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error {
		n, err := tx.Get(ctx, key).Int()
		if err != nil && err != redis.Nil {
			return err
		}
		if err == redis.Nil {
			n = 7
		}
		_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.Set(ctx, key, strconv.Itoa(n+in.N)+fmt.Sprint(err), 0)
			return nil
		})
		return err
	}, key)
}

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

// bytesNil tells nil from no bytes.
func (s *Service) bytesNil(ctx context.Context, key string, in Input) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error {
		raw, err := tx.Get(ctx, key).Bytes()
		if err != nil && err != redis.Nil {
			return err
		}
		if len(raw) == 0 && raw != nil {
			return ErrRefused
		}
		text, err := json.Marshal(raw)
		if err != nil {
			return err
		}
		_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.Set(ctx, key, string(text)+in.Text, 0)
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
