package traps

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"io"
	"net/url"
	"slices"
	"sort"
	"strings"

	"github.com/redis/go-redis/v9"
)

func (s *service) aliasOfPointer(ctx context.Context, key string) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error { // want `^fixed$`
		text, err := tx.Get(ctx, key).Result()
		if err != nil && err != redis.Nil {
			return err
		}
		d := s.doc
		if err := json.Unmarshal([]byte(text), d); err != nil {
			return err
		}
		_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.Set(ctx, key, "x", 0)
			return nil
		})
		return err
	}, key)
}

func (s *service) aliasOfSlice(ctx context.Context, key string) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error { // want `^fixed$`
		text, err := tx.Get(ctx, key).Result()
		if err != nil && err != redis.Nil {
			return err
		}
		all := s.list
		sort.Strings(all)
		_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.Set(ctx, key, text+all[0], 0)
			return nil
		})
		return err
	}, key)
}

func (s *service) aliasInLiteral(ctx context.Context, key string) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error { // want `^fixed$`
		text, err := tx.Get(ctx, key).Result()
		if err != nil && err != redis.Nil {
			return err
		}
		d := doc{Seen: s.seen}
		d.Seen[text] = true
		_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.Set(ctx, key, text, 0)
			return nil
		})
		return err
	}, key)
}

func (s *service) aliasAssigned(ctx context.Context, key string) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error { // want `^fixed$`
		text, err := tx.Get(ctx, key).Result()
		if err != nil && err != redis.Nil {
			return err
		}
		var d doc
		d.Seen = s.seen
		d.Seen[text] = true
		_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.Set(ctx, key, text, 0)
			return nil
		})
		return err
	}, key)
}

func (s *service) aliasCleared(ctx context.Context, key string) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error { // want `^fixed$`
		text, err := tx.Get(ctx, key).Result()
		if err != nil && err != redis.Nil {
			return err
		}
		m := s.seen
		clear(m)
		_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.Set(ctx, key, text, 0)
			return nil
		})
		return err
	}, key)
}

func (s *service) functionHandedOn(ctx context.Context, key string) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error { // want `^not fixed: .*(?:cannot prove that s.order)`
		text, err := tx.Get(ctx, key).Result()
		if err != nil && err != redis.Nil {
			return err
		}
		all := strings.Fields(text)
		slices.SortFunc(all, s.order)
		_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.Set(ctx, key, strings.Join(all, " "), 0)
			return nil
		})
		return err
	}, key)
}

func (s *service) valuesOfAMap(ctx context.Context, key string, q url.Values) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error { // want `^fixed$`
		text, err := tx.Get(ctx, key).Result()
		if err != nil && err != redis.Nil {
			return err
		}
		q.Add("seen", text)
		_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.Set(ctx, key, q.Encode(), 0)
			return nil
		})
		return err
	}, key)
}

func (s *service) writesToAWriter(ctx context.Context, key string, w io.Writer) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error { // want `^not fixed: .*(?:WriteTo)`
		text, err := tx.Get(ctx, key).Result()
		if err != nil && err != redis.Nil {
			return err
		}
		var b bytes.Buffer
		b.WriteString(text)
		if _, err := b.WriteTo(w); err != nil {
			return err
		}
		_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.Set(ctx, key, text, 0)
			return nil
		})
		return err
	}, key)
}

func (s *service) readsFromAReader(ctx context.Context, key string, r io.Reader) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error { // want `^not fixed: .*(?:Read)`
		_, err := tx.Get(ctx, key).Result()
		if err != nil && err != redis.Nil {
			return err
		}
		var n int64
		if err := binary.Read(r, binary.BigEndian, &n); err != nil {
			return err
		}
		_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.Set(ctx, key, n, 0)
			return nil
		})
		return err
	}, key)
}

func (s *service) commandInTheValue(ctx context.Context, key string) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error { // want `^not fixed: .*(?:is another command)`
		_, err := tx.Get(ctx, key).Result()
		if err != nil && err != redis.Nil {
			return err
		}
		_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.Set(ctx, key, s.rdb.Incr(ctx, "n").Val(), 0)
			return nil
		})
		return err
	}, key)
}

func (s *service) errorInTheValue(ctx context.Context, key string) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error { // want `^fixed$`
		text, err := tx.Get(ctx, key).Result()
		if err != nil && err != redis.Nil {
			return err
		}
		_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.Set(ctx, key, text+describe(err), 0)
			return nil
		})
		return err
	}, key)
}

func (s *service) errorInAClosure(ctx context.Context, key string) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error { // want `^not fixed: something happens before the first read`
		var err error
		if err = ctx.Err(); err != nil {
			return err
		}
		isNew := func() bool { return err == redis.Nil }
		var text string
		text, err = tx.Get(ctx, key).Result()
		if err != nil && err != redis.Nil {
			return err
		}
		was := "old"
		if isNew() {
			was = "new"
		}
		_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.Set(ctx, key, was+text, 0)
			return nil
		})
		return err
	}, key)
}

func (s *service) fieldWithAnEffect(ctx context.Context, key string) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error { // want `^not fixed: .*(?:not a plain expression)`
		text, err := tx.HGet(ctx, key, s.next()).Result()
		if err != nil && err != redis.Nil {
			return err
		}
		_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.HSet(ctx, key, "f", text)
			return nil
		})
		return err
	}, key)
}

func (s *service) next() string {
	s.name += "x"
	return s.name
}

func (s *service) staleOutside(ctx context.Context, key string) (int, error) {
	var stored int
	err := s.rdb.Watch(ctx, func(tx *redis.Tx) error { // want `^fixed$`
		n, err := tx.Get(ctx, key).Int()
		if err != nil && err != redis.Nil {
			return err
		}
		if n > 5 {
			return nil
		}
		stored = n + 1
		_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.Set(ctx, key, stored, 0)
			return nil
		})
		return err
	}, key)
	return stored, err
}

func (s *service) staleAbsent(ctx context.Context, key string) (int, error) {
	var stored int
	err := s.rdb.Watch(ctx, func(tx *redis.Tx) error { // want `^fixed$`
		n, err := tx.Get(ctx, key).Int()
		if err != nil {
			return err
		}
		stored = n + 1
		_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.Set(ctx, key, stored, 0)
			return nil
		})
		return err
	}, key)
	return stored, err
}

func (s *service) rangeOutside(ctx context.Context, key string) (string, error) {
	var last string
	err := s.rdb.Watch(ctx, func(tx *redis.Tx) error { // want `^fixed$`
		text, err := tx.Get(ctx, key).Result()
		if err != nil && err != redis.Nil {
			return err
		}
		for _, last = range strings.Fields(text) {
		}
		_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.Set(ctx, key, text, 0)
			return nil
		})
		return err
	}, key)
	return last, err
}

func (s *service) rangeOverKey(ctx context.Context, key string) error {
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error { // want `^not fixed: .*(?:of which the key or the context is made)`
		text, err := tx.Get(ctx, key).Result()
		if err != nil && err != redis.Nil {
			return err
		}
		for _, key = range strings.Fields(text) {
		}
		_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.Set(ctx, key, text, 0)
			return nil
		})
		return err
	}, key)
}

func (s *service) perKey(ctx context.Context, keys []string) (all []string) {
	var old string
	for _, key := range keys {
		err := s.rdb.Watch(ctx, func(tx *redis.Tx) error { // want `^not fixed: .*(?:is zero after a read that fails)`
			var err error
			old, err = tx.Get(ctx, key).Result()
			if err != nil {
				return err
			}
			_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
				pipe.Set(ctx, key, old+"x", 0)
				return nil
			})
			return err
		}, key)
		if err != redis.Nil {
			all = append(all, old)
		}
	}
	return all
}
