package rmw_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/rmwtest"
)

// Seats that a group books together: it gets all of them, or none if one is taken.
func ExampleTyped_In() {
	type Seat struct{ Guest string }
	store, ctx, errTaken := rmwtest.NewMemory(), context.Background(), errors.New("taken")
	seats := rmw.NewTyped(store, rmw.JSON[Seat]())
	// snippet:book
	book := func(guest string, keys ...rmw.Key) error {
		_, err := rmw.Transact(ctx, store, func(_ context.Context, tx *rmw.Tx) error {
			for _, key := range keys {
				if seat, exists := seats.In(tx).Get(key); exists {
					return fmt.Errorf("%s: %w by %s", key.Name, errTaken, seat.Guest)
				}
				seats.In(tx).Put(key, Seat{Guest: guest})
			}
			return nil
		}, keys...)
		return err
	}
	// endsnippet
	a, b, c := rmw.Key{Name: "seat:1"}, rmw.Key{Name: "seat:2"}, rmw.Key{Name: "seat:3"}
	fmt.Println(book("ann", a, b))
	fmt.Println(book("bob", c, b))
	_, exists, err := seats.Get(ctx, c)
	fmt.Println("seat:3 is taken:", exists, err)

	// Output:
	// <nil>
	// seat:2: taken by ann
	// seat:3 is taken: false <nil>
}

// The session gets an agent, and the agent a further session. The two values have different types.
func ExampleEdit2_twoTypes() {
	type Session struct{ Agent string }
	type Agent struct{ Sessions, Max int }
	store, ctx := rmwtest.NewMemory(), context.Background()
	sessions, agents := rmw.NewTyped(store, rmw.JSON[Session]()), rmw.NewTyped(store, rmw.JSON[Agent]())
	// snippet:assign
	assign := func(session, agent string) error {
		s, a := sessions.At(rmw.Key{Name: "session:" + session}), agents.At(rmw.Key{Name: "agent:" + agent})
		_, err := rmw.Edit2(ctx, s, a, func(_ context.Context, s *rmw.Item[Session], a *rmw.Item[Agent]) error {
			switch {
			case s.Value.Agent != "":
				return errors.New("assigned already")
			case a.Value.Sessions == a.Value.Max:
				return errors.New("no agent is free")
			}
			s.Value.Agent = agent
			a.Value.Sessions++
			return nil
		})
		return err
	}
	// endsnippet
	_, _, err := agents.Edit(ctx, rmw.Key{Name: "agent:ann"}, func(_ context.Context, a *Agent, _ bool) error {
		a.Max = 1
		return nil
	})
	fmt.Println(err)
	fmt.Println(assign("7", "ann"))
	fmt.Println(assign("8", "ann"))
	eight, exists, err := sessions.Get(ctx, rmw.Key{Name: "session:8"})
	fmt.Println(eight.Agent, exists, err)

	// Output:
	// <nil>
	// <nil>
	// no agent is free
	//  false <nil>
}
