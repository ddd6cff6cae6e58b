package lockupdate_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
)

// A counter behind a Codis proxy, which is played in this process here. Only the
// options of the client and the call of New tell which path it is.
func Example() {
	proxy, err := proxytest.Start(proxytest.Config{Profile: proxycompat.Codis32(), InMemory: true})
	if err != nil {
		panic(err)
	}
	defer proxy.Close()
	rdb := redis.NewClient(proxy.Options()) // of a real one: proxycompat.Options(proxycompat.Codis32(), addr)
	defer rdb.Close()

	store := lockupdate.New(rdb, lockupdate.Config{})
	ctx := context.Background()
	for range 3 {
		res, err := store.Update(ctx, rmw.Key{Name: "visits"}, func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
			n, _ := strconv.Atoi(cur.Text()) // an absent key counts as 0
			return rmw.String(strconv.Itoa(n + 1)), nil
		})
		if err != nil {
			panic(err)
		}
		fmt.Println(res.After.Text(), "after", res.Attempts, "attempt")
	}

	// Close waits until every lock is released: call it before the client's.
	fmt.Println(store.Close())
	_, err = store.Read(ctx, rmw.Key{Name: "visits"})
	fmt.Println(errors.Is(err, rmw.ErrClosed))

	// Output:
	// 1 after 1 attempt
	// 2 after 1 attempt
	// 3 after 1 attempt
	// <nil>
	// true
}

// What the store can do is found out once, when a service is set up. Here it is Pika,
// which has no Lua, behind a Codis proxy.
func ExampleProbe() {
	proxy, err := proxytest.Start(proxytest.Config{Store: proxytest.Pika, InMemory: true})
	if err != nil {
		panic(err)
	}
	defer proxy.Close()
	rdb := redis.NewClient(proxy.Options())
	defer rdb.Close()

	commit, err := lockupdate.Probe(context.Background(), rdb)
	fmt.Println(commit, err)
	sent, _ := lockupdate.Config{Commit: commit}.RequiredCommands()
	fmt.Println(sent)
	store := lockupdate.New(rdb, lockupdate.Config{Commit: commit})
	defer store.Close()

	// Output:
	// VX <nil>
	// [DELVX GET PTTL SET TYPE]
}

// A chat room, as JSON. The edit sees a Room and may refuse.
func Example_typed() {
	proxy, err := proxytest.Start(proxytest.Config{Profile: proxycompat.Codis32(), InMemory: true})
	if err != nil {
		panic(err)
	}
	defer proxy.Close()
	rdb := redis.NewClient(proxy.Options())
	defer rdb.Close()
	store := lockupdate.New(rdb, lockupdate.Config{})
	defer store.Close()

	type Room struct {
		Title   string   `json:"title"`
		Members []string `json:"members"`
	}
	full := errors.New("the room is full")
	rooms := rmw.NewTyped(store, rmw.JSON[Room]())
	for _, name := range []string{"ann", "bob", "eve"} {
		room, _, err := rooms.Edit(context.Background(), rmw.Key{Name: "room:7"},
			func(_ context.Context, room *Room, exists bool) error {
				if !exists {
					room.Title = "<seven>"
				}
				if len(room.Members) == 2 {
					return full
				}
				room.Members = append(room.Members, name)
				return nil
			})
		fmt.Println(room.Title, room.Members, err)
	}

	// Output:
	// <seven> [ann] <nil>
	// <seven> [ann bob] <nil>
	//  [] the room is full
}
