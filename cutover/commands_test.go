package cutover_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/cutover"
	"github.com/unwatch/unwatch/internal/testing/long"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/custom"
	"github.com/unwatch/unwatch/rmw"
)

// Each command acts on a marker as the table of docs/cutover.md says. The profile beside that page
// refuses the commands that destroy a marker.
func TestCommandsOnAMarker(t *testing.T) {
	long.Repeats(t)
	old, stopOld := server(proxycompat.Redis())
	defer stopOld()
	proxy, stopProxy := server(proxycompat.Codis32())
	defer stopProxy()
	profile, err := custom.Load("../cmd/migrate-check/blind-writers.yaml")
	require.NoError(t, err)
	refused := func(name string) bool { return profile.Rule(name).Verdict == proxycompat.Refused }
	sides := [2]cutover.Side{}
	for i, rdb := range []*redis.Client{old, proxy} {
		store := lockupdate.New(rdb, lockupdate.Config{})
		defer store.Close()
		sides[i] = cutover.Side{Store: store, Redis: rdb}
	}
	// on executes a command on a fresh marker, and says whether the marker is still there.
	on := func(t *testing.T, command string) (stays bool, err error) {
		ctx := context.Background()
		for _, rdb := range []*redis.Client{old, proxy} {
			for _, key := range []string{"k", "free"} {
				require.NoError(t, rdb.Del(ctx, key).Err())
			}
		}
		require.NoError(t, old.Set(ctx, "o", "v", 0).Err())
		store := cutover.New(sides[0], sides[1], cutover.Config{Stage: forward})
		_, err = store.Update(ctx, rmw.Key{Name: "k"}, add("x"))
		require.NoError(t, err)
		require.NoError(t, store.Close())
		before := old.LRange(ctx, "k", 0, -1).Val()
		require.NotEmpty(t, before, command)
		args := []any{}
		for word := range strings.FieldsSeq(command) {
			args = append(args, word)
		}
		err = old.Do(ctx, args...).Err()
		return slices.Equal(before, old.LRange(ctx, "k", 0, -1).Val()) && old.TTL(ctx, "k").Val() < 0, err
	}
	soon := time.Now().Add(time.Minute)
	for _, group := range []struct {
		commands        string
		fails, destroys bool
	}{
		{"GET k, SET k v GET, GETSET k v, GETDEL k, GETEX k, APPEND k v, INCR k, SETRANGE k 0 v, STRLEN k, GETBIT k 0, SETBIT k 0 1, " +
			"PFADD k v, HSET k f v, HGETALL k, HDEL k f, SADD k v, ZADD k 1 v", true, false},
		{"SETNX k v, SET k v NX, MGET k o, EXISTS k, TYPE k, TTL k, TOUCH k, PERSIST k, RENAMENX o k", false, false},
		{"SET k v, SET k v XX, SET k v KEEPTTL, SETEX k 9 v, PSETEX k 9000 v, MSET k v, DEL k, UNLINK k, RENAME o k, RENAME k free, " +
			fmt.Sprintf("EXPIRE k 9, PEXPIRE k 9000, EXPIREAT k %d, PEXPIREAT k %d, ", soon.Unix(), soon.UnixMilli()) +
			"SUNIONSTORE k none, SINTERSTORE k none, SDIFFSTORE k none, ZUNIONSTORE k 1 none, ZINTERSTORE k 1 none, FLUSHDB, FLUSHALL", false, true},
	} {
		for command := range strings.SplitSeq(group.commands, ", ") {
			stays, err := on(t, command)
			if group.fails {
				assert.ErrorContains(t, err, "WRONGTYPE", command)
			} else if !errors.Is(err, redis.Nil) {
				assert.NoError(t, err, command)
			}
			assert.Equal(t, group.destroys, !stays, command)
			if name, _, _ := strings.Cut(command, " "); name != "SET" {
				assert.Equal(t, group.destroys, refused(name), command)
			}
		}
	}
	assert.True(t, refused("SET"))
}

// A marker that a command has damaged is reported as such, with the key.
func TestDamagedMarker(t *testing.T) {
	for element, name := range map[int64]string{1: "state", 2: "nonce"} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				require.NoError(t, update(add("x"))(r.open(forward)))
				sleep(time.Second) // the mark
				require.NoError(t, r.admin(0).LSet(t.Context(), room.Name, element, "nonsense").Err())
				err := update(add("y"))(r.open(follow))
				require.ErrorIs(t, err, rmw.ErrUnavailable)
				assert.ErrorContains(t, err, room.Name)
				assert.ErrorContains(t, err, "the marker of the key cannot be read")
			})
		})
	}
}
