package torture

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/internal/seal"
)

// stored is the content of the servers: the values of all keys, and their expiries.
type stored struct {
	text map[string]string            // strings
	hash map[string]map[string]string // hashes
	ttl  map[string]time.Duration     // of all keys; -1: none
	hops map[string]int               // of the markers of a cut-over: how often the key has moved

	twice []string // keys with a value in both stores of a cut-over
}

func newStored() *stored {
	return &stored{
		text: map[string]string{}, hash: map[string]map[string]string{}, ttl: map[string]time.Duration{}, hops: map[string]int{},
	}
}

func (s *Environment) stored(ctx context.Context) (*stored, error) {
	if s.sides != nil {
		return s.storedAcross(ctx)
	}
	all := newStored()
	return all, s.direct(ctx, func(ctx context.Context, rdb *redis.Client) error {
		names, err := rdb.Keys(ctx, "*").Result()
		if err != nil {
			return err
		}
		for _, name := range names {
			if err := all.add(ctx, rdb, name); err != nil {
				return fmt.Errorf("%q: %w", name, err)
			}
		}
		return nil
	})
}

func (all *stored) add(ctx context.Context, rdb *redis.Client, name string) error {
	kind, err := rdb.Type(ctx, name).Result()
	if err != nil {
		return err
	}
	ttl, err := rdb.PTTL(ctx, name).Result()
	if err != nil {
		return err
	}
	if kind == "none" || ttl == -2 { // the key expired before TYPE, or between TYPE and PTTL
		return nil
	}
	switch kind {
	case "string":
		all.text[name], err = rdb.Get(ctx, name).Result()
	case "hash":
		all.hash[name], err = rdb.HGetAll(ctx, name).Result()
	case "list":
		var sealed bool
		if sealed, err = isSealed(ctx, rdb, name); err == nil && !sealed {
			all.hops[name], err = hop(ctx, rdb, name)
		}
	}
	if errors.Is(err, redis.Nil) {
		return nil
	}
	all.ttl[name] = ttl
	return err
}

// list returns the ids of a key, in the order in which they were added.
func (all *stored) list(key string) []string {
	if fields, ok := all.hash[key]; ok {
		return ordered(fields)
	}
	return listed(all.text[key])
}

// immortal returns the keys of locks and their companions without an expiry.
func (all *stored) immortal() (names []string) {
	for name, ttl := range all.ttl {
		if !strings.HasPrefix(name, keyPrefix) && !strings.HasPrefix(name, seal.DecisionPrefix) && ttl < 0 {
			names = append(names, name)
		}
	}
	return names
}
