package chat_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/domains/chat"
	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/rmwtest"
)

// Users join a room until it is full. The owner leaves, and the member with the earliest JoinedAt is the next owner.
func Example() {
	ctx := context.Background()
	now := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)

	rooms := chat.New(rmwtest.NewMemory(), chat.Config{}) // cas.New(...) or lockupdate.New(...)
	_, err := rooms.Create(ctx, "7", domains.NewOp(now), chat.Room{Name: "returns", Cap: 2})
	fmt.Println("create:", err)

	for _, id := range []string{"ann", "bob", "cid"} {
		now = now.Add(time.Second)
		room, err := rooms.Join(ctx, "7", domains.NewOp(now), id, chat.Member{Role: chat.Agent})
		if errors.Is(err, chat.ErrRoomFull) {
			fmt.Println(id, "stays out:", err)
			continue
		}
		fmt.Println(id, "is in, with", len(room.Members), "of", room.Cap)
	}

	op := domains.NewOp(now)
	seq, _, err := rooms.Post(ctx, "7", op, "bob")
	fmt.Println("message", seq, err)
	seq, _, err = rooms.Post(ctx, "7", op, "bob") // the same once more
	fmt.Println("message", seq, err)

	room, err := rooms.Leave(ctx, "7", domains.NewOp(now), "ann")
	fmt.Println("owner:", room.OwnerID, err)
	room, err = rooms.Leave(ctx, "7", domains.NewOp(now), "bob")
	fmt.Println("room:", room.Status, err)
	// Output:
	// create: <nil>
	// ann is in, with 1 of 2
	// bob is in, with 2 of 2
	// cid stays out: room "7": the room is full: 2 of 2 are in
	// message 1 <nil>
	// message 1 <nil>
	// owner: bob <nil>
	// room: closed <nil>
}

// A service has always closed rooms without noting when, and let owners leave. With Mend
// these rooms can be read; the next change of each stores them as they should be.
func ExampleConfig_mend() {
	ctx, store := context.Background(), rmwtest.NewMemory()
	_ = store.Set(ctx, "chat:room:7", rmw.String(
		`{"id":"7","status":"open","owner_id":"zoe","members":{"ann":{"joined_at":1},"bob":{}},"active_at":2}`), rmw.NoTTL)

	_, err := chat.New(store, chat.Config{}).Get(ctx, "7")
	fmt.Println(err)

	rooms := chat.New(store, chat.Config{Mend: func(r *chat.Room) {
		if r.Status == chat.Closed && r.ClosedAt == 0 {
			r.ClosedAt = max(r.ActiveAt, r.CreatedAt, 1)
		}
		if _, in := r.Members[r.OwnerID]; !in {
			r.OwnerID = ""
			for id := range r.Members { // the first by name: it has to be the same each time
				if r.OwnerID == "" || id < r.OwnerID {
					r.OwnerID = id
				}
			}
		}
	}})
	room, err := rooms.Get(ctx, "7")
	fmt.Println(room.OwnerID, err)

	room, err = rooms.Remove(ctx, "7", op("a", 1), "ann", "bob")
	fmt.Println(room.OwnerID, err)
	room, err = chat.New(store, chat.Config{}).Get(ctx, "7") // repaired by Mend
	fmt.Println(room.OwnerID, err)
	// Output:
	// rmw: decode "chat:room:7": the stored value cannot be decoded: string(100 bytes): the owner is not one of the members
	// ann <nil>
	// ann <nil>
	// ann <nil>
}
