package lock_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/lock/driver"
	"github.com/unwatch/unwatch/lock/locktest"
)

// table is a store that refuses late writes by their fencing token.
type table struct {
	state string
	token uint64
}

// snippet:refuse
func (t *table) write(state string, token uint64) error {
	if token < t.token {
		return errors.New("refused: a later holder has written")
	}
	t.state, t.token = state, token
	return nil
}

// endsnippet

// Ada stalls past her lease, and Bob gets the lock and writes. When Ada's write
// arrives, the table refuses it, because her token is smaller than Bob's.
func Example() {
	memory := locktest.NewMemory(driver.Config{})
	var ada, bob lock.Locker = memory, memory.Peer() // in production: lockupdate.New(rdb, lockupdate.Config{})
	var room table

	err := ada.WithLock(context.Background(), "room:7", func(ctx context.Context) error {
		token, err := lock.Token(ctx)
		if err != nil {
			return err
		}
		if err := memory.TakeAway(ctx, "room:7"); err != nil { // as if the lease had ended
			return err
		}
		// snippet:token
		err = bob.WithLock(context.Background(), "room:7", func(ctx context.Context) error {
			token, err := lock.Token(ctx)
			if err != nil {
				return err
			}
			return room.write("bob was here", token)
		})
		// endsnippet
		fmt.Println("bob:", err)
		return room.write("ada was here", token)
	})
	fmt.Println("ada:", err)
	fmt.Println(room.state)
	// Output:
	// bob: <nil>
	// ada: refused: a later holder has written
	// bob was here
}
