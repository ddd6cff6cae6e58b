package desk_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/domains/desk"
	"github.com/unwatch/unwatch/domains/mcc"
	"github.com/unwatch/unwatch/domains/session"
	"github.com/unwatch/unwatch/rmw/rmwtest"
)

// A visitor comes, an agent gets the session, and has room for no other.
func Example() {
	ctx := context.Background()
	now := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	op := func() domains.Op { return domains.NewOp(now) }

	store := rmwtest.NewMemory() // cas.New(...) or lockupdate.New(...)
	sessions := session.New(store, session.Config{})
	agents := mcc.New(store, mcc.Config{Max: 1})
	d := desk.New(sessions, agents, desk.Config{})

	_, _ = agents.Create(ctx, "ann", op(), mcc.Agent{})
	_, _ = agents.SetStatus(ctx, "ann", op(), mcc.Online)
	for _, visitor := range []string{"v1", "v2"} {
		_, err := d.Open(ctx, op(), "s-"+visitor, session.Session{VisitorID: visitor, Status: session.Queued})
		fmt.Println("open:", err)
	}

	s, err := d.Assign(ctx, op(), "s-v1", "ann")
	fmt.Println(s.Status, s.AgentID, err)

	_, err = d.Assign(ctx, op(), "s-v2", "ann")
	fmt.Println(errors.Is(err, mcc.ErrFull), err)

	_, err = d.Close(ctx, op(), "s-v1", session.ByAgent)
	fmt.Println("close:", err)
	s, err = d.Assign(ctx, op(), "s-v2", "ann")
	fmt.Println(s.Status, s.AgentID, err)
	// Output:
	// open: <nil>
	// open: <nil>
	// assigned ann <nil>
	// true agent "ann": the agent has as many sessions as permitted: 1 of 1
	// close: <nil>
	// assigned ann <nil>
}
