package locktest

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"time"

	"github.com/unwatch/unwatch/rmw"
)

func callerClauses() []Clause {
	return []Clause{
		{Name: "panic", Says: "fn's panic reaches the caller, and the lock is given back.", run: checkPanic},
		{Name: "goexit", Says: "fn may end its goroutine (as t.FailNow does): the lock is given back.", run: checkGoexit},
		{Name: "goroutine", Says: "fn runs on the caller's goroutine.", run: checkGoroutine},
		{Name: "ctx-values", Says: "fn's ctx carries the caller's values.", run: checkCtxValues},
		{Name: "ctx-ended-before", Says: "With an ended ctx fn is not called and nothing is locked.", run: checkCtxEndedBefore},
		{Name: "ctx-ended-in-fn", Says: "If ctx ends while fn runs, fn's ctx ends too; the lock is kept until fn returns, and then given back.", run: checkCtxEndedInFn},
		{Name: "stale-ctx", Says: "fn's ctx is no licence once WithLock has returned, whatever was derived from it.", run: checkStaleCtx},
	}
}

func checkPanic(c *check) {
	l := c.open()
	for _, m := range bothMethods() {
		name := c.name(m.name)
		func() {
			defer func() {
				if p := recover(); p != "boom" {
					c.Errorf("recovered %v, want fn's own panic value", p)
				}
			}()
			err := m.call(l, c.Ctx, name, func(context.Context) error { panic("boom") })
			c.Errorf("%s returned %v although fn panicked", m.name, err)
		}()
		c.free(name, "after a panic")
	}
}

func checkGoexit(c *check) {
	l := c.open()
	for _, m := range bothMethods() {
		name := c.name(m.name)
		<-c.Go(func() {
			err := m.call(l, c.Ctx, name, func(context.Context) error {
				runtime.Goexit()
				return nil
			})
			c.Errorf("%s returned %v although fn ended its goroutine", m.name, err)
		})
		c.free(name, "after fn ended its goroutine")
	}
}

func checkGoroutine(c *check) {
	l := c.open()
	caller := goroutine()
	for _, m := range bothMethods() {
		err := m.call(l, c.Ctx, c.name(m.name), func(context.Context) error {
			if fn := goroutine(); fn != caller {
				c.Errorf("fn ran on goroutine %s, the caller is %s", fn, caller)
			}
			return nil
		})
		if err != nil {
			c.Errorf("%s: %v", m.name, err)
		}
	}
}

// goroutine returns the number that a stack trace gives the present goroutine.
func goroutine() string {
	var buf [64]byte
	fields := strings.Fields(string(buf[:runtime.Stack(buf[:], false)]))
	return fields[1]
}

type ctxKey struct{}

func checkCtxValues(c *check) {
	l := c.open()
	ctx := context.WithValue(c.Ctx, ctxKey{}, "the caller's")
	for _, m := range bothMethods() {
		err := m.call(l, ctx, c.name(m.name), func(ctx context.Context) error {
			if ctx.Value(ctxKey{}) != "the caller's" {
				c.Errorf("fn's ctx lacks the caller's value")
			}
			return nil
		})
		if err != nil {
			c.Errorf("%s: %v", m.name, err)
		}
	}
}

func checkCtxEndedBefore(c *check) {
	l := c.open()
	ctx, cancel := context.WithCancel(c.Ctx)
	cancel()
	for _, m := range bothMethods() {
		name := c.name(m.name)
		if err := m.call(l, ctx, name, c.never("with an ended ctx")); !errors.Is(err, context.Canceled) {
			c.Errorf("%s: %v, want context.Canceled", m.name, err)
		}
		c.free(name, "after a call with an ended ctx")
	}
}

func checkCtxEndedInFn(c *check) {
	l := c.open()
	for _, m := range bothMethods() {
		name := c.name(m.name)
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
		c.free(name, "after fn returned, with an ended ctx")
	}
}

func checkStaleCtx(c *check) {
	a, b := c.open(), c.open()
	name := c.name("")
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
