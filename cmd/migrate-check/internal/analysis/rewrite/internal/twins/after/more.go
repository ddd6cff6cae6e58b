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
		old = cur.Text()
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
		on, err := strconv.ParseBool(cur.Text())
		if err != nil && cur.Exists() {
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
		text := cur.Text()
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
		text := cur.Text()
		if !cur.Exists() {
			text = in.Text
		}
		return rmw.String(text + "!"), nil
	})
	return err
}
