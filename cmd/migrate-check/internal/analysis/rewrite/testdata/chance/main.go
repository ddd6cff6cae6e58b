// Program chance plays the named functions before and after a change, and tells where they differ.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"example.com/beside/after"
	"example.com/beside/before"
	"github.com/unwatch/unwatch/cas"
	"github.com/unwatch/unwatch/rmw"
)

const key = "k"

type input struct {
	text string
	n    int
	ttl  time.Duration
}

// rival writes once, after the key was read.
type rival struct {
	once  *sync.Once
	write func()
}

func (rival) DialHook(next redis.DialHook) redis.DialHook { return next }
func (r rival) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		switch cmd.Name() {
		case "get", "hget", "hgetall":
			r.once.Do(r.write)
		}
		return err
	}
}
func (rival) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

type silence struct{}

func (silence) Printf(context.Context, string, ...any) {}

func main() {
	redis.SetLogger(silence{})
	m, err := miniredis.Run()
	if err != nil {
		panic(err)
	}
	type function = func(ctx context.Context, key, text string, n int, ttl time.Duration) (string, error)
	var current func(rdb *redis.Client, store rmw.Store) (string, error)
	play := func(put, other, later func()) string {
		m.FlushAll()
		if put != nil {
			put()
		}
		rdb := redis.NewClient(&redis.Options{Addr: m.Addr(), DisableIdentity: true})
		store := cas.New(rdb, cas.Config{})
		defer func() { _ = store.Close(); _ = rdb.Close() }()
		if other != nil {
			rdb.AddHook(rival{new(sync.Once), other})
		}
		seen, err := current(rdb, store)
		conflicts := 0
		for ; errors.Is(err, redis.TxFailedErr); conflicts++ { // as the callers of a Watch do
			seen, err = current(rdb, store)
		}
		if later != nil {
			later()
		}
		what := class(err)
		seen = fmt.Sprintf("%d conflicts, %s", conflicts, seen)
		if what != "fine" && what != "absent" && what != "refused" {
			seen = "" // beside the error of a read, what was assigned means nothing, and the read after a conflict may fail
		}
		return fmt.Sprintf("%s, %s, %s", what, seen, dump(m))
	}
	puts := map[string]func(){"absent": nil, "list": func() { _, _ = m.Push(key, "x") },
		"hash": func() { m.HSet(key, "f", "4", "g", "x") }, "hash of other fields": func() { m.HSet(key, "h", "") }}
	for _, text := range []string{"", "7", "-3", "x y", "true", "1.5", "99999999999999999999"} {
		puts[fmt.Sprintf("%q", text)] = func() { _ = m.Set(key, text); m.SetTTL(key, time.Minute) }
	}
	others := map[string]func(){"alone": nil,
		"another value": func() {
			if m.Type(key) == "hash" {
				m.HSet(key, "f", "9", "g", "")
			} else if m.Type(key) != "list" {
				_ = m.Set(key, "9")
			}
		},
		"another deletes it": func() { m.Del(key) },
	}
	bad := 0
	for name := range before.New(nil, nil).All() {
		for state, put := range puts {
			for rival, other := range others {
				for _, in := range []input{{"a", 3, 0}, {"", 9, time.Hour}, {"x", -1, redis.KeepTTL}} {
					current = func(rdb *redis.Client, store rmw.Store) (string, error) {
						return function(before.New(rdb, store).All()[name])(context.Background(), key, in.text, in.n, in.ttl)
					}
					// What writes nothing may have come before the rival as well as behind it.
					was, earlier := play(put, other, nil), play(put, nil, other)
					current = func(rdb *redis.Client, store rmw.Store) (string, error) {
						return function(after.New(rdb, store).All()[name])(context.Background(), key, in.text, in.n, in.ttl)
					}
					if is := play(put, other, nil); is != was && is != earlier {
						bad++
						fmt.Printf("%s: %s, %s, %+v\nwas %s\nis  %s\n", name, state, rival, in, was, is)
					}
				}
			}
		}
	}
	if bad > 0 {
		os.Exit(1)
	}
}

// class is an error as callers tell it from others: errors by their own words, and of the server by their kind.
func class(err error) string {
	switch {
	case err == nil:
		return "fine"
	case errors.Is(err, redis.Nil):
		return "absent"
	case errors.Is(err, rmw.ErrWrongKind), strings.Contains(err.Error(), "WRONGTYPE"):
		return "wrong kind"
	}
	text := strings.NewReplacer("before.", "", "after.", "").Replace(err.Error())
	return text[strings.LastIndex(text, ":")+1:]
}

func dump(m *miniredis.Miniredis) string {
	var b strings.Builder
	for _, name := range m.Keys() {
		fmt.Fprintf(&b, "%s %s %v: ", name, m.Type(name), m.TTL(name))
		switch m.Type(name) {
		case "string":
			v, _ := m.Get(name)
			fmt.Fprintf(&b, "%q ", v)
		case "hash":
			fields, _ := m.HKeys(name)
			for _, f := range fields {
				fmt.Fprintf(&b, "%q=%q ", f, m.HGet(name, f))
			}
		}
	}
	return b.String()
}
