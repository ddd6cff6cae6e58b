package lockupdate_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/redisx"
	locking "github.com/unwatch/unwatch/lock"
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

// within runs do in each call of fn, before fn itself.
func within(do func(ctx context.Context), fn rmw.UpdateFunc) rmw.UpdateFunc {
	return func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
		do(ctx)
		return fn(ctx, cur)
	}
}

// duringFirstCall is within for the first call only.
func duringFirstCall(do func(), fn rmw.UpdateFunc) rmw.UpdateFunc {
	called := false
	return within(func(context.Context) {
		if !called {
			called = true
			do()
		}
	}, fn)
}

// timeout returns a ctx that ends after d, or with the test.
func timeout(ctx context.Context, t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(ctx, d)
	t.Cleanup(cancel)
	return ctx
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
		if server := f.proxy.Engine(backend).Server(); server != nil { // it begins with its first command
			n += server.TotalCommands()
		}
	}
	return n
}

// during calls do before the proxy executes a script, or a command with the same job. -1 times is always.
func (f *fixture) during(name string, skip, times int, do func()) (remove func()) {
	return f.proxy.Inject(proxytest.Fault{Match: isRequest(name), Skip: skip, Times: times, Action: proxytest.None, Do: do})
}

// block delays every run of one script, or of a command with the same job, until unblock.
func (f *fixture) block(name string) (unblock func()) {
	gate := make(chan struct{})
	remove := f.proxy.Inject(proxytest.Fault{Match: isRequest(name), Times: -1, Action: proxytest.Delay, Do: func() { <-gate }})
	return func() { remove(); close(gate) }
}

// waitReleases waits for the background work of the Store.
func (f *fixture) waitReleases() { lockupdate.Settle(f.store) }

// hasLock reports whether the lock of a key exists.
func (f *fixture) hasLock(name string) bool {
	return f.direct().Exists(f.t.Context(), lock+name).Val() == 1
}

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
		if w, ok := a.(*redisx.Word); ok {
			a = w.Peek()
		}
		args = append(args, fmt.Sprint(a))
	}
	return args
}

// pendingCall is a call on its own goroutine, with its result.
type pendingCall struct {
	done     chan struct{}
	res      rmw.Result
	err      error
	returned bool // without a panic or runtime.Goexit
	panicked any
	at       time.Time
}

func (c *pendingCall) ended() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// start calls Update on its own goroutine, and returns when that blocks.
func start(ctx context.Context, s rmw.Store, key rmw.Key, fn rmw.UpdateFunc) *pendingCall {
	return startCall(func() (rmw.Result, error) { return s.Update(ctx, key, fn) })
}

// startLocked is start for WithLock.
func startLocked(ctx context.Context, s *lockupdate.Store, name string, fn func(context.Context) error) *pendingCall {
	return startCall(func() (rmw.Result, error) { return rmw.Result{}, s.WithLock(ctx, name, fn) })
}

// startClose is start for Close.
func startClose(s *lockupdate.Store) *pendingCall {
	return startCall(func() (rmw.Result, error) { return rmw.Result{}, s.Close() })
}

func startCall(do func() (rmw.Result, error)) *pendingCall {
	c := &pendingCall{done: make(chan struct{})}
	go func() {
		defer close(c.done)
		defer func() { c.panicked, c.at = recover(), time.Now() }()
		c.res, c.err = do()
		c.returned = true
	}()
	synctest.Wait()
	return c
}

// until returns an fn that waits for gate before it calls fn.
func until(gate <-chan struct{}, fn rmw.UpdateFunc) rmw.UpdateFunc {
	return within(func(context.Context) { <-gate }, fn)
}

// enqueue queues the fns behind a call that writes nothing. proceed ends that call, and the fns run
// as one batch.
func (f *fixture) enqueue(key rmw.Key, fns ...rmw.UpdateFunc) (proceed func(), calls []*pendingCall) {
	gate := make(chan struct{})
	first := start(f.t.Context(), f.store, key, until(gate, keep))
	for _, fn := range fns {
		calls = append(calls, start(f.t.Context(), f.store, key, fn))
	}
	return func() { close(gate); <-first.done }, calls
}

// runBatch runs the fns as one batch.
func (f *fixture) runBatch(key rmw.Key, fns ...rmw.UpdateFunc) []*pendingCall {
	proceed, calls := f.enqueue(key, fns...)
	proceed()
	for _, call := range calls {
		<-call.done
	}
	return calls
}

// sent counts the received commands by name.
func (f *fixture) sent() map[string]int {
	n := map[string]int{}
	for _, name := range f.calls() {
		n[name]++
	}
	return n
}

// total counts the received scripts.
func (f *fixture) total() (n int) {
	for name, times := range f.sent() {
		if _, ok := lockupdate.Scripts()[name]; ok {
			n += times
		}
	}
	return n
}

// operations are calls of a Store for the key or lock s.
var operations = map[string]func(ctx context.Context, s *lockupdate.Store) error{
	"update": func(ctx context.Context, s *lockupdate.Store) error {
		_, err := s.Update(ctx, testKey, appendText("x"))
		return err
	},
	"read": func(ctx context.Context, s *lockupdate.Store) error {
		_, err := s.Read(ctx, testKey)
		return err
	},
	"peek": func(ctx context.Context, s *lockupdate.Store) error {
		_, _, err := s.Peek(ctx, testKey)
		return err
	},
	"inspect": func(ctx context.Context, s *lockupdate.Store) error {
		_, err := s.Inspect(ctx, "s")
		return err
	},
	"token": func(ctx context.Context, s *lockupdate.Store) error {
		return s.WithLock(ctx, "s", func(ctx context.Context) error {
			_, err := locking.Token(ctx)
			return err
		})
	},
}

// after returns an fn that sleeps for d before it calls fn.
func after(d time.Duration, fn rmw.UpdateFunc) rmw.UpdateFunc {
	return within(func(context.Context) { time.Sleep(d) }, fn)
}

// takeAsOther makes another owner hold the lock of key for ttl (0: forever).
func (f *fixture) takeAsOther(key rmw.Key, ttl time.Duration) {
	f.putHash(lock+key.Name, fields("another=1"), ttl)
}

// putHash stores a hash, like a lock, for ttl (0: forever).
func (f *fixture) putHash(name string, fields map[string]string, ttl time.Duration) {
	rdb := f.direct()
	require.NoError(f.t, rdb.HSet(f.t.Context(), name, fields).Err())
	if ttl > 0 {
		require.NoError(f.t, rdb.PExpire(f.t.Context(), name, ttl).Err())
	}
}

// concurrently calls do with 0 to n-1, each on its own goroutine, and waits for all.
func concurrently(n int, do func(i int)) {
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { do(i) })
	}
	wg.Wait()
}

func wait(calls ...*pendingCall) {
	for _, c := range calls {
		<-c.done
	}
}

// succeed waits for calls, which must succeed.
func succeed(t *testing.T, calls ...*pendingCall) {
	t.Helper()
	for _, c := range calls {
		<-c.done
		require.NoError(t, c.err)
		require.True(t, c.returned, "panicked: %v", c.panicked)
	}
}

// set stores a string without the lock.
func (f *fixture) set(name, text string, ttl time.Duration) {
	assert.NoError(f.t, f.direct().Set(f.t.Context(), name, text, ttl).Err())
}

// writeBeside stores "theirs" in testKey without the lock.
func (f *fixture) writeBeside() { f.set(testKey.Name, "theirs", 0) }

// ttl returns the time to live of a key, as PTTL does.
func (f *fixture) ttl(name string) time.Duration {
	return f.direct().PTTL(f.t.Context(), name).Val()
}

// trips counts the round trips during do.
func (f *fixture) trips(do func()) int64 {
	start := f.meter.Read()
	do()
	return f.meter.Read().Sub(start).RoundTrips
}

// hold takes a lock, which must be free or become free.
func (f *fixture) hold(ctx context.Context, s *lockupdate.Store, name string) locking.Hold {
	l, err := s.Lock(ctx, name)
	require.NoError(f.t, err)
	return l
}

// connReset is an error of Codis for a command that may have been executed.
const connReset = "ERR handle response, backend conn reset"

// refuse replies to a script, or to a command with the same job, with an error. -1 times is always.
func (f *fixture) refuse(name string, times int, text string) (remove func()) {
	return f.proxy.Inject(proxytest.Fault{Match: isRequest(name), Times: times, Action: proxytest.RefuseWith, Text: text})
}

type callKey struct{}

// called returns a ctx with the name of a call.
func called(t *testing.T, call string) context.Context {
	return context.WithValue(t.Context(), callKey{}, call)
}
