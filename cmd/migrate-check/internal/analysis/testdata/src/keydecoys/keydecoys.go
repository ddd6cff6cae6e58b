// Package keydecoys has names of Redis, or uses what a proxy does serve.
package keydecoys

import (
	"context"
	"database/sql"
	"maps"
	"slices"

	redigo "github.com/gomodule/redigo/redis"
	"github.com/mediocregopher/radix/v3"
	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
)

type table struct{}

func (table) Keys(ctx context.Context, pattern string) []string   { return nil }
func (table) SInter(ctx context.Context, keys ...string) []string { return nil }
func (table) Do(name string, args ...any) (any, error)            { return nil, nil }
func (table) Subscribe(topics []string, rebalance func()) error   { return nil }

func other(ctx context.Context, t table, db *sql.DB, m map[string]int) {
	t.Keys(ctx, "*")
	t.SInter(ctx, "a", "b")
	t.Do("KEYS", "*")
	t.Do("SINTER", "a", "b")
	t.Subscribe(nil, nil)
	_ = slices.Sorted(maps.Keys(m))
	rows, _ := db.Query("KEYS")
	rows.Scan(nil)
}

func one(ctx context.Context, rdb *redis.Client, conn redigo.Conn, c rueidis.Client, script *redigo.Script, id string) {
	rdb.Del(ctx, id)
	rdb.Unlink(ctx, id)
	rdb.MSet(ctx, id, 1)
	rdb.SInter(ctx, id)
	rdb.PFCount(ctx, id)
	rdb.Get(ctx, id)
	rdb.HSet(ctx, id, "SCAN", "KEYS")
	rdb.Do(ctx, "GET", "KEYS")
	rdb.Do(ctx, "XADD", "s", "*", "BLOCK", 1)
	rdb.Do(ctx, "BF.ADD", "k", "x")
	conn.Do("SORT", id)
	conn.Do("ZUNIONSTORE", id, 1, id)
	script.Do(conn, "KEYS", "SCAN")
	radix.Cmd(nil, "GET", "KEYS")
	_ = c.B().Unlink().Key(id).Build()
	_ = c.B().Sinter().Key(id).Build()
	_ = c.B().Arbitrary("GET").Keys("KEYS").Build()
	// They are split, which is worth a word only to those who ask.
	rdb.MGet(ctx, "a", "b")
	rdb.Del(ctx, "a", "b")
	conn.Do("MSET", "a", 1, "b", 2)
}
