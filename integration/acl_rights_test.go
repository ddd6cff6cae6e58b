package integration

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/testing/servers"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/rmw"
)

// Without any right that its scripts need, a Transact fails at its first step: the error names the command, nothing is written,
// and Close finds no seal to open.
func TestTransactWithoutARight(t *testing.T) {
	t.Parallel()
	server := servers.Redis(t)
	admin := client(t, server.Addr)
	words := documentedRights(t, "security.md", "transact")
	// of updates of one key, and of calls of scripts at all
	others := []string{"+eval", "+evalsha", "+hexists", "+hlen", "+hmget", "+persist"}
	text, hash := rmw.Key{Name: "room:text"}, rmw.Key{Name: "room:hash", Kind: rmw.KindHash}
	states := map[string]func(){
		"absent": func() {},
		"there": func() {
			require.NoError(t, admin.Set(t.Context(), text.Name, "5", 0).Err())
			require.NoError(t, admin.HSet(t.Context(), hash.Name, "a", "5").Err())
		},
		"with an expiry": func() {
			require.NoError(t, admin.Set(t.Context(), text.Name, "5", time.Hour).Err())
			require.NoError(t, admin.HSet(t.Context(), hash.Name, "a", "5").Err())
			require.NoError(t, admin.Expire(t.Context(), hash.Name, time.Hour).Err())
		},
	}
	for _, left := range words[1:] {
		name, isCommand := strings.CutPrefix(left, "+")
		if !isCommand || slices.Contains(others, left) {
			continue
		}
		command := strings.ToUpper(strings.ReplaceAll(name, "|", " "))
		rdb := withRights(t, admin, server.Addr, slices.DeleteFunc(slices.Clone(words), func(w string) bool { return w == left }))
		for state, prepare := range states {
			for _, keys := range [][]rmw.Key{{text}, {hash}, {text, hash}} {
				if command == "GET" && keys[0] == hash {
					continue
				}
				require.NoError(t, admin.FlushAll(t.Context()).Err())
				prepare()
				before := [2]string{admin.Dump(t.Context(), text.Name).Val(), admin.Dump(t.Context(), hash.Name).Val()}
				s := lockupdate.New(rdb, lockupdate.Config{MaxWait: 5 * time.Second})
				began := time.Now()
				_, err := rmw.Transact(t.Context(), s, func(_ context.Context, tx *rmw.Tx) error {
					for _, key := range keys {
						if key == text {
							tx.Put(text, rmw.String("6").WithTTL(time.Minute))
						} else {
							tx.Put(hash, tx.Get(hash).With("b", "6"))
						}
					}
					return nil
				}, keys...)
				assert.NoError(t, s.Close())
				assert.Less(t, time.Since(began), 2*time.Second)
				require.ErrorIs(t, err, rmw.ErrUnsupported, "without %s, %s", left, state)
				require.ErrorContains(t, err, "the command "+command+" ", "%s", state)
				after := [2]string{admin.Dump(t.Context(), text.Name).Val(), admin.Dump(t.Context(), hash.Name).Val()}
				assert.Equal(t, before, after, "without %s, %s", left, state)
			}
		}
	}
}

// The error of a Sweep tells the command and the key.
func TestSweepWithoutARight(t *testing.T) {
	t.Parallel()
	server := servers.Redis(t)
	admin := client(t, server.Addr)
	words := documentedRights(t, "security.md", "transact")
	for left, key := range map[string]string{"+smembers": "~tx:stores", "+hgetall": "~tx:stores", "+lrange": "room:sealed"} {
		rdb := withRights(t, admin, server.Addr, slices.DeleteFunc(slices.Clone(words), func(w string) bool { return w == left }))
		require.NoError(t, admin.FlushAll(t.Context()).Err())
		dead(t, admin)
		s := lockupdate.New(rdb, lockupdate.Config{})
		_, err := s.Sweep(t.Context())
		require.NoError(t, s.Close())
		var own *rmw.Error
		require.ErrorAs(t, err, &own, left)
		assert.Equal(t, key, own.Key, left)
		require.ErrorIs(t, err, rmw.ErrUnsupported, left)
		if left != "+lrange" {
			assert.ErrorContains(t, err, strings.ToUpper(left[1:]))
		}
	}
}

// dead leaves a seal without a decision, and the names of its process in the index.
func dead(t *testing.T, admin *redis.Client) {
	ctx := t.Context()
	seal := []any{"~unwatch:9f2c4e7b", "tx", "dead:1/0", "~tx:{room:sealed}", "string", "-1", "0", "5"}
	require.NoError(t, errors.Join(
		admin.RPush(ctx, "room:sealed", seal...).Err(),
		admin.HSet(ctx, "~tx:stores", "dead", "1 5").Err(),
		admin.SAdd(ctx, "~tx:{dead}:keys:5", "room:sealed").Err(),
	))
}
