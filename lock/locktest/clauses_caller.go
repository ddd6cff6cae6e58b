package locktest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/unwatch/unwatch/internal/goroutine"
	"github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/rmw"
)

func checkPanic(ctx context.Context, c *check, l lock.Locker, m method, name string) {
	defer func() {
		if p := recover(); p != "boom" {
			c.Errorf("recovered %v, want fn's own panic value", p)
		}
	}()
	err := m.call(l, ctx, name, func(context.Context) error { panic("boom") })
	c.Errorf("%s returned %v although fn panicked", m.name, err)
}

func checkGoexit(ctx context.Context, c *check, l lock.Locker, m method, name string) {
	<-c.Go(func() {
		err := m.call(l, ctx, name, func(context.Context) error {
			runtime.Goexit()
			return nil
		})
		c.Errorf("%s returned %v although fn ended its goroutine", m.name, err)
	})
}

func checkGoroutine(_ context.Context, c *check, l lock.Locker, m method, name string) {
	caller := goroutine.ID()
	err := m.call(l, c.Ctx, name, func(context.Context) error {
		if fn := goroutine.ID(); fn != caller {
			c.Errorf("fn ran on goroutine %s, the caller is %s", fn, caller)
		}
		return nil
	})
	if err != nil {
		c.Errorf("%s: %v", m.name, err)
	}
}

type ctxKey struct{}

func checkCtxValues(_ context.Context, c *check, l lock.Locker, m method, name string) {
	ctx := context.WithValue(c.Ctx, ctxKey{}, "the caller's")
	err := m.call(l, ctx, name, func(ctx context.Context) error {
		if ctx.Value(ctxKey{}) != "the caller's" {
			c.Errorf("fn's ctx lacks the caller's value")
		}
		return nil
	})
	if err != nil {
		c.Errorf("%s: %v", m.name, err)
	}
}

func checkCtxEndedBefore(ctx context.Context, c *check, l lock.Locker, m method, name string) {
	ctx, cancel := context.WithCancel(ctx)
	cancel()
	c.is(m.call(l, ctx, name, c.never("with an ended ctx")), context.Canceled, "%s", m.name)
}

func checkCtxEndedInFn(_ context.Context, c *check, l lock.Locker, m method, name string) {
	ctx, cancel := context.WithCancel(c.Ctx)
	err := m.call(l, ctx, name, func(ctx context.Context) error {
		cancel()
		if !c.Within(soon, ctx.Done()) {
			c.Errorf("fn's ctx did not end with the caller's")
		}
		if errors.Is(context.Cause(ctx), rmw.ErrLockLost) {
			c.Errorf("fn's ctx ended because %v, want the caller's cause", context.Cause(ctx))
		}
		c.Pass(beat)
		c.taken(name, "while fn runs on although its ctx has ended")
		return nil
	})
	cancel()
	if err != nil && !errors.Is(err, context.Canceled) {
		c.Errorf("%s: %v, want nil or context.Canceled", m.name, err)
	}
}

// endings are the ways for a ctx to end after d.
var endings = map[error]func(parent context.Context, d time.Duration) (context.Context, context.CancelFunc){
	context.DeadlineExceeded: context.WithTimeout,
	context.Canceled: func(parent context.Context, d time.Duration) (context.Context, context.CancelFunc) {
		ctx, cancel := context.WithCancel(parent)
		time.AfterFunc(d, cancel)
		return ctx, cancel
	},
}

func checkCtxEndedWaiting(c *check) {
	a, b := c.open(), c.open()
	for i, l := range []lock.Locker{a, b} {
		for want, end := range endings {
			name := c.name(fmt.Sprint(i, want))
			h := c.hold(a, name)
			wait := func(d time.Duration) error {
				ctx, cancel := end(c.Ctx, d)
				defer cancel()
				waited := make(chan error, 1)
				if !c.Within(d+soon, c.Go(func() { waited <- l.WithLock(ctx, name, c.never("though its ctx has ended")) })) {
					return fmt.Errorf("no error %v after the end", soon)
				}
				return <-waited
			}
			err := wait(beat)
			for d := 10 * beat; d <= 100*beat && errors.Is(err, want) && !errors.Is(err, rmw.ErrContended); d *= 10 {
				err = wait(d) // a slow store had not said yet that the lock is taken
			}
			if !errors.Is(err, rmw.ErrContended) || !errors.Is(err, want) {
				c.Errorf("a wait that ended with its ctx: %v, want ErrContended and %v", err, want)
			}
			c.taken(name, "after a waiter gave up")
			c.give(h)
			c.Pass(beat) // in which a waiter that is gone could take it
			c.undone(name, "after the holder returned and the waiter had given up")
		}
	}
}

func checkStaleCtx(c *check) {
	a, b, name := c.two()
	var stale context.Context
	c.lock(a, name, func(ctx context.Context) error { stale = ctx; return nil })
	h := c.hold(b, name)
	for _, ctx := range []context.Context{stale, context.WithoutCancel(stale)} {
		ctx, cancel := context.WithTimeout(ctx, 2*beat)
		for _, m := range bothMethods() {
			began := time.Now()
			err := m.call(a, ctx, name, c.never("with the ctx of an earlier fn, while another has the lock"))
			if took := time.Since(began); err == nil || took > soon {
				c.Errorf("%s with the ctx of an earlier fn: %v after %v", m.name, err, took)
			}
		}
		cancel()
	}
	c.give(h)
	c.free(name, "after the holder returned")
}
