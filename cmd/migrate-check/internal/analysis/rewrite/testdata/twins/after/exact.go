package after

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/unwatch/unwatch/rmw"
)

func (s *Service) scanned(ctx context.Context, key string, _ Input) error {
	tried := false
	_, err := s.store.Update(ctx, rmw.Key{Name: key}, func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
		// The second call means a conflict. Return it, as WATCH did; without this, Update tries again.
		if tried {
			return cur, redis.TxFailedErr
		}
		tried = true
		var n int8
		var missing error
		if !cur.Exists() {
			missing = redis.Nil
		}
		if err := redis.NewStringResult(cur.Text(), missing).Scan(&n); err != nil {
			return cur, err
		}
		return rmw.String(strconv.FormatInt(int64(n/2), 10)).WithTTL(rmw.NoTTL), nil
	})
	return err
}

func (s *Service) dated(ctx context.Context, key string, in Input) error {
	tried := false
	_, err := s.store.Update(ctx, rmw.Key{Name: key, Kind: rmw.KindHash}, func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
		// Update reads all fields of the hash, and its fields have one lock: see rmw.KindHash.
		// The second call means a conflict. Return it, as WATCH did; without this, Update tries again.
		if tried {
			return cur, redis.TxFailedErr
		}
		tried = true
		content, ok := cur.Field(in.Field)
		var missing error
		if !ok {
			missing = redis.Nil
		}
		at, err := redis.NewStringResult(content, missing).Time()
		if err != nil && err != redis.Nil {
			return cur, err
		}
		return cur.With(in.Field, at.Add(time.Hour).Format(time.RFC3339)), nil
	})
	return err
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
	tried := false
	_, err = s.store.Update(ctx, rmw.Key{Name: key}, func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
		// The second call means a conflict. Return it, as WATCH did; without this, Update tries again.
		if tried {
			return cur, redis.TxFailedErr
		}
		tried = true
		var missing error
		if !cur.Exists() {
			missing = redis.Nil
		}
		text, err := redis.NewStringResult(cur.Text(), missing).Result()
		if err != nil && err != redis.Nil {
			return cur, err
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
			return cur, ErrRefused
		}
		return rmw.String(text + in.Text + "!").WithTTL(rmw.NoTTL), nil
	})
	if runs > 0 && err == nil {
		return fmt.Errorf("%d runs, %q, %v, %q, %v, %v, %v, %q", runs, seen, created, last, decoded, sorted, byName, s.last)
	}
	return err
}

func (s *Service) remember(text string) { s.last = append(s.last, text) }

// outside hands the value out.
func (s *Service) outside(ctx context.Context, key string, in Input) error {
	var old string
	tried := false
	_, err := s.store.Update(ctx, rmw.Key{Name: key}, func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
		// The second call means a conflict. Return it, as WATCH did; without this, Update tries again.
		if tried {
			return cur, redis.TxFailedErr
		}
		tried = true
		var err error
		var missing error
		if !cur.Exists() {
			missing = redis.Nil
		}
		old, err = redis.NewStringResult(cur.Text(), missing).Result()
		if err != nil && err != redis.Nil {
			return cur, err
		}
		if err = ctx.Err(); err != nil {
			return cur, err
		}
		return rmw.String(in.Text).WithTTL(rmw.NoTTL), nil
	})
	if err == nil && old == "refuse" {
		return ErrRefused
	}
	return err
}
