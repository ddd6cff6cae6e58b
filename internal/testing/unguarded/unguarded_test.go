package unguarded_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/testing/unguarded"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
)

// stage is a Store behind a proxy, and a client that takes no lock.
type stage struct {
	proxy  *proxytest.Proxy
	store  *lockupdate.Store
	direct *redis.Client
}

func newStage(t *testing.T, hooks ...redis.Hook) *stage {
	t.Helper()
	p, err := proxytest.Start(proxytest.Config{Profile: proxycompat.Codis32(), InMemory: true})
	require.NoError(t, err)
	rdb, direct := redis.NewClient(p.Options()), redis.NewClient(p.Options())
	for _, h := range hooks {
		rdb.AddHook(h)
	}
	s := &stage{proxy: p, store: lockupdate.New(rdb, lockupdate.Config{}), direct: direct}
	t.Cleanup(func() {
		require.NoError(t, s.store.Close())
		require.NoError(t, rdb.Close())
		require.NoError(t, direct.Close())
		require.NoError(t, p.Close())
	})
	return s
}

// race runs an Update and lets another client write during the first call of fn.
func (s *stage) race(t *testing.T, key rmw.Key, write func() error, fn rmw.UpdateFunc) {
	t.Helper()
	_, err := s.store.Update(t.Context(), key, func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
		if write != nil {
			require.NoError(t, write())
			write = nil
		}
		return fn(ctx, cur)
	})
	require.NoError(t, err)
}

func (s *stage) setText(key, text string) func() error {
	return func() error { return s.direct.Set(context.Background(), key, text, redis.KeepTTL).Err() }
}

func (s *stage) setFields(key string, fields ...any) func() error {
	return func() error { return s.direct.HSet(context.Background(), key, fields...).Err() }
}

// races are updates with a concurrent write, one for each form of the commit. A race returns the words in
// the key: "theirs", if the concurrent write survives, and "ours".
var races = map[string]func(t *testing.T, s *stage, name string) string{
	"absent string": func(t *testing.T, s *stage, name string) string {
		s.race(t, rmw.Key{Name: name}, s.setText(name, "theirs"), add("ours"))
		return s.direct.Get(t.Context(), name).Val()
	},
	"string": func(t *testing.T, s *stage, name string) string {
		s.race(t, rmw.Key{Name: name}, nil, add("base"))
		s.race(t, rmw.Key{Name: name}, s.setText(name, "basetheirs"), add("ours"))
		return strings.TrimPrefix(s.direct.Get(t.Context(), name).Val(), "base")
	},
	"large string": func(t *testing.T, s *stage, name string) string { // compared by its digest
		base := strings.Repeat("x", 2<<10)
		s.race(t, rmw.Key{Name: name}, nil, add(base))
		s.race(t, rmw.Key{Name: name}, s.setText(name, base+"theirs"), add("ours"))
		return strings.TrimPrefix(s.direct.Get(t.Context(), name).Val(), base)
	},
	"hash": func(t *testing.T, s *stage, name string) string {
		key := rmw.Key{Name: name, Kind: rmw.KindHash}
		s.race(t, key, nil, addField("base"))
		s.race(t, key, s.setFields(name, "text", "basetheirs"), addField("ours"))
		return strings.TrimPrefix(s.direct.HGet(t.Context(), name, "text").Val(), "base")
	},
	"large hash": func(t *testing.T, s *stage, name string) string { // sent in part
		key := rmw.Key{Name: name, Kind: rmw.KindHash}
		require.NoError(t, s.setFields(name, "filler", strings.Repeat("x", 8<<10), "removed", "x")())
		s.race(t, key, nil, addField("base"))
		s.race(t, key, s.setFields(name, "text", "basetheirs"), func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
			next, err := addField("ours")(ctx, cur)
			return next.Without("removed"), err
		})
		all := s.direct.HGetAll(t.Context(), name).Val()
		assert.Len(t, all, 2, "text and filler")
		return strings.TrimPrefix(all["text"], "base")
	},
}

func add(text string) rmw.UpdateFunc {
	return func(_ context.Context, cur rmw.Value) (rmw.Value, error) { return rmw.String(cur.Text() + text), nil }
}

func addField(text string) rmw.UpdateFunc {
	return func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
		was, _ := cur.Field("text")
		return cur.With("text", was+text), nil
	}
}

// With the hook a commit destroys a concurrent write; without it a commit never does, whether it is sent as
// source or as digest.
func TestHook(t *testing.T) {
	for name, race := range races {
		t.Run(name, func(t *testing.T) {
			for _, sent := range []string{"source", "digest"} {
				synctest.Test(t, func(t *testing.T) {
					s := newStage(t)
					if sent == "digest" {
						race(t, s, "first")
					}
					assert.Equal(t, "theirsours", race(t, s, "k"), "guarded, sent as %s", sent)
				})
				synctest.Test(t, func(t *testing.T) {
					s := newStage(t, unguarded.Hook{})
					if sent == "digest" {
						race(t, s, "first")
					}
					s.proxy.ResetCalls()
					assert.Equal(t, "ours", race(t, s, "k"), "unguarded, sent as %s", sent)
					replaced := 0
					for _, call := range s.proxy.Calls() {
						if unguarded.Replaces(call.Args) != "" {
							replaced++
						}
					}
					assert.Positive(t, replaced)
				})
			}
		})
	}
}

// The hook changes only the comparison: expiries, deletes, and keys of another type work as before.
func TestHookChangesOnlyTheComparison(t *testing.T) {
	for _, hooks := range [][]redis.Hook{nil, {unguarded.Hook{}}} {
		for kind, value := range map[rmw.Kind]rmw.Value{
			rmw.KindString: rmw.String("v"), rmw.KindHash: rmw.Hash(map[string]string{"f": "v"}),
		} {
			synctest.Test(t, func(t *testing.T) {
				s := newStage(t, hooks...)
				key := rmw.Key{Name: "k", Kind: kind, TTL: time.Hour}
				set := func(key rmw.Key, v rmw.Value) {
					_, err := s.store.Update(t.Context(), key, func(context.Context, rmw.Value) (rmw.Value, error) { return v, nil })
					require.NoError(t, err)
				}
				left := func() time.Duration { return s.direct.PTTL(t.Context(), "k").Val() }
				set(key, value)
				assert.Equal(t, time.Hour, left(), "%v", kind)
				key.TTL = 0
				set(key, value.WithTTL(time.Minute))
				assert.Equal(t, time.Minute, left(), "%v", kind)
				next := rmw.String("w")
				if kind == rmw.KindHash {
					next = value.With("g", "w")
				}
				set(key, next)
				assert.Equal(t, time.Minute, left(), "%v: it is kept", kind)
				set(key, value.WithTTL(rmw.NoTTL))
				assert.Equal(t, time.Duration(-1), left(), "%v", kind)
				set(key, rmw.Value{})
				assert.Zero(t, s.direct.Exists(t.Context(), "k").Val(), "%v", kind)

				_, err := s.store.Update(t.Context(), key, func(context.Context, rmw.Value) (rmw.Value, error) {
					require.NoError(t, s.direct.LPush(t.Context(), "k", "x").Err())
					return value, nil
				})
				assert.ErrorIs(t, err, rmw.ErrWrongKind, "%v", kind)
			})
		}
	}
}

// An unknown form of commit panics.
func TestHookRefusesAnUnknownCommit(t *testing.T) {
	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
	defer rdb.Close()
	rdb.AddHook(unguarded.Hook{})
	for name, args := range map[string][]any{
		"string": {"evalsha", "sha", 1, "k", "keep", "any", "", "set", "v"},
		"hash":   {"evalsha", "sha", 1, "k", "keep", 1, -1, 0, 1, 1, 0, "f", "v", "f"},
		"words":  {"eval", "source", 1, "k", "keep", "all", -1, 0, 1, 1, 0, "f", "v", "f", "w"},
	} {
		assert.Panics(t, func() { _ = rdb.Do(t.Context(), args...).Err() }, name)
		assert.Panics(t, func() {
			pipe := rdb.Pipeline()
			pipe.Do(t.Context(), "get", "k")
			pipe.Do(t.Context(), args...)
			_, _ = pipe.Exec(t.Context())
		}, name)
	}
}
