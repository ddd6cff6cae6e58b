package after

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/unwatch/unwatch/rmw"
)

func (s *Service) increment(ctx context.Context, key string, in Input) error {
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
		n, err := redis.NewStringResult(cur.Text(), missing).Int()
		if err != nil && err != redis.Nil {
			return cur, err
		}
		n += in.N
		return rmw.String(strconv.Itoa(n)).WithTTL(rmw.NoTTL), nil
	})
	return err
}

func (s *Service) addFloat(ctx context.Context, key string, in Input) error {
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
		f, err := redis.NewStringResult(cur.Text(), missing).Float64()
		if errors.Is(err, redis.Nil) {
			f = 0.5
		} else if err != nil {
			return cur, err
		}
		return rmw.String(strconv.FormatFloat(f+float64(in.N), 'f', -1, 64)), nil
	})
	return err
}

// appendText keeps its comments.
func (s *Service) appendText(ctx context.Context, key string, in Input) error {
	tried := false
	if _, err := s.store.Update(ctx, rmw.Key{Name: key}, func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
		// The second call means a conflict. Return it, as WATCH did; without this, Update tries again.
		if tried {
			return cur, redis.TxFailedErr
		}
		tried = true
		// The present text.
		var missing error
		if !cur.Exists() {
			missing = redis.Nil
		}
		old, err := redis.NewStringResult(cur.Text(), missing).Result()
		if err != nil && !errors.Is(err, redis.Nil) {
			return cur, fmt.Errorf("read %s: %w", key, err) // with the key
		}
		if strings.HasSuffix(old, "refuse") {
			return cur, ErrRefused
		}
		if len(old) > 40 {
			return cur, nil
		}
		// It lives on.
		return rmw.String(old + in.Text), nil
	}); err != nil {
		return fmt.Errorf("append: %w", err)
	}
	return nil
}

func (s *Service) bytesKept(ctx context.Context, key string, in Input) error {
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
		raw, err := redis.NewStringResult(cur.Text(), missing).Bytes()
		if raw == nil && missing == nil {
			raw = []byte{}
		}
		if err != nil && err != redis.Nil {
			return cur, err
		}
		raw = append(raw, in.Text...)
		return rmw.String(string(raw)).WithTTL(time.Minute), nil
	})
	return err
}

func (s *Service) claim(ctx context.Context, key string, in Input) error {
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
		owner, err := redis.NewStringResult(cur.Text(), missing).Result()
		if err == redis.Nil {
			owner = "nobody"
		} else if err != nil {
			return cur, err
		} else if owner == in.Text {
			return cur, nil
		}
		if owner == "refuse" {
			return cur, ErrRefused
		}
		return rmw.String(in.Text).WithTTL(1500 * time.Millisecond), nil
	})
	return err
}

func (s *Service) take(ctx context.Context, key string, in Input) error {
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
			return cur, err
		}
		if text != in.Text {
			return cur, ErrRefused
		}
		return rmw.Value{}, nil
	})
	return err
}

type state struct {
	Count int      `json:"count"`
	Seen  []string `json:"seen"`
}

// expiring stores the same again, to give it an hour.
func (s *Service) expiring(ctx context.Context, key string, _ Input) error {
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
			return cur, err
		}
		return rmw.String(text).WithTTL(time.Hour), nil
	})
	return err
}

func (s *Service) dynamic(ctx context.Context, key string, in Input) error {
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
		if err != nil && err != redis.Nil {
			return cur, err
		}
		if len(text) > 20 {
			text = ""
		}
		next := rmw.String(text)
		switch expiry := in.TTL; {
		case expiry > 0:
			next = next.WithTTL(max(expiry, time.Millisecond))
		case expiry != redis.KeepTTL:
			next = next.WithTTL(rmw.NoTTL)
		}
		return next, nil
	})
	return err
}

func (s *Service) unsigned(ctx context.Context, key string, _ Input) error {
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
		n, err := redis.NewStringResult(cur.Text(), missing).Uint64()
		if err == redis.Nil {
			return cur, nil
		} else if err != nil {
			return cur, err
		}
		return rmw.String(strconv.FormatUint(uint64(uint32(n+1)), 10)).WithTTL(rmw.NoTTL), nil
	})
	return err
}

func (s *Service) retried(ctx context.Context, key string, _ Input) error {
	var tried bool
	change := func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
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
		if err != nil && err != redis.Nil {
			return cur, err
		}
		return rmw.String(strconv.Itoa(n + 1)).WithTTL(rmw.NoTTL), nil
	}
	for range 1000 {
		tried = false
		_, err := s.store.Update(ctx, rmw.Key{Name: key}, change)
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
