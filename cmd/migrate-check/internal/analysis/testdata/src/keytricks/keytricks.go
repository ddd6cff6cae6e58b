// Package keytricks has keys that look alike and are not, and others that are.
package keytricks

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

type name string

type spoken string

func (s spoken) String() string { return "{" + strconv.Itoa(len(s)) + "}" }

type room struct {
	ID    string
	Owner struct{ ID string }
}

var (
	prefix  = "{app}"
	changed = "{app}"
	Open    = "{app}"
)

func change() { changed = "other" }

func next() string { return fmt.Sprint(&prefix) }

func tagged[T any](id T) string { return fmt.Sprintf("{%v}", id) }

func wrapped(id string) string { return tag(id) }

func tag(id string) string {
	t := "{" + id + "}"
	return t
}

func reassigned(id string) string {
	id = "{" + id + "}"
	return id
}

func recursive(id string) string { return "{" + recursive(id) + "}" }

func named(id string) (key string) {
	key = "{" + id + "}"
	return
}

func alike(ctx context.Context, rdb *redis.Client, id string, ids []string, s spoken, n int, r *room, m map[string]string, x any) {
	p := &id
	rdb.SMove(ctx, "{"+id+"}", "{"+id+"}x", 1) // want `MC402`
	*p = "other"

	var last string
	for _, id := range ids {
		rdb.SMove(ctx, "{"+last+"}", "{"+last+"}x", 1) // want `MC402`
		last = id
	}
	func() { n++ }()
	rdb.SMove(ctx, fmt.Sprintf("{%d}", n), fmt.Sprintf("{%d}x", n), 1)    // want `MC402`
	rdb.SMove(ctx, fmt.Sprintf("{%s}", s), "{"+string(s)+"}x", 1)         // want `MC402`
	rdb.SMove(ctx, fmt.Sprintf("{%s}", x), fmt.Sprintf("{%v}", x)+"x", 1) // want `MC402`
	rdb.SMove(ctx, "{"+ids[0]+"}", "{"+ids[0]+"}x", 1)                    // want `MC402`
	rdb.SMove(ctx, "{"+m["a"]+"}", "{"+m["a"]+"}x", 1)                    // want `MC402`
	rdb.SMove(ctx, "{"+next()+"}", "{"+next()+"}x", 1)                    // want `MC402`
	rdb.SMove(ctx, recursive("a"), recursive("b"), 1)                     // want `MC402`
	rdb.SMove(ctx, named("a"), named("a")+"x", 1)                         // want `MC402`
	rdb.SMove(ctx, reassigned("a"), reassigned("a")+"x", 1)               // want `MC402`
	rdb.SMove(ctx, prefix+"a", prefix+"b", 1)                             // want `MC402`
	rdb.SMove(ctx, changed+"a", changed+"b", 1)                           // want `MC402`
	rdb.SMove(ctx, "{"+r.ID+"}", "{"+r.Owner.ID+"}", 1)                   // want `MC402`
	keys := []string{"{t}a", "{t}b"}
	keys[1] = "c"
	rdb.Unlink(ctx, keys...) // want `MC402`
	more := append([]string{"{t}a"}, ids...)
	rdb.Unlink(ctx, more...)                                                          // want `MC402`
	rdb.SMove(ctx, "a{"+r.ID, "b}{"+r.ID, 1)                                          // want `MC402` `MC405` `MC405`
	rdb.SMove(ctx, r.ID+"{t}", r.Owner.ID+"{t}", 1)                                   // want `MC402`
	rdb.SMove(ctx, fmt.Sprintf("{%05d}", len(ids)), fmt.Sprintf("{%d}", len(ids)), 1) // want `MC402`
	rdb.SMove(ctx, fmt.Sprintf("{%[1]s}", r.ID), fmt.Sprintf("{%s}", r.ID), 1)        // want `MC402`
}

func same(ctx context.Context, rdb *redis.Client, id string, ids []string, n name, i int, r *room, u uint8) {
	rdb.SMove(ctx, "{"+string(n)+"}", fmt.Sprintf("{%s}x", n), 1)
	rdb.SMove(ctx, tagged(id), tagged(id)+"x", 1)
	rdb.SMove(ctx, wrapped(id), tag(id)+"x", 1)
	rdb.SMove(ctx, fmt.Sprintf("{%d}", i), "{"+strconv.FormatInt(int64(i), 10)+"}", 1)
	rdb.SMove(ctx, fmt.Sprintf("{%v}", u), "{"+strconv.FormatUint(uint64(u), 10)+"}", 1)
	rdb.SMove(ctx, fmt.Sprintf("%d{t}", i), fmt.Sprintf("%d:%v{t}", i, u), 1)
	rdb.SMove(ctx, "{"+r.Owner.ID+"}", "{"+r.Owner.ID+"}x", 1)
	rdb.SMove(ctx, "{"+strings.ToLower(id)+"}", "{"+strings.ToLower(id)+"}x", 1)
	rdb.SMove(ctx, r.ID+"{t}", r.ID+"{t}x", 1)
	rdb.SMove(ctx, fmt.Sprintf("100%%{%s}", id), fmt.Sprintf("{%s}", id), 1)
	for _, id := range ids {
		key := "{" + id + "}"
		rdb.SMove(ctx, key, key+"x", 1)
	}
	fresh := next()
	rdb.SMove(ctx, "{"+fresh+"}", "{"+fresh+"}x", 1)
	go func() { rdb.SMove(ctx, tag(id), tag(id)+"x", 1) }()
}
