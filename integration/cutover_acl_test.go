package integration

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/cutover"
	"github.com/unwatch/unwatch/internal/testing/servers"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/rmw"
)

// The rights in docs/security.md suffice for a move there and back. Without any of those that only a move
// needs, on either side, the move fails and the values are still there.
func TestMinimalACLOfACutover(t *testing.T) {
	t.Parallel()
	addrs := [2]string{servers.Redis(t).Addr, servers.Redis(t).Addr}
	admins := [2]*redis.Client{client(t, addrs[0]), client(t, addrs[1])}
	words := documentedRights(t, "security.md", "cutover")
	open := func(rights [2][]string, phase cutover.Phase) *cutover.Store {
		var sides [2]cutover.Side
		for i, addr := range addrs {
			rdb := withRights(t, admins[i], addr, rights[i])
			store := lockupdate.New(rdb, lockupdate.Config{Lease: 100 * time.Millisecond})
			t.Cleanup(func() { _ = store.Close() })
			sides[i] = cutover.Side{Store: store, Redis: rdb}
		}
		s := cutover.New(sides[0], sides[1], cutover.Config{Stage: cutover.Stage{Phase: phase, Percent: 100}})
		t.Cleanup(func() { _ = s.Close() })
		return s
	}
	keys := []rmw.Key{{Name: "room:text"}, {Name: "room:{tag}hash", Kind: rmw.KindHash}, {Name: "room:later", TTL: time.Hour}}
	value := map[rmw.Kind]rmw.Value{rmw.KindString: rmw.String("v"), rmw.KindHash: rmw.Hash(map[string]string{"f": "v"})}
	touch := func(_ context.Context, cur rmw.Value) (rmw.Value, error) { return cur.WithTTL(time.Hour), nil }
	play := func(rights [2][]string) (failed []error) {
		for i, admin := range admins {
			require.NoError(t, admin.FlushAll(t.Context()).Err())
			require.NoError(t, admin.ScriptFlush(t.Context()).Err(), i)
		}
		full, limit := [2][]string{words, words}, time.Second
		if slices.Equal(rights[0], rights[1]) {
			limit = time.Minute // it succeeds
		}
		for _, key := range keys {
			_, err := open(full, cutover.Follow).Update(t.Context(), key, func(context.Context, rmw.Value) (rmw.Value, error) {
				return value[key.Kind], nil
			})
			require.NoError(t, err)
		}
		for _, phase := range []cutover.Phase{cutover.Copying, cutover.Reverse} {
			for _, key := range keys {
				ctx, cancel := context.WithTimeout(t.Context(), limit)
				_, err := open(rights, phase).Update(ctx, key, touch)
				cancel()
				if err != nil {
					failed = append(failed, err)
				}
				got, err := open(full, cutover.Follow).Read(t.Context(), key)
				require.NoError(t, err)
				assert.True(t, got.Equal(value[key.Kind]), "%v of %s: %v, after %v", phase, key.Name, got, failed)
			}
		}
		return failed
	}
	require.Empty(t, play([2][]string{words, words}))
	lockOnly := documentedRights(t, "security.md", "lockupdate")
	for _, left := range words {
		if !strings.HasPrefix(left, "+") || left == "+eval" || left == "+evalsha" {
			continue
		}
		rest := slices.DeleteFunc(slices.Clone(words), func(word string) bool { return word == left })
		for side, rights := range [][2][]string{{rest, words}, {words, rest}} {
			failed := play(rights)
			// The process that reads with all rights marks what could not be marked. Verify reads by LINDEX.
			if !slices.Contains(lockOnly, left) && left != "+lset" && left != "+lindex" {
				assert.NotEmpty(t, failed, "%s is too much: nothing fails without it on side %d", left, side)
			}
		}
	}
}
