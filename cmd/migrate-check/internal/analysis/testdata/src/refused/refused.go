// Package refused has transactions that are not rewritten, each for another reason.
package refused

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/unwatch/unwatch/rmw"
)

type service struct {
	rdb    *redis.Client
	store  rmw.Store
	name   string
	last   int
	done   bool
	ch     chan int
	notify func(int)
}

type own interface {
	Watch(ctx context.Context, fn func(*redis.Tx) error, keys ...string) error
}

type level string

var errOther = errors.New("other")

func (s *service) next() string {
	s.last++
	return s.name
}

func (s *service) helper(ctx context.Context, tx *redis.Tx) error { return nil }

func change(tx *redis.Tx) error { return nil }

func use() { fmt.Print(json.Valid(nil), slices.Max([]int{1}), time.Now(), log.Flags()) }

func (s *service) twoKeys(ctx context.Context, key string) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error { // want `^not fixed: .*(?:2 keys are watched)`
		n, err := tx.Get(ctx, key).Int()
		if err != nil && err != redis.Nil {
			return err
		}
		_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.Set(ctx, key, n+1, 0)
			return nil
		})
		return err
	}, key, "b")
}

func (s *service) keySlice(ctx context.Context, key string, keys []string) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error { // want `^not fixed: .*(?:its keys are a slice)`
		n, err := tx.Get(ctx, key).Int()
		if err != nil && err != redis.Nil {
			return err
		}
		_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.Set(ctx, key, n+1, 0)
			return nil
		})
		return err
	}, keys...)
}

func (s *service) otherKey(ctx context.Context, key string) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error { // want `^not fixed: .*(?:but "b" is used)`
		n, err := tx.Get(ctx, key).Int()
		if err != nil && err != redis.Nil {
			return err
		}
		_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.Set(ctx, "b", n+1, 0)
			return nil
		})
		return err
	}, key)
}

func (s *service) otherRead(ctx context.Context, key string) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error { // want `^not fixed: .*(?:but s.name is used)`
		n, err := tx.Get(ctx, s.name).Int()
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

func (s *service) keyCalled(ctx context.Context, key string) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error { // want `^not fixed: .*(?:is not a plain expression)`
		n, err := tx.Get(ctx, key).Int()
		if err != nil && err != redis.Nil {
			return err
		}
		_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.Set(ctx, key, n+1, 0)
			return nil
		})
		return err
	}, s.next())
}

func (s *service) keyChanges(ctx context.Context, key string) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error { // want `^not fixed: .*(?:of which the key or the context is made, may be assigned)`
		n, err := tx.Get(ctx, key).Int()
		if err != nil && err != redis.Nil {
			return err
		}
		key += "x"
		_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.Set(ctx, key, n+1, 0)
			return nil
		})
		return err
	}, key)
}

func (s *service) noRead(ctx context.Context, key string) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error { // want `^not fixed: .*(?:the key is not read before it is written)`
		_, err := tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.Set(ctx, key, 1, 0)
			return nil
		})
		return err
	}, key)
}

func (s *service) readTwice(ctx context.Context, key string) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error { // want `^not fixed: .*(?:more than one read)`
		n, err := tx.Get(ctx, key).Int()
		if err != nil && err != redis.Nil {
			return err
		}
		if err := tx.Get(ctx, "other").Err(); err != nil {
			return err
		}
		_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.Set(ctx, key, n+1, 0)
			return nil
		})
		return err
	}, key)
}

func (s *service) writeTwice(ctx context.Context, key string) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error { // want `^not fixed: .*(?:there are 2 uses of the pipeline)`
		n, err := tx.Get(ctx, key).Int()
		if err != nil && err != redis.Nil {
			return err
		}
		_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.Set(ctx, key, n+1, 0)
			pipe.Expire(ctx, key, time.Hour)
			return nil
		})
		return err
	}, key)
}

func (s *service) noneWritten(ctx context.Context, key string) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error { // want `^not fixed: .*(?:the answer of the command is kept)`
		n, err := tx.Get(ctx, key).Int()
		if err != nil && err != redis.Nil {
			return err
		}
		_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			if n > 3 {
				pipe.Set(ctx, key, n+1, 0)
			}
			return nil
		})
		return err
	}, key)
}

func (s *service) handedOn(ctx context.Context, key string) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error { // want `^not fixed: .*(?:tx is handed on)`
		return s.helper(ctx, tx)
	}, key)
}

func (s *service) exists(ctx context.Context, key string) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error { // want `^not fixed: .*(?:Exists is neither Get)`
		n, err := tx.Exists(ctx, key).Result()
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

func (s *service) list(ctx context.Context, key string) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error { // want `^not fixed: .*(?:ZCard is neither Get)`
		n, err := tx.ZCard(ctx, key).Result()
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

func (s *service) errorIgnored(ctx context.Context, key string) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error { // want `^not fixed: .*(?:the error of the read is thrown away)`
		n, _ := tx.Get(ctx, key).Int()
		_, err := tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.Set(ctx, key, n+1, 0)
			return nil
		})
		return err
	}, key)
}

func (s *service) errorSwallowed(ctx context.Context, key string) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error { // want `^not fixed: .*(?:an error of the read is not just returned)`
		n, err := tx.Get(ctx, key).Int()
		if err != nil && err != redis.Nil {
			return nil
		}
		_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.Set(ctx, key, n+1, 0)
			return nil
		})
		return err
	}, key)
}

func (s *service) errorExchanged(ctx context.Context, key string) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error { // want `^not fixed: .*(?:an error of the read is not just returned)`
		n, err := tx.Get(ctx, key).Int()
		if err != nil && err != redis.Nil {
			return errOther
		}
		_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.Set(ctx, key, n+1, 0)
			return nil
		})
		return err
	}, key)
}

func (s *service) errorLogged(ctx context.Context, key string) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error { // want `^not fixed: .*(?:an error of the read is not just returned)`
		n, err := tx.Get(ctx, key).Int()
		if err != nil && err != redis.Nil {
			log.Print(err)
			return err
		}
		_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.Set(ctx, key, n+1, 0)
			return nil
		})
		return err
	}, key)
}

func (s *service) errorHidden(ctx context.Context, key string) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error { // want `^not fixed: .*(?:an error of the read is not just returned)`
		n, err := tx.Get(ctx, key).Int()
		if err != nil && err != redis.Nil {
			return fmt.Errorf("read: %v", err)
		}
		_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.Set(ctx, key, n+1, 0)
			return nil
		})
		return err
	}, key)
}

func (s *service) errorLater(ctx context.Context, key string) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error { // want `^not fixed: .*(?:an error of the read is not just returned)`
		n, err := tx.Get(ctx, key).Int()
		n++
		if err != nil {
			return err
		}
		_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.Set(ctx, key, n+1, 0)
			return nil
		})
		return err
	}, key)
}

func (s *service) val(ctx context.Context, key string) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error { // want `^not fixed: .*(?:the error of the read is thrown away)`
		n := tx.Get(ctx, key).Val()
		_, err := tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.Set(ctx, key, n, 0)
			return nil
		})
		return err
	}, key)
}

func (s *service) later(ctx context.Context, key string) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error { // want `^not fixed: .*(?:is not used at once)`
		cmd := tx.Get(ctx, key)
		n, err := cmd.Int()
		if err != nil {
			return err
		}
		_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.Set(ctx, key, n+1, 0)
			return nil
		})
		return err
	}, key)
}

func (s *service) branch(ctx context.Context, key string) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error { // want `^not fixed: .*(?:stands in an expression, or in a branch)`
		var n int
		var err error
		if key != "" {
			if n, err = tx.Get(ctx, key).Int(); err != nil {
				return err
			}
		}
		_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.Set(ctx, key, n+1, 0)
			return nil
		})
		return err
	}, key)
}

func (s *service) afterwards(ctx context.Context, key string) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error { // want `^not fixed: .*(?:more happens than that its error is returned)`
		n, err := tx.Get(ctx, key).Int()
		if err != nil && err != redis.Nil {
			return err
		}
		_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.Set(ctx, key, n+1, 0)
			return nil
		})
		if err == nil {
			s.done = true
		}
		return err
	}, key)
}

func (s *service) answersKept(ctx context.Context, key string) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error { // want `^not fixed: .*(?:the answers of the pipeline are kept)`
		n, err := tx.Get(ctx, key).Int()
		if err != nil && err != redis.Nil {
			return err
		}
		cmds, err := tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.Set(ctx, key, n+1, 0)
			return nil
		})
		if len(cmds) > 0 {
			return err
		}
		return nil
	}, key)
}

func (s *service) branches(ctx context.Context, key string) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error { // want `^not fixed: .*(?:one of several branches)`
		n, err := tx.Get(ctx, key).Int()
		if err != nil && err != redis.Nil {
			return err
		}
		if n > 3 {
			_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
				pipe.Set(ctx, key, n+1, 0)
				return nil
			})
			return err
		}
		return nil
	}, key)
}

func (s *service) goroutine(ctx context.Context, key string) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error { // want `^not fixed: .*(?:starts a goroutine)`
		n, err := tx.Get(ctx, key).Int()
		if err != nil && err != redis.Nil {
			return err
		}
		go func() {}()
		_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.Set(ctx, key, n+1, 0)
			return nil
		})
		return err
	}, key)
}

func (s *service) defers(ctx context.Context, key string) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error { // want `^not fixed: .*(?:defers a call)`
		n, err := tx.Get(ctx, key).Int()
		if err != nil && err != redis.Nil {
			return err
		}
		defer func() {}()
		_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.Set(ctx, key, n+1, 0)
			return nil
		})
		return err
	}, key)
}

func (s *service) channel(ctx context.Context, key string) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error { // want `^not fixed: .*(?:uses a channel)`
		n, err := tx.Get(ctx, key).Int()
		if err != nil && err != redis.Nil {
			return err
		}
		s.ch <- n
		_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.Set(ctx, key, n+1, 0)
			return nil
		})
		return err
	}, key)
}

func (s *service) received(ctx context.Context, key string) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error { // want `^not fixed: .*(?:uses a channel)`
		n, err := tx.Get(ctx, key).Int()
		if err != nil && err != redis.Nil {
			return err
		}
		n = <-s.ch
		_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.Set(ctx, key, n+1, 0)
			return nil
		})
		return err
	}, key)
}

func (s *service) label(ctx context.Context, key string) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error { // want `^not fixed: .*(?:has a label)`
		n, err := tx.Get(ctx, key).Int()
		if err != nil && err != redis.Nil {
			return err
		}
	again:
		if n > 100 {
			n /= 2
			goto again
		}
		_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.Set(ctx, key, n+1, 0)
			return nil
		})
		return err
	}, key)
}

func (s *service) unknownCall(ctx context.Context, key string) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error { // want `^not fixed: .*(?:cannot prove that s.notify only computes)`
		n, err := tx.Get(ctx, key).Int()
		if err != nil && err != redis.Nil {
			return err
		}
		s.notify(n)
		_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.Set(ctx, key, n+1, 0)
			return nil
		})
		return err
	}, key)
}

func (s *service) sleeps(ctx context.Context, key string) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error { // want `^not fixed: .*(?:time.Sleep is called)`
		n, err := tx.Get(ctx, key).Int()
		if err != nil && err != redis.Nil {
			return err
		}
		time.Sleep(1)
		_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.Set(ctx, key, n+1, 0)
			return nil
		})
		return err
	}, key)
}

func (s *service) prints(ctx context.Context, key string) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error { // want `^not fixed: .*(?:cannot prove that log.Print only computes)`
		n, err := tx.Get(ctx, key).Int()
		if err != nil && err != redis.Nil {
			return err
		}
		log.Print(n)
		_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.Set(ctx, key, n+1, 0)
			return nil
		})
		return err
	}, key)
}

func (s *service) otherCommand(ctx context.Context, key string) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error { // want `^not fixed: .*(?:s.rdb.Publish.*is another command)`
		n, err := tx.Get(ctx, key).Int()
		if err != nil && err != redis.Nil {
			return err
		}
		if err := s.rdb.Publish(ctx, "c", n).Err(); err != nil {
			return err
		}
		_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.Set(ctx, key, n+1, 0)
			return nil
		})
		return err
	}, key)
}

func (s *service) callback(ctx context.Context, key string, fn func(int) int) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error { // want `^not fixed: .*(?:cannot prove that fn only computes)`
		n, err := tx.Get(ctx, key).Int()
		if err != nil && err != redis.Nil {
			return err
		}
		n = fn(n)
		_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.Set(ctx, key, n+1, 0)
			return nil
		})
		return err
	}, key)
}

func (s *service) ofAny(ctx context.Context, key string, v any) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error { // want `^not fixed: .*(?:are decided when it runs)`
		n, err := tx.Get(ctx, key).Int()
		if err != nil && err != redis.Nil {
			return err
		}
		if n > 9 {
			return nil
		}
		_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.Set(ctx, key, v, 0)
			return nil
		})
		return err
	}, key)
}

func (s *service) named(ctx context.Context, key string) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error { // want `^not fixed: .*(?:are decided when it runs)`
		n, err := tx.Get(ctx, key).Int()
		if err != nil && err != redis.Nil {
			return err
		}
		if n > 9 {
			return nil
		}
		_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.Set(ctx, key, level("x"), 0)
			return nil
		})
		return err
	}, key)
}

func (s *service) asBool(ctx context.Context, key string) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error { // want `^not fixed: .*(?:are not known to this tool)`
		n, err := tx.Get(ctx, key).Int()
		if err != nil && err != redis.Nil {
			return err
		}
		_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.Set(ctx, key, n > 1, 0)
			return nil
		})
		return err
	}, key)
}

func (s *service) aTime(ctx context.Context, key string) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error { // want `^not fixed: .*(?:are decided when it runs)`
		n, err := tx.Get(ctx, key).Int()
		if err != nil && err != redis.Nil {
			return err
		}
		if n > 9 {
			return nil
		}
		_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.Set(ctx, key, time.Now(), 0)
			return nil
		})
		return err
	}, key)
}

func (s *service) shortTTL(ctx context.Context, key string) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error { // want `^not fixed: .*(?:is less than a millisecond)`
		n, err := tx.Get(ctx, key).Int()
		if err != nil && err != redis.Nil {
			return err
		}
		_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.Set(ctx, key, n+1, time.Microsecond)
			return nil
		})
		return err
	}, key)
}

func (s *service) setNX(ctx context.Context, key string) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error { // want `^not fixed: .*(?:SetNX is neither Set)`
		n, err := tx.Get(ctx, key).Int()
		if err != nil && err != redis.Nil {
			return err
		}
		_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.SetNX(ctx, key, n+1, 0)
			return nil
		})
		return err
	}, key)
}

func (s *service) delTwo(ctx context.Context, key string) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error { // want `^not fixed: .*(?:Del has 3 arguments)`
		n, err := tx.Get(ctx, key).Int()
		if err != nil && err != redis.Nil {
			return err
		}
		n++
		if n > 9 {
			return nil
		}
		_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.Del(ctx, key, "b")
			return nil
		})
		return err
	}, key)
}

func (s *service) otherContext(ctx context.Context, key string) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error { // want `^not fixed: .*(?:the context is ctx here, and context.Background)`
		n, err := tx.Get(ctx, key).Int()
		if err != nil && err != redis.Nil {
			return err
		}
		_, err = tx.TxPipelined(context.Background(), func(pipe redis.Pipeliner) error {
			pipe.Set(ctx, key, n+1, 0)
			return nil
		})
		return err
	}, key)
}

func (s *service) hashOverText(ctx context.Context, key string) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error { // want `^not fixed: .*(?:a text is read, and a hash is written)`
		n, err := tx.Get(ctx, key).Int()
		if err != nil && err != redis.Nil {
			return err
		}
		_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.HSet(ctx, key, "f", n)
			return nil
		})
		return err
	}, key)
}

func (s *service) textOverHash(ctx context.Context, key string) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error { // want `^not fixed: .*(?:a hash is read, and a text is written)`
		n, err := tx.HGet(ctx, key, "f").Int()
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

func (s *service) hashSlice(ctx context.Context, key string) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error { // want `^not fixed: .*(?:HSet is not given names and values)`
		n, err := tx.HGet(ctx, key, "f").Int()
		if err != nil && err != redis.Nil {
			return err
		}
		_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.HSet(ctx, key, map[string]any{"f": n})
			return nil
		})
		return err
	}, key)
}

func (s *service) inExpression(ctx context.Context, key string) error {
	return errors.Join(s.rdb.Watch(ctx, func(tx *redis.Tx) error { // want `^not fixed: .*(?:its result is part of an expression)`
		n, err := tx.Get(ctx, key).Int()
		if err != nil && err != redis.Nil {
			return err
		}
		_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.Set(ctx, key, n+1, 0)
			return nil
		})
		return err
	}, key))
}

func (s *service) reused(ctx context.Context, key string) error {
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
	if err := s.rdb.Watch(ctx, change, key); err != nil { // want `^not fixed: .*(?:change is used elsewhere, too)`
		return err
	}
	return s.rdb.Watch(ctx, change, key) // want `^not fixed: .*(?:change is used elsewhere, too)`
}

func (s *service) elsewhere(ctx context.Context, key string) error {
	return s.rdb.Watch(ctx, change, key) // want `^not fixed: .*(?:the function is declared elsewhere)`
}

func (s *service) parameter(ctx context.Context, key string, change func(*redis.Tx) error) error {
	return s.rdb.Watch(ctx, change, key) // want `^not fixed: .*(?:the function in change is not written here)`
}

func (s *service) namedResult(ctx context.Context, key string) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) (err error) { // want `^not fixed: .*(?:the function.s result has a name)`
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

func (s *service) ownWatch(ctx context.Context, key string, o own) error {
	return o.Watch(ctx, func(tx *redis.Tx) error { // want `^not fixed: .*(?:it is a method of the code.s own)`
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

func (s *service) unused(ctx context.Context, key string) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error { // want `^not fixed: .*(?:the transaction is not used at all)`
		return nil
	}, key)
}

func (s *service) lookAndWrite(ctx context.Context, key string) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error { // want `^not fixed: .*(?:s.rdb is used inside)`
		if err := tx.Get(ctx, key).Err(); err != nil {
			return err
		}
		return s.rdb.Set(ctx, key, 1, 0).Err()
	}, key)
}

func (s *service) firstValue(ctx context.Context, key string) error {
	old := "none"
	err := s.rdb.Watch(ctx, func(tx *redis.Tx) error { // want `^not fixed: .*(?:is zero after a read that fails)`
		var err error
		old, err = tx.Get(ctx, key).Result()
		if err != nil {
			return err
		}
		if err = ctx.Err(); err != nil {
			return err
		}
		_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.Set(ctx, key, old, 0)
			return nil
		})
		return err
	}, key)
	log.Print(old)
	return err
}

func (s *service) loopHead(ctx context.Context, key string) error {
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
	err := s.rdb.Watch(ctx, change, key)                                  // want `^not fixed: .*(?:change is used elsewhere, too)`
	for ; err == redis.TxFailedErr; err = s.rdb.Watch(ctx, change, key) { // want `^not fixed: .*(?:change is used elsewhere, too)`
	}
	for err := s.rdb.Watch(ctx, func(tx *redis.Tx) error { // want `^not fixed: .*(?:in the head of a loop)`
		n, err := tx.Get(ctx, key).Int()
		if err != nil && err != redis.Nil {
			return err
		}
		_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.Set(ctx, key, n+1, 0)
			return nil
		})
		return err
	}, key); err != nil; {
		return err
	}
	return err
}

func (s *service) loopTail(ctx context.Context, key string) (err error) {
	for again := true; again; err = s.rdb.Watch(ctx, func(tx *redis.Tx) error { // want `^not fixed: .*(?:in the head of a loop)`
		n, err := tx.Get(ctx, key).Int()
		if err != nil && err != redis.Nil {
			return err
		}
		_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.Set(ctx, key, n+1, 0)
			return nil
		})
		return err
	}, key) {
		again = err == redis.TxFailedErr
	}
	return err
}

func (s *service) behindLabel(ctx context.Context, key string) (err error) {
again:
	err = s.rdb.Watch(ctx, func(tx *redis.Tx) error { // want `^not fixed: .*(?:behind a label)`
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
		goto again
	}
	return err
}

func (s *service) sharedByGoroutines(ctx context.Context, key string) {
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
	for range 3 {
		go func() {
			err := s.rdb.Watch(ctx, change, key) // want `^not fixed: .*(?:change is declared outside of the function that calls Watch)`
			log.Print(err)
		}()
	}
}

func (s *service) wrappedConflict(ctx context.Context, key string) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error { // want `^not fixed: .*a conflict is returned with more words`
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
}
