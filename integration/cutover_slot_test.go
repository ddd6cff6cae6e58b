package integration

import (
	"fmt"
	"os"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/testing/servers"
)

// While a cluster moves a slot, its node refuses a script a key that the script has deleted. No step of a
// move loses a value there.
func TestMoveWhileItsSlotMigrates(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("../cutover/internal/marker/marker.lua")
	require.NoError(t, err)
	nodes, ctx := servers.Cluster(t, 3), t.Context()
	from, to := client(t, nodes[0].Addr), client(t, nodes[1].Addr)
	step := func(key, step string, args ...any) error {
		return from.Do(ctx, append([]any{"EVAL", string(source), 1, key, step}, args...)...).Err()
	}
	content := func(key string) string {
		kind := from.Type(ctx, key).Val()
		return kind + fmt.Sprint(from.Do(ctx, map[string][]any{
			"string": {"GET", key}, "hash": {"HGETALL", key}, "list": {"LRANGE", key, 7, -1},
		}[kind]...).Val())
	}
	values := map[string][]any{"string": {"string", -1, "v"}, "hash": {"hash", -1, "f", "v"}}
	for name, form := range map[string]string{"plain": "key%d", "tagged": "{key%d}:a", "brace": "key{%d"} {
		for kind, value := range values {
			for action, prepare := range map[string][]string{
				"seal":   {"reserve", "fill"},
				"unseal": {"reserve", "fill", "seal"},
				"fill":   {"reserve"},
			} {
				t.Run(name+" "+kind+" "+action, func(t *testing.T) {
					key := keyOf(t, from, form)
					args := map[string][]any{
						"reserve": {"0.r"}, "fill": append([]any{"0.r"}, value...), "seal": {"1.s", "0.o", 1000}, "unseal": {"1.s"},
					}
					for _, before := range prepare {
						require.NoError(t, step(key, before, args[before]...))
					}
					before := content(key)
					slot := from.ClusterKeySlot(ctx, key).Val()
					require.NoError(t, to.Do(ctx, "CLUSTER", "SETSLOT", slot, "IMPORTING", from.Do(ctx, "CLUSTER", "MYID").Val()).Err())
					require.NoError(t, from.Do(ctx, "CLUSTER", "SETSLOT", slot, "MIGRATING", to.Do(ctx, "CLUSTER", "MYID").Val()).Err())
					require.NoError(t, step(key, action, args[action]...))
					if during := content(key); during == before {
						require.NoError(t, from.Do(ctx, "CLUSTER", "SETSLOT", slot, "STABLE").Err())
						require.NoError(t, step(key, action, args[action]...))
					}
					assert.NotEqual(t, before, content(key), "the step was not taken")
					assert.Contains(t, content(key), "v")
					require.NoError(t, from.Do(ctx, "CLUSTER", "SETSLOT", slot, "STABLE").Err())
				})
			}
		}
	}
}

// keyOf returns an absent key of the server.
func keyOf(t *testing.T, rdb *redis.Client, form string) string {
	for i := range 1000 {
		key := fmt.Sprintf(form, i)
		if n, err := rdb.Exists(t.Context(), key).Result(); err == nil && n == 0 {
			return key
		}
	}
	t.Fatal("the server has no slot")
	return ""
}
