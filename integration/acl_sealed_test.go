package integration

import (
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/seal"
	"github.com/unwatch/unwatch/internal/testing/servers"
	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/sealed"
)

// The rights of plain readers in docs/security.md suffice, and each is necessary.
func TestMinimalACLOfPlainReaders(t *testing.T) {
	t.Parallel()
	server := servers.Redis(t)
	admin := client(t, server.Addr)
	ctx := t.Context()
	require.NoError(t, admin.Set(ctx, "room:open", "1", 0).Err())
	require.NoError(t, admin.Set(ctx, "room:sealed", "5", time.Hour).Err())
	key := rmw.Key{Name: "room:sealed"}
	args := seal.TakeArgs(key, "dead:1", seal.DecisionKey(key.Name), seal.CheckAll)
	require.NoError(t, admin.Eval(ctx, seal.Take.Source, []string{key.Name}, args...).Err())
	failed := func(words []string) bool {
		rdb := withRights(t, admin, server.Addr, words)
		rdb.AddHook(sealed.NewHook(rdb))
		var errs []error
		for _, key := range []string{"room:open", "room:sealed"} {
			errs = append(errs, rdb.Get(ctx, key).Err(), rdb.MGet(ctx, key).Err(), rdb.TTL(ctx, key).Err(), rdb.Exists(ctx, key).Err())
		}
		return slices.ContainsFunc(errs, func(err error) bool { return err != nil && err != redis.Nil }) //nolint:errorlint // a reply
	}
	words := documentedRights(t, "security.md", "sealed")
	assert.False(t, failed(words), "the line as it stands")
	for _, left := range words[1:] {
		if left[0] == '+' || left[0] == '~' {
			without := slices.DeleteFunc(slices.Clone(words), func(word string) bool { return word == left })
			assert.True(t, failed(without), "%s is too much: nothing fails without it", left)
		}
	}
}
