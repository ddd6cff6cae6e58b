package cutover_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/cutover"
	"github.com/unwatch/unwatch/cutover/operate"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
)

// A key moves from an old Redis to a Codis proxy, and back. proxytest emulates both in this
// process. A list is a marker: the other store has the value.
func Example() {
	old, stopOld := server(proxycompat.Redis())
	defer stopOld()
	proxy, stopProxy := server(proxycompat.Codis32())
	defer stopProxy()
	stage := &live{} // a cutover.Source; follow: no key moves

	// snippet:service
	before := lockupdate.New(old, lockupdate.Config{})
	after := lockupdate.New(proxy, lockupdate.Config{})
	store := cutover.New(
		cutover.Side{Store: before, Redis: old},
		cutover.Side{Store: after, Redis: proxy},
		cutover.Config{Stage: stage})
	// endsnippet
	defer before.Close()
	defer after.Close()
	defer store.Close() // first of all

	ctx, key := context.Background(), rmw.Key{Name: "visits"}
	for _, next := range []cutover.Stage{{}, {Phase: cutover.Copying, Percent: 100}, {Phase: cutover.Reverse}} {
		stage.present.Store(&next)
		res, err := store.Update(ctx, key, func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
			return rmw.String(cur.Text() + "x"), nil
		})
		if err != nil {
			panic(err)
		}
		fmt.Printf("%-7v  value %-3s  old %-6s  new %s\n", next.Phase, res.After.Text(),
			old.Type(ctx, key.Name).Val(), proxy.Type(ctx, key.Name).Val())
	}

	// Output:
	// follow   value x    old string  new none
	// copying  value xx   old list    new string
	// reverse  value xxx  old string  new list
}

// live is a Source that a service changes while it runs.
type live struct{ present atomic.Pointer[cutover.Stage] }

func (l *live) Stage(context.Context) (cutover.Stage, error) { return *l.present.Load(), nil }

// snippet:flag
// flag is a cutover.Source whose stage comes from a feature flag: a number of percent, or below 0 for the way back.
type flag struct {
	value func(ctx context.Context, last int64) (int64, error) // with OpenFeature client.IntValue: last is its default
	last  atomic.Int64
}

func (f *flag) Stage(ctx context.Context) (cutover.Stage, error) {
	percent, _ := f.value(ctx, f.last.Load()) // last, if the flag cannot be evaluated
	f.last.Store(percent)
	if percent < 0 {
		return cutover.Stage{Phase: cutover.Reverse}, nil
	}
	return cutover.Stage{Phase: cutover.Copying, Percent: int(min(percent, 100))}, nil
}

// endsnippet

// A feature flag moves keys forward and back. An outage of the flag system keeps the last stage.
func ExampleSource() {
	ctx, answers := context.Background(), []int64{0, 5}
	source := &flag{value: func(_ context.Context, last int64) (int64, error) {
		if len(answers) == 0 {
			return last, errors.New("the flag system is down")
		}
		next := answers[0]
		answers = answers[1:]
		return next, nil
	}}
	for range 3 {
		fmt.Println(source.Stage(ctx))
	}
	// Output:
	// copying 0 % <nil>
	// copying 5 % <nil>
	// copying 5 % <nil>
}

func server(profile *proxycompat.Profile) (rdb *redis.Client, stop func()) {
	s, err := proxytest.Start(proxytest.Config{Profile: profile, InMemory: true})
	if err != nil {
		panic(err)
	}
	rdb = redis.NewClient(s.Options())
	return rdb, func() {
		_ = rdb.Close()
		_ = s.Close()
	}
}

// The stage is published in both stores, and every process polls it.
func ExampleFromKey() {
	old, stopOld := server(proxycompat.Redis())
	defer stopOld()
	proxy, stopProxy := server(proxycompat.Codis32())
	defer stopProxy()
	before, after := lockupdate.New(old, lockupdate.Config{}), lockupdate.New(proxy, lockupdate.Config{})
	defer before.Close()
	defer after.Close()
	ctx := context.Background()
	if err := operate.Publish(ctx, "desk", before, after, cutover.Stage{}); err != nil {
		panic(err)
	}

	// snippet:stage
	stage := cutover.FromKey("desk", before, after)
	heartbeat, err := cutover.StartHeartbeat("desk", before, stage)
	if err != nil {
		panic(err)
	}
	store := cutover.New(
		cutover.Side{Store: before, Redis: old},
		cutover.Side{Store: after, Redis: proxy},
		cutover.Config{Stage: stage, Heartbeat: heartbeat})
	// endsnippet
	defer stage.Close()
	defer heartbeat.Close()
	defer store.Close()

	present, err := stage.Stage(ctx)
	fmt.Println(present, err)
	// Output: follow <nil>
}
