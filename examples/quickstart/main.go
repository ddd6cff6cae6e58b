// Command quickstart is the quick start of the README, as a program: it lets a
// member join a chat room through a Codis proxy.
//
//	go run ./examples/quickstart HOST:PORT
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
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
	rdb.AddHook(proxycompat.Hook(codis))              // refuses, before sending, what the proxy would refuse
	store := lockupdate.New(rdb, lockupdate.Config{}) // the legacy path: cas.New(rdb, cas.Config{})
	defer store.Close()                               // before the client: it releases what is still locked
	// endsnippet

	room, err := join(ctx, store, "7", "ada")
	if err != nil {
		return err
	}
	fmt.Printf("room 7: %v\n", room.Members)
	return nil
}

// snippet:update
type Room struct{ Members []string }

var ErrRoomFull = errors.New("the room is full")

func join(ctx context.Context, store rmw.Store, id, member string) (Room, error) {
	key := rmw.Key{Name: "room:" + id, TTL: 24 * time.Hour}
	rooms := rmw.NewTyped(store, rmw.JSON[Room]())
	room, _, err := rooms.Edit(ctx, key, func(_ context.Context, room *Room, _ bool) error {
		if slices.Contains(room.Members, member) {
			return rmw.Keep // write nothing
		}
		if len(room.Members) == 100 {
			return ErrRoomFull // write nothing, and return this very error
		}
		room.Members = append(room.Members, member)
		return nil // store it, if nobody else has changed it; else call me again
	})
	return room, err
}

// endsnippet
