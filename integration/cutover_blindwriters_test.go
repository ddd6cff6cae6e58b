package integration

import (
	"context"
	"encoding/json"
	"errors"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/cas"
	"github.com/unwatch/unwatch/internal/testing/servers"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/rmw"
)

// plan -monitor names exactly the clients of a real server that destroy markers of its keys: neither those that read a
// key after WATCH by a command that a marker refuses, nor the paths of this module with their scripts.
func TestPlanNamesBlindWriters(t *testing.T) {
	t.Parallel()
	old, new := servers.Redis(t).Addr, servers.Redis(t).Addr
	const key = "room:1"
	blind := redis.NewScript(`if redis.call('EXISTS', KEYS[1]) then redis.call('SET', KEYS[1], '1') end`)
	guarded := redis.NewScript(`if redis.call('GET', KEYS[1]) then redis.call('DEL', KEYS[1]) end`)
	watch := func(read func(ctx context.Context, tx *redis.Tx) error) func(context.Context, *redis.Client) error {
		return func(ctx context.Context, rdb *redis.Client) error {
			return rdb.Watch(ctx, func(tx *redis.Tx) error {
				if err := read(ctx, tx); err != nil {
					return err
				}
				_, err := tx.TxPipelined(ctx, func(p redis.Pipeliner) error { return p.Set(ctx, key, "1", 0).Err() })
				return err
			}, key)
		}
	}
	update := func(store rmw.Store) func(context.Context, *redis.Client) error {
		return func(ctx context.Context, _ *redis.Client) error {
			for _, k := range []rmw.Key{{Name: key}, {Name: "hash:1", Kind: rmw.KindHash, TTL: time.Hour}} {
				if _, err := store.Update(ctx, k, func(context.Context, rmw.Value) (rmw.Value, error) {
					if k.Kind == rmw.KindHash {
						return rmw.Hash(map[string]string{"f": "1"}), nil
					}
					return rmw.String("1"), nil
				}); err != nil {
					return err
				}
			}
			return nil
		}
	}
	clients := map[string]func(context.Context, *redis.Client) error{
		"cron": func(ctx context.Context, rdb *redis.Client) error { return rdb.Set(ctx, key, "1", 0).Err() },
		"script": func(ctx context.Context, rdb *redis.Client) error {
			return exceptNil(blind.Run(ctx, rdb, []string{key}).Err())
		},
		"guarded": func(ctx context.Context, rdb *redis.Client) error {
			return exceptNil(guarded.Run(ctx, rdb, []string{key}).Err())
		},
		"watch-get":  watch(func(ctx context.Context, tx *redis.Tx) error { return exceptNil(tx.Get(ctx, key).Err()) }),
		"watch-mget": watch(func(ctx context.Context, tx *redis.Tx) error { return tx.MGet(ctx, key).Err() }),
		"queue": func(ctx context.Context, rdb *redis.Client) error {
			return rdb.LPush(ctx, "queue", "1").Err()
		},
	}
	updates := lockupdate.New(client(t, old), lockupdate.Config{})
	legacy := cas.New(client(t, old), cas.Config{})
	t.Cleanup(func() { assert.NoError(t, errors.Join(updates.Close(), legacy.Close())) })
	clients["lockupdate"], clients["cas"] = update(updates), update(legacy)
	var named []*redis.Client
	var acts []func(context.Context, *redis.Client) error
	for name, act := range clients {
		rdb := redis.NewClient(&redis.Options{Addr: old, ClientName: name})
		t.Cleanup(func() { assert.NoError(t, rdb.Close()) })
		named, acts = append(named, rdb), append(acts, act)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var working sync.WaitGroup
	t.Cleanup(func() {
		cancel()
		working.Wait()
	})
	working.Go(func() { // in turn, so that each transaction succeeds
		for i := 0; ctx.Err() == nil; i = (i + 1) % len(acts) {
			assert.NoError(t, acts[i](context.WithoutCancel(ctx), named[i]))
		}
	})

	cmd := exec.CommandContext(t.Context(), migrateCheck(t), "cutover", "plan", "-name", "desk", "-old", old, "-new", new,
		"-new-masters", new, "-monitor", "2s", "-monitor-force", "-json")
	out, err := cmd.Output()
	require.Equal(t, 1, cmd.ProcessState.ExitCode(), "%v: %s", err, out)
	var plan struct {
		BlindWriters []struct {
			Command, Script, Client string
			Keys                    []string
		}
	}
	require.NoError(t, json.Unmarshal(out, &plan))
	var found []string
	for _, w := range plan.BlindWriters {
		assert.Equal(t, []string{key}, w.Keys)
		found = append(found, w.Command+" "+w.Script+" by "+w.Client)
	}
	assert.ElementsMatch(t, []string{
		"SET  by cron 127.0.0.1", "SET " + blind.Hash()[:8] + " by script 127.0.0.1", "SET  by watch-mget 127.0.0.1",
	}, found)
}

// exceptNil returns err, or nil if it says that a key is absent.
func exceptNil(err error) error {
	if errors.Is(err, redis.Nil) {
		return nil
	}
	return err
}
