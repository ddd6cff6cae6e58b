package mcc_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/domains/mcc"
	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/rmwtest"
)

// An agent comes online and takes as many sessions as the group permits. Package desk
// does the steps around a slot in the right order.
func Example() {
	ctx := context.Background()
	now := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)

	store := rmwtest.NewMemory() // cas.New(...) or lockupdate.New(...)
	agents := mcc.New(store, mcc.Config{Max: 5, GroupMax: map[string]int{"trainees": 1}})

	_, _ = agents.Create(ctx, "ann", domains.NewOp(now), mcc.Agent{Groups: []string{"trainees"}})
	_, err := agents.Reserve(ctx, "ann", now, "s1", 0, now.Add(time.Minute), false)
	fmt.Println(errors.Is(err, mcc.ErrNotAccepting), err)

	_, _ = agents.SetStatus(ctx, "ann", domains.NewOp(now), mcc.Online)
	a, err := agents.Reserve(ctx, "ann", now, "s1", 0, now.Add(time.Minute), false)
	fmt.Println(a.Load(), "of", agents.Limit(a), a.Slots["s1"].State, err)

	_, err = agents.Reserve(ctx, "ann", now, "s2", 0, now.Add(time.Minute), false)
	fmt.Println(errors.Is(err, mcc.ErrFull), err)

	a, _ = agents.Confirm(ctx, "ann", now, "s1", 1) // the session is hers, and has epoch 1
	fmt.Println(a.Slots["s1"].State)
	a, _ = agents.Release(ctx, "ann", now, "s1", 1) // late: nothing has happened since
	fmt.Println(a.Load())
	a, _ = agents.Release(ctx, "ann", now, "s1", 2) // the session is closed, and has epoch 2
	fmt.Println(a.Load())
	// Output:
	// true agent "ann": the agent takes no new sessions: the agent is offline
	// 1 of 1 reserved <nil>
	// true agent "ann": the agent has as many sessions as permitted: 1 of 1
	// held
	// 1
	// 0
}

// A service knew one status more.
func ExampleConfig_mend() {
	ctx, store := context.Background(), rmwtest.NewMemory()
	_ = store.Set(ctx, "agent:ann", rmw.String(`{"id":"ann","status":"lunch"}`), rmw.NoTTL)

	agents := mcc.New(store, mcc.Config{Mend: lunch})
	a, err := agents.Get(ctx, "ann")
	fmt.Println(a.Status, err)
	// Output:
	// away <nil>
}

func lunch(a *mcc.Agent) {
	if a.Status == "lunch" {
		a.Status = mcc.Away
	}
}
