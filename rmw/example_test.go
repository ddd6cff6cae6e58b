package rmw_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"time"

	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/rmwtest"
)

// A counter: the function gets the present value and returns the next one. It
// is called again if somebody else was quicker.
func Example() {
	var store rmw.Store = rmwtest.NewMemory() // or cas.New(...), or lockupdate.New(...)
	ctx := context.Background()

	visit := func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
		n := 0
		if cur.Exists() {
			var err error
			if n, err = strconv.Atoi(cur.Text()); err != nil {
				return rmw.Value{}, err
			}
		}
		return rmw.String(strconv.Itoa(n + 1)), nil
	}
	for range 3 {
		if _, err := store.Update(ctx, rmw.Key{Name: "visits"}, visit); err != nil {
			panic(err)
		}
	}
	v, err := store.Read(ctx, rmw.Key{Name: "visits"})
	fmt.Println(v.Text(), err)
	fmt.Println("a Value shows no content:", v)

	// Output:
	// 3 <nil>
	// a Value shows no content: string(1 bytes)
}

// A chat room, stored as JSON. An error of the edit's own writes nothing and
// reaches the caller as it is.
func ExampleTyped() {
	type Room struct {
		Members []string `json:"members"`
	}
	errFull := errors.New("the room is full")
	rooms := rmw.NewTyped(rmwtest.NewMemory(), rmw.JSON[Room]())
	ctx := context.Background()

	for _, name := range []string{"ann", "bob", "eve"} {
		room, res, err := rooms.Edit(ctx, rmw.Key{Name: "room:7"}, func(_ context.Context, room *Room, exists bool) error {
			if len(room.Members) == 2 {
				return errFull
			}
			room.Members = append(room.Members, name)
			return nil
		})
		fmt.Println(room.Members, res.Written, err)
	}

	// Output:
	// [ann] true <nil>
	// [ann bob] true <nil>
	// [] false the room is full
}

// Restart a key's expiry and change nothing else.
func ExampleValue_WithTTL() {
	store := rmwtest.NewMemory()
	ctx := context.Background()
	if err := store.Set(ctx, "session:1", rmw.String("open"), time.Minute); err != nil {
		panic(err)
	}

	res, err := store.Update(ctx, rmw.Key{Name: "session:1"}, func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
		return cur.WithTTL(30 * time.Minute), nil // of a key that does not exist, this is still nothing
	})
	fmt.Println("written:", res.Written, err)

	v, ttl, _ := store.Get(ctx, "session:1")
	fmt.Println(v.Text(), ttl.Round(time.Minute))

	// Output:
	// written: true <nil>
	// open 30m0s
}

// An edit steers with Keep and Remove: nothing to do, or nothing left to store.
func ExampleTyped_Edit_keepAndRemove() {
	members := rmw.NewTyped(rmwtest.NewMemory(), rmw.JSON[map[string]bool]())
	ctx := context.Background()
	key := rmw.Key{Name: "room:7:members"}

	leave := func(name string) {
		_, res, err := members.Edit(ctx, key, func(_ context.Context, m *map[string]bool, _ bool) error {
			if !(*m)[name] {
				return fmt.Errorf("%s is not here: %w", name, rmw.Keep)
			}
			delete(*m, name)
			if len(*m) == 0 {
				return rmw.Remove
			}
			return nil
		})
		_, exists, _ := members.Get(ctx, key)
		fmt.Printf("%s left: written=%v exists=%v err=%v\n", name, res.Written, exists, err)
	}

	_, _, err := members.Edit(ctx, key, func(_ context.Context, m *map[string]bool, _ bool) error {
		*m = map[string]bool{"ann": true, "bob": true}
		return nil
	})
	fmt.Println(err)
	leave("ann")
	leave("ann")
	leave("bob")

	// Output:
	// <nil>
	// ann left: written=true exists=true err=<nil>
	// ann left: written=false exists=true err=<nil>
	// bob left: written=true exists=false err=<nil>
}

// A struct over the fields of a hash. Fields that the struct does not know stay.
func ExampleHashOf() {
	type Session struct {
		State string    `redis:"state"`
		Calls int64     `redis:"calls"`
		Ended time.Time `redis:"ended,omitempty"`
	}
	store := rmwtest.NewMemory()
	ctx := context.Background()
	old := rmw.Hash(map[string]string{"state": "open", "calls": "9007199254740993", "color": "blue"})
	if err := store.Set(ctx, "session:1", old, rmw.NoTTL); err != nil {
		panic(err)
	}

	sessions := rmw.NewTyped(store, rmw.HashOf[Session]())
	_, _, err := sessions.Edit(ctx, rmw.Key{Name: "session:1"}, func(_ context.Context, s *Session, _ bool) error {
		s.Calls++
		return nil
	})
	v, _, _ := store.Get(ctx, "session:1")
	fmt.Println(v.Fields(), err)

	// Output:
	// map[calls:9007199254740994 color:blue state:open] <nil>
}

// Middleware holds for every call. The first is outermost, and As sees through
// all of them.
func ExampleChain() {
	quiet := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{
		Level: slog.LevelDebug,
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey || a.Key == "took" {
				return slog.Attr{} // differs each time
			}
			return a
		},
	}))
	count := map[rmw.Op]int{}
	store := rmw.Chain(rmwtest.NewMemory(),
		rmw.Log(quiet),
		rmw.Observe(func(_ context.Context, e rmw.Event) { count[e.Op]++ }),
	)

	_, err := store.Update(context.Background(), rmw.Key{Name: "room:7", Label: "room"},
		func(context.Context, rmw.Value) (rmw.Value, error) { return rmw.String("private words"), nil })
	fmt.Println(err, count)

	_, ok := rmw.As[*rmwtest.Memory](store)
	fmt.Println("the Memory below:", ok)

	// Output:
	// level=DEBUG msg="rmw update" key=room:7 after="string(13 bytes)" label=room outcome=written written=true attempts=1 waited=0s
	// <nil> map[update:1]
	// the Memory below: true
}

// What to do with an error: try again, look, or give up.
func ExampleRetryable() {
	for _, err := range []error{
		&rmw.Error{Path: "cas", Op: "exec", Key: "room:7", Attempts: 100, Reason: rmw.ErrContended},
		&rmw.Error{Path: "cas", Op: "exec", Key: "room:7", Attempts: 1, Reason: rmw.ErrOutcomeUnknown, Cause: errors.New("i/o timeout")},
		&rmw.Error{Path: "cas", Op: "read", Key: "room:7", Cause: context.DeadlineExceeded},
	} {
		fmt.Println(rmw.Retryable(err), err)
	}

	// Output:
	// true cas: exec "room:7" (attempt 100): contended: other writers kept the key busy
	// false cas: exec "room:7": outcome unknown: the write was sent but its answer was lost: i/o timeout
	// false cas: read "room:7": context deadline exceeded
}
