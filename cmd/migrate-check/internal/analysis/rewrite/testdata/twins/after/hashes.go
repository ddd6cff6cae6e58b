package after

import (
	"context"
	"maps"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/unwatch/unwatch/rmw"
)

func (s *Service) field(ctx context.Context, key string, in Input) error {
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
		n, err := redis.NewStringResult(content, missing).Int()
		if err != nil && err != redis.Nil {
			return cur, err
		}
		return cur.With(in.Field, strconv.Itoa(n+in.N)).With("by", in.Text), nil
	})
	return err
}

func (s *Service) fields(ctx context.Context, key string, in Input) error {
	tried := false
	_, err := s.store.Update(ctx, rmw.Key{Name: key, Kind: rmw.KindHash}, func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
		// The second call means a conflict. Return it, as WATCH did; without this, Update tries again.
		if tried {
			return cur, redis.TxFailedErr
		}
		tried = true
		all, err := redis.NewMapStringStringResult(maps.Collect(cur.All()), nil).Result()
		if err != nil {
			return cur, err
		}
		all["extra"] = in.Text
		return cur.With("count", strconv.Itoa(len(all))), nil
	})
	return err
}

func (s *Service) dropField(ctx context.Context, key string, in Input) error {
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
		raw, err := redis.NewStringResult(content, missing).Bytes()
		if raw == nil && missing == nil {
			raw = []byte{}
		}
		if err != nil {
			return cur, err
		}
		if string(raw) == "refuse" {
			return cur, ErrRefused
		}
		return cur.Without(in.Field, "by"), nil
	})
	return err
}

func (s *Service) lookAll(ctx context.Context, key string, _ Input) error {
	n := 0
	read := func() error {
		all, err := s.rdb.HGetAll(ctx, key).Result()
		n = len(all)
		return err
	}
	if err := read(); err != nil {
		return err
	}
	if n > 2 {
		return ErrRefused
	}
	return nil
}

func (s *Service) singlePiped(ctx context.Context, key string, in Input) error {
	// It replaces the stored value.
	err := s.rdb.Set(ctx, key, in.Text, time.Minute).Err()
	return err
}
