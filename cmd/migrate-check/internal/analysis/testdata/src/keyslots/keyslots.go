// Package keyslots has commands of several keys.
package keyslots

import (
	"context"
	"fmt"
	"keynames"
	"strconv"
	"strings"

	redigo "github.com/gomodule/redigo/redis"
	"github.com/mediocregopher/radix/v3"
	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
)

type store struct {
	prefix string
	space  keynames.Space
}

func (s *store) key(id string) string { return "{" + s.prefix + "}:" + id }

func (s *store) loose(id string) string { return s.prefix + ":" + id }

func unproven(ctx context.Context, rdb *redis.Client, conn redigo.Conn, c rueidis.Client, id, other string, ids []string, s *store, n int) {
	rdb.SInter(ctx, "a:"+other, "b:"+other)                              // want `^SINTER through .*SInter; keys "a:"\+other and "b:"\+other share no hash tag, and the proxy looks at one key alone \(MC402\)$`
	rdb.SInterStore(ctx, "{"+id+"}", "{"+other+"}")                      // want `have different hash tags.*MC402`
	rdb.ZUnionStore(ctx, id, &redis.ZStore{Keys: []string{other}})       // want `ZUNIONSTORE.*MC402`
	rdb.PFMerge(ctx, id, ids...)                                         // want `PFMERGE.*how many keys it has is not known here.*MC402`
	rdb.Unlink(ctx, ids...)                                              // want `UNLINK.*MC402`
	rdb.Touch(ctx, id, other)                                            // want `TOUCH.*MC402`
	rdb.SMove(ctx, id, other, 1)                                         // want `SMOVE.*MC402`
	rdb.RPopLPush(ctx, s.loose("a"), s.loose("b"))                       // want `RPOPLPUSH.*keys s\.prefix\+":a" and s\.prefix\+":b" share no hash tag.*MC402`
	rdb.LMove(ctx, keynames.Room(n), keynames.Room(n+1), "LEFT", "LEFT") // want `LMOVE.*MC402`
	rdb.Copy(ctx, keynames.Dynamic(id), keynames.Dynamic(id), 0, true)   // want `COPY.*MC402`
	rdb.SortStore(ctx, id, other, nil)                                   // want `SORT.*MC402`
	rdb.LCS(ctx, &redis.LCSQuery{Key1: id, Key2: other})                 // want `LCS.*MC402`
	conn.Do("SUNION", id, other)                                         // want `SUNION.*MC402`
	conn.Do("ZINTERSTORE", "{t}d", n, "{t}a")                            // want `ZINTERSTORE.*how many keys.*MC402`
	conn.Do("SDIFF", redigo.Args{}.Add(id).AddFlat(ids)...)              // want `SDIFF.*MC402`
	rdb.Do(ctx, "SMOVE", id, other, "m")                                 // want `SMOVE.*MC402`
	radix.Cmd(nil, "SINTER", id, other)                                  // want `SINTER.*MC402`
	_ = c.B().Sinter().Key(id).Key(other).Build()                        // want `SINTER.*MC402`
	_ = c.B().Smove().Source(id).Destination(other).Member("m").Build()  // want `SMOVE.*MC402`
	_ = c.B().Arbitrary("SUNION").Keys(id, other).Build()                // want `SUNION.*MC402`
	key := "{" + id + "}:a"
	if n > 1 {
		key = other
	}
	rdb.SInter(ctx, key, "{"+id+"}:b") // want `MC402`
	id = other
	rdb.SInter(ctx, "{"+id+"}:a", "{"+id+"}:b") // want `MC402`
	s.prefix = "x"
	rdb.SInter(ctx, "{"+s.prefix+"}:a", "{"+s.prefix+"}:b") // want `MC402`
}

func different(ctx context.Context, rdb *redis.Client, conn redigo.Conn, id string) {
	rdb.SInter(ctx, "a", "b")                                   // want `keys "a" and "b" are in different slots, 579 and 1017.*MC402`
	rdb.SInter(ctx, "{a}:"+id, "{b}:"+id)                       // want `are in different slots.*MC402`
	conn.Do("PFCOUNT", "x", "y", id)                            // want `are in different slots.*MC402`
	rdb.SMove(ctx, keynames.Seat(1, 1), keynames.Seat(2, 1), 1) // want `are in different slots.*MC402`
}

func together(ctx context.Context, rdb *redis.Client, conn redigo.Conn, c rueidis.Client, user struct{ ID string }, id string, n int, s *store, ids []string) {
	rdb.SInter(ctx, "{"+id+"}:a", "{"+id+"}:b")
	rdb.SInter(ctx, "x:{"+id+"}:a", "y:{"+id+"}:b")
	rdb.SInter(ctx, id, id)
	rdb.SInter(ctx, "{t}a", "{t}b", "x{t}")
	rdb.SInter(ctx, fmt.Sprintf("{%s}:%d", user.ID, n), fmt.Sprintf("{%v}:b", user.ID))
	rdb.SInter(ctx, fmt.Sprintf("%d:{%s}", n, id), "b:{"+id+"}")
	rdb.SInterStore(ctx, keynames.Friends(id), keynames.User(id), keynames.Friends(id)+":"+user.ID)
	rdb.SMove(ctx, keynames.Seat(n, 1), keynames.Seat(n, 2), 1)
	rdb.SMove(ctx, keynames.Seat(n, 1), "{room:"+strconv.Itoa(n)+"}:2", 1)
	rdb.SMove(ctx, s.key("a"), s.key("b"), 1)
	rdb.SMove(ctx, s.space.Key("a"), s.space.Key(id), 1)
	rdb.SMove(ctx, keynames.Path("{"+id+"}", "a"), keynames.Path("{"+id+"}", user.ID), 1)
	rdb.SMove(ctx, strings.Join([]string{"{" + id + "}", "a"}, ":"), "{"+id+"}", 1)
	rdb.Get(ctx, strings.Join(words())) // the arguments are what the call returns
	tag := "{" + id + "}"
	both := []string{tag + "a", tag + "b"}
	rdb.Unlink(ctx, both...)
	opts := &redis.ZStore{Keys: both}
	rdb.ZUnionStore(ctx, tag, opts)
	conn.Do("ZUNIONSTORE", tag+"d", 2, tag+"a", tag+"b")
	conn.Do("SORT", tag, "BY", "nosort", "STORE", tag+"x")
	_ = c.B().Sinter().Key(both...).Build()
	_ = c.B().Smove().Source(tag).Destination(tag + "x").Member("m").Build()
	radix.Cmd(nil, "SINTER", both...)
}

func tags(ctx context.Context, rdb *redis.Client, conn redigo.Conn, id string) {
	rdb.Get(ctx, "{}"+id)                     // want `key "{}"\+id; the hash tag is empty, which puts every such key into slot 0 \(MC405\)`
	rdb.Get(ctx, "user:{"+id)                 // want `the { is never shut.*MC405`
	rdb.HSet(ctx, "{app}:user:"+id)           // want `all keys have the hash tag {app}.*MC405`
	conn.Do("GET", fmt.Sprintf("u{}:%s", id)) // want `MC405`
	rdb.Get(ctx, "{"+id+"}")
	rdb.Get(ctx, "{app}")
	rdb.Get(ctx, "user:"+id)
	rdb.HSet(ctx, "k", "{}", "{")
	conn.Do("SET", "k", "{")
}

func words() ([]string, string) { return nil, ":" }
