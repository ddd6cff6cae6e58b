package operate_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/cutover"
	"github.com/unwatch/unwatch/cutover/operate"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
)

// An operator's program moves every key of a Redis to another one, and checks them. proxytest emulates both in
// this process. No process has to be up: a process that starts later polls the stage first.
func Example() {
	old, stopOld := server()
	defer stopOld()
	new, stopNew := server()
	defer stopNew()
	ctx := context.Background()
	for i := range 100 {
		old.Set(ctx, fmt.Sprint("visits:", i), i, 0)
	}

	pass, report, err := moveAll(ctx, old, new)
	fmt.Println("error:", err)
	fmt.Println("moved:", pass.Moved, "failed:", pass.Failed.Count)
	fmt.Println("equal:", report.Equal, "wrong:", report.Wrong(), "left:", report.Open+report.Stay())
	// Output:
	// error: <nil>
	// moved: 100 failed: 0
	// equal: 100 wrong: 0 left: 0
}

// snippet:sweep
func moveAll(ctx context.Context, old, new *redis.Client) (pass operate.Pass, report operate.Report, err error) {
	before, after := lockupdate.New(old, lockupdate.Config{}), lockupdate.New(new, lockupdate.Config{})
	sides := [2]cutover.Side{{Store: before, Redis: old}, {Store: after, Redis: new}}
	defer func() { err = errors.Join(err, before.Close(), after.Close()) }()
	cfg := operate.SweepConfig{Masters: []operate.Scanner{old}, NewMasters: []operate.Scanner{new}}

	first := cutover.New(sides[0], sides[1], cutover.Config{}) // it moves nothing
	gates, err := operate.Preflight(ctx, first, cfg)
	if err = errors.Join(err, first.Close()); err != nil {
		return pass, report, err
	}
	if err = operate.Publish(ctx, "desk", before, after, cutover.Stage{Phase: cutover.Copying, Percent: 100}, gates...); err != nil {
		return pass, report, err // it names the condition that is not met
	}

	stage := cutover.FromKey("desk", before, after)
	store := cutover.New(sides[0], sides[1], cutover.Config{Stage: stage})
	defer func() { err = errors.Join(err, store.Close(), stage.Close()) }()
	if pass, err = operate.Sweep(ctx, store, cfg); err != nil {
		return pass, report, err // sweep again: the state of the moves is in the keys
	}
	report, err = operate.Verify(ctx, store, cfg)
	return pass, report, err
}

// endsnippet

func server() (rdb *redis.Client, stop func()) {
	s, err := proxytest.Start(proxytest.Config{Profile: proxycompat.Redis(), InMemory: true})
	if err != nil {
		panic(err)
	}
	rdb = redis.NewClient(s.Options())
	return rdb, func() { _ = errors.Join(rdb.Close(), s.Close()) }
}
