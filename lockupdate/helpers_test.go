package lockupdate_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
)

func setField(name, value string) rmw.UpdateFunc {
	return func(_ context.Context, cur rmw.Value) (rmw.Value, error) { return cur.With(name, value), nil }
}

func remove(context.Context, rmw.Value) (rmw.Value, error) { return rmw.Value{}, nil }

func keep(_ context.Context, cur rmw.Value) (rmw.Value, error) { return cur, nil }

var errRoomFull = errors.New("the room is full")

func abort(context.Context, rmw.Value) (rmw.Value, error) { return rmw.Value{}, errRoomFull }

// duringFirstCall runs do in the first call of fn, before fn itself.
func duringFirstCall(do func(), fn rmw.UpdateFunc) rmw.UpdateFunc {
	called := false
	return func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
		if !called {
			called = true
			do()
		}
		return fn(ctx, cur)
	}
}

// direct returns a client beside the Store, like that of a legacy service.
func (f *fixture) direct() *redis.Client {
	rdb := redis.NewClient(f.proxy.Options())
	f.t.Cleanup(func() { require.NoError(f.t, rdb.Close()) })
	return rdb
}

// executed counts the calls on the servers: commands, and calls within scripts.
func (f *fixture) executed() (n int) {
	for backend := range 2 {
		n += f.proxy.Engine(backend).Server().TotalCommands()
	}
	return n
}

// block delays every run of one script until unblock.
func (f *fixture) block(name string) (unblock func()) {
	gate := make(chan struct{})
	remove := f.proxy.Inject(proxytest.Fault{
		Match: isScript(name), Times: -1, Action: proxytest.Delay, Do: func() { <-gate },
	})
	return func() { remove(); close(gate) }
}

// waitReleases waits for the background work of the Store.
func (f *fixture) waitReleases() { lockupdate.Settle(f.store) }

// contains reports whether the list has the id, which ends in a comma.
func contains(list, id string) bool { return strings.Contains(","+list, ","+id) }

// stacks returns the stacks of all goroutines.
func stacks() string {
	buf := make([]byte, 8<<20)
	return string(buf[:runtime.Stack(buf, true)])
}

// hook is called for each flush of a client, with its commands. next sends them.
type hook func(ctx context.Context, cmds []redis.Cmder, next func() error) error

func (hook) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h hook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		return h(ctx, []redis.Cmder{cmd}, func() error { return next(ctx, cmd) })
	}
}

func (h hook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		return h(ctx, cmds, func() error { return next(ctx, cmds) })
	}
}

// before is a hook that sees commands before they are sent, and may change them.
func before(do func(cmd redis.Cmder)) hook { return tap(do, func(redis.Cmder) {}) }

// afterwards is a hook that sees commands after their replies, and may change them.
func afterwards(do func(cmd redis.Cmder)) hook { return tap(func(redis.Cmder) {}, do) }

func tap(before, after func(cmd redis.Cmder)) hook {
	return func(_ context.Context, cmds []redis.Cmder, next func() error) error {
		for _, cmd := range cmds {
			before(cmd)
		}
		defer func() {
			for _, cmd := range cmds {
				after(cmd)
			}
		}()
		return next()
	}
}

// argsOf returns the arguments of a command as strings.
func argsOf(cmd redis.Cmder) []string {
	args := make([]string, 0, len(cmd.Args()))
	for _, a := range cmd.Args() {
		args = append(args, fmt.Sprint(a))
	}
	return args
}
