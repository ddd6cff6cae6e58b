package after

import (
	"context"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/unwatch/unwatch/rmw"
)

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

func (s *Service) flag(ctx context.Context, key string, _ Input) error {
	tried := false
	_, err := s.store.Update(ctx, rmw.Key{Name: key}, func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
		// The second call means a conflict. Return it, as WATCH did; without this, Update tries again.
		if tried {
			return cur, redis.TxFailedErr
		}
		tried = true
		var missing error
		if !cur.Exists() {
			missing = redis.Nil
		}
		on, err := redis.NewStringResult(cur.Text(), missing).Bool()
		if err != nil && err != redis.Nil {
			return cur, err
		}
		n := 1
		if on {
			n = 0
		}
		return rmw.String(strconv.Itoa(n)).WithTTL(time.Second), nil
	})
	return err
}

func keyOf(name string) string { return name + ":" + strconv.Itoa(len(name)) }

func (s *Service) prefixed(ctx context.Context, key string, _ Input) error {
	tried := false
	_, err := s.store.Update(ctx, rmw.Key{Name: keyOf(key)}, func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
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
		return rmw.String(text + "x").WithTTL(rmw.NoTTL), nil
	})
	return err
}

func (s *Service) unless(ctx context.Context, key string, in Input) error {
	tried := false
	_, err := s.store.Update(ctx, rmw.Key{Name: key}, func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
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
		if err != nil {
			if err != redis.Nil {
				return cur, err
			}
			text = in.Text
		}
		return rmw.String(text + "!"), nil
	})
	return err
}
