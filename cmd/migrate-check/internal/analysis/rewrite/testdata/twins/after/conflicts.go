package after

import (
	"context"
	"errors"
	"strconv"

	"github.com/redis/go-redis/v9"
	"github.com/unwatch/unwatch/rmw"
)

// Runs is the key by which a function asks its ctx each time that it runs, so that a test can
// count the runs.
type Runs struct{}

// limited is a loop with a number of attempts and an error of its own for a conflict.
func (s *Service) limited(ctx context.Context, key string, in Input) error {
	for range 24 {
		tried := false
		_, err := s.store.Update(ctx, rmw.Key{Name: key}, func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
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
			if ctx.Value(Runs{}) != nil {
				return cur, nil
			}
			return rmw.String(text + in.Text).WithTTL(rmw.NoTTL), nil
		})
		if err == nil {
			return nil
		}
		if err == redis.TxFailedErr {
			continue
		}
		return err
	}
	return ErrConflict
}

// unlimited is a loop that only the ctx ends.
func (s *Service) unlimited(ctx context.Context, key string, in Input) error {
	for {
		tried := false
		if _, err := s.store.Update(ctx, rmw.Key{Name: key}, func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
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
				return cur, err
			}
			if ctx.Value(Runs{}) != nil {
				return cur, nil
			}
			return rmw.String(in.Text + text), nil
		}); !errors.Is(err, redis.TxFailedErr) {
			return err
		}
	}
}

// once returns a conflict to its caller.
func (s *Service) once(ctx context.Context, key string, in Input) error {
	tried := false
	_, err := s.store.Update(ctx, rmw.Key{Name: key}, func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
		// The second call means a conflict. Return it, as WATCH did; without this, Update tries again.
		if tried {
			return cur, redis.TxFailedErr
		}
		tried = true
		var missing error
		if !cur.Exists() {
			missing = redis.Nil
		}
		n, err := redis.NewStringResult(cur.Text(), missing).Int()
		if err == redis.Nil {
			n = 1
		} else if err != nil {
			return cur, err
		}
		if ctx.Value(Runs{}) != nil {
			return cur, nil
		}
		return rmw.String(strconv.Itoa(n + in.N)).WithTTL(rmw.NoTTL), nil
	})
	return err
}
