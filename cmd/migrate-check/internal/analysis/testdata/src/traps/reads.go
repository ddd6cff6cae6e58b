package traps

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"
)

func (s *service) nilMarshalled(ctx context.Context, key string) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error { // want `^fixed$`
		raw, err := tx.Get(ctx, key).Bytes()
		if err != nil && err != redis.Nil {
			return err
		}
		_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.Set(ctx, key, doc{Raw: raw}.text(), 0)
			return nil
		})
		return err
	}, key)
}

func (s *service) nilHandedOn(ctx context.Context, key string) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error { // want `^fixed$`
		raw, err := tx.Get(ctx, key).Bytes()
		if err != nil && err != redis.Nil {
			return err
		}
		_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.Set(ctx, key, pick(raw), 0)
			return nil
		})
		return err
	}, key)
}

func (d doc) text() string {
	all, _ := json.Marshal(d)
	return string(all)
}

func pick(raw []byte) string {
	if raw == nil {
		return "none"
	}
	return string(raw)
}

func (s *service) retryByHand(ctx context.Context, key string) error {
	for {
		err := s.rdb.Watch(ctx, func(tx *redis.Tx) error { // want `^fixed$`
			n, err := tx.Get(ctx, key).Int()
			if err != nil && err != redis.Nil {
				return err
			}
			if n == 7 {
				return redis.TxFailedErr
			}
			_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
				pipe.Set(ctx, key, n+1, 0)
				return nil
			})
			return err
		}, key)
		if err == redis.TxFailedErr {
			continue
		}
		return err
	}
}

func (s *service) keyMovesOn(ctx context.Context) error {
	for {
		err := s.rdb.Watch(ctx, func(tx *redis.Tx) error { // want `^not fixed: .*(?:cannot prove that s.rename only computes)`
			n, err := tx.Get(ctx, s.name).Int()
			if err != nil && err != redis.Nil {
				return err
			}
			s.rename()
			_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
				pipe.Set(ctx, s.name, n+1, 0)
				return nil
			})
			return err
		}, s.name)
		if err == redis.TxFailedErr {
			continue
		}
		return err
	}
}

func (s *service) errBefore(ctx context.Context, key string) error {
	var err error
	use(ctx)
	for {
		err := s.rdb.Watch(ctx, func(tx *redis.Tx) error { // want `^fixed$`
			n, err := tx.Get(ctx, key).Int()
			if err != nil && err != redis.Nil {
				return err
			}
			_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
				pipe.Set(ctx, key, n+1, 0)
				return nil
			})
			return err
		}, key)
		if err == redis.TxFailedErr {
			continue
		}
		return err
	}
	return err
}

func (s *service) otherClient(ctx context.Context, key string) error {
	return s.deps.other.Watch(ctx, func(tx *redis.Tx) error { // want `^not fixed: .*(?:may be of another server)`
		n, err := tx.Get(ctx, key).Int()
		if err != nil && err != redis.Nil {
			return err
		}
		_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.Set(ctx, key, n+1, 0)
			return nil
		})
		return err
	}, key)
}

func (s *service) parens(ctx context.Context, key string) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error { // want `^fixed$`
		n, err := (tx.Get)(ctx, key).Int()
		if err != nil && err != redis.Nil {
			return err
		}
		pipe := tx.TxPipeline()
		pipe.Set(ctx, key, n+1, 0)
		_, err = (pipe.Exec)(ctx)
		return err
	}, key)
}

func (s *service) parensExec(ctx context.Context, key string) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error { // want `^fixed$`
		n, err := tx.Get(ctx, key).Int()
		if err != nil && err != redis.Nil {
			return err
		}
		pipe := tx.TxPipeline()
		pipe.Set(ctx, key, n+1, 0)
		_, err = (pipe.Exec)(ctx)
		return err
	}, key)
}

func (s *service) wrappedConflict(ctx context.Context, key string) error {
	for {
		err := s.rdb.Watch(ctx, func(tx *redis.Tx) error { // want `^not fixed: .*a conflict is returned with more words`
			n, err := tx.Get(ctx, key).Int()
			if err != nil && err != redis.Nil {
				return err
			}
			_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
				pipe.Set(ctx, key, n+1, 0)
				return nil
			})
			if err != nil {
				return fmt.Errorf("write: %w", err)
			}
			return nil
		}, key)
		if err == redis.TxFailedErr {
			continue
		}
		return err
	}
}

func (s *service) keyDecoded(ctx context.Context) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error { // want `^not fixed: json.Unmarshal may change a variable of the key`
		raw, err := tx.Get(ctx, s.name).Bytes()
		if err != nil {
			return err
		}
		alias := s
		if err := json.Unmarshal(raw, alias); err != nil {
			return err
		}
		_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.Set(ctx, s.name, raw, 0)
			return nil
		})
		return err
	}, s.name)
}

func (s *service) keyOverwritten(ctx context.Context) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error { // want `^not fixed: name, of which the key or the context is made, may be assigned`
		text, err := tx.Get(ctx, s.name).Result()
		if err != nil {
			return err
		}
		alias := s
		*alias = service{}
		_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.Set(ctx, s.name, text, 0)
			return nil
		})
		return err
	}, s.name)
}

func (s *service) keyJoined(ctx context.Context, parts []string) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error { // want `^not fixed: the key is made of the elements of parts, which may change`
		text, err := tx.Get(ctx, strings.Join(parts, ":")).Result()
		if err != nil {
			return err
		}
		alias := parts
		alias[0] = text
		_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.Set(ctx, strings.Join(parts, ":"), text, 0)
			return nil
		})
		return err
	}, strings.Join(parts, ":"))
}
