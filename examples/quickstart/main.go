// Command quickstart is the example of the README, as a program: it lets a member join
// a chat room, and go to another one, through a Codis proxy.
//
//	go run ./examples/quickstart HOST:PORT
package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	// snippet:imports
	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/rmw"
	// endsnippet
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: quickstart HOST:PORT, the address of a Codis proxy")
		os.Exit(2)
	}
	if err := run(context.Background(), os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "quickstart:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, proxyAddr string) error {
	// snippet:connect
	codis := proxycompat.Codis32()
	rdb := redis.NewClient(proxycompat.Options(codis, proxyAddr))
	defer rdb.Close()
	rdb.AddHook(proxycompat.Hook(codis))              // refuses, before sending, each command that the proxy would refuse
	store := lockupdate.New(rdb, lockupdate.Config{}) // the legacy path: cas.New(rdb, cas.Config{})
	defer store.Close()                               // before the client: it releases what is still locked
	// endsnippet

	if err := join(ctx, store, "7", "ada"); err != nil {
		return err
	}
	if err := move(ctx, store, "room:7", "room:8", "ada"); err != nil {
		return err
	}
	rooms, err := rmw.ReadAll(ctx, store, rmw.Key{Name: "room:7"}, rmw.Key{Name: "room:8"})
	if err != nil {
		return err
	}
	fmt.Printf("room 7: %q, room 8: %q\n", rooms[0].Text(), rooms[1].Text())
	return nil
}

// snippet:update
func join(ctx context.Context, store rmw.Store, id, member string) error {
	key := rmw.Key{Name: "room:" + id, TTL: 24 * time.Hour}
	_, err := store.Update(ctx, key, func(_ context.Context, room rmw.Value) (rmw.Value, error) {
		return rmw.String(add(room.Text(), member)), nil
	})
	return err
}

// endsnippet

// snippet:two
func move(ctx context.Context, store rmw.Store, from, to, member string) error {
	a, b := rmw.Key{Name: from, TTL: 24 * time.Hour}, rmw.Key{Name: to, TTL: 24 * time.Hour}
	_, err := rmw.Transact(ctx, store, func(_ context.Context, tx *rmw.Tx) error {
		tx.Put(a, rmw.String(remove(tx.Get(a).Text(), member)))
		tx.Put(b, rmw.String(add(tx.Get(b).Text(), member)))
		return nil
	}, a, b)
	return err
}

// endsnippet

// add returns the room with one more member.
func add(room, member string) string {
	members := strings.Fields(room)
	if !slices.Contains(members, member) {
		members = append(members, member)
	}
	return strings.Join(members, " ")
}

// remove returns the room without a member.
func remove(room, member string) string {
	return strings.Join(slices.DeleteFunc(strings.Fields(room), func(m string) bool { return m == member }), " ")
}
