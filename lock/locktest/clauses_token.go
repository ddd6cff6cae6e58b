package locktest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/lock/driver"
	"github.com/unwatch/unwatch/rmw"
)

// token requires a token.
func (c *check) token(ctx context.Context) uint64 {
	token, err := lock.Token(ctx)
	if err != nil || token == 0 {
		c.Errorf("the token of fn's ctx is %d, %v", token, err)
	}
	return token
}

// noToken requires that there is none, for this reason.
func (c *check) noToken(ctx context.Context, when string, reason error) {
	for _, ctx := range []context.Context{ctx, context.WithoutCancel(ctx)} {
		if token, err := lock.Token(ctx); !errors.Is(err, reason) {
			c.Errorf("the token %s is %d, %v; want %v", when, token, err, reason)
		}
	}
}

func checkToken(c *check) {
	a, b := c.open(), c.open()
	c.tokensGrow(c.Ctx, a, b, c.name("alone"))
	for i, outer := range []lock.Locker{a, NewMemory(driver.Config{})} {
		c.lock(outer, c.name(fmt.Sprint("outer", i)), func(ctx context.Context) error {
			before := c.token(ctx)
			c.tokensGrow(ctx, a, b, c.name(fmt.Sprint("inner", i)))
			if after := c.token(ctx); after != before {
				c.Errorf("the outer lock's token was %d, and is %d after an inner lock", before, after)
			}
			return nil
		})
	}
	c.tokensGrowInLine()
}

// tokensGrow takes a lock several times. Another process has it in between.
func (c *check) tokensGrow(ctx context.Context, a, b lock.Locker, name string) {
	var last uint64
	for _, l := range []lock.Locker{a, b, b, a, a} {
		var fns context.Context
		err := l.WithLock(ctx, name, func(ctx context.Context) error {
			fns = ctx
			token := c.token(ctx)
			if token <= last {
				c.Errorf("the token %d came after %d", token, last)
			}
			if again := c.token(ctx); again != token {
				c.Errorf("the token %d of one holder became %d", token, again)
			}
			last = token
			return nil
		})
		if err != nil {
			c.Fatalf("WithLock: %v", err)
		}
		c.noToken(fns, "after fn has returned", rmw.ErrInvalid)
		c.free(name, "after fn returned")
	}
}

// tokensGrowInLine has several processes wait for one lock.
func (c *check) tokensGrowInLine() {
	name, grow := c.name("line"), c.growing("among those that wait")
	var ended []<-chan struct{}
	for range 4 {
		l := c.open()
		ended = append(ended, c.Go(func() {
			for range 4 {
				c.lock(l, name, grow(l))
			}
		}))
	}
	wait(ended)
}

// growing returns the fn of a process. Its token must be greater than that of the process before.
func (c *check) growing(when string) func(l lock.Locker) work {
	var mu sync.Mutex // for the race detector, which cannot see a lock on a server
	var last uint64
	var before lock.Locker
	return func(l lock.Locker) work {
		return func(ctx context.Context) error {
			token := c.token(ctx)
			c.Pass(time.Millisecond)
			mu.Lock()
			defer mu.Unlock()
			if token < last || token == last && l != before {
				c.Errorf("%s the token %d came after %d", when, token, last)
			}
			last, before = token, l
			return nil
		}
	}
}

func checkTokenLost(c *check) {
	l := c.open()
	for _, drawn := range []bool{false, true} {
		h := c.hold(l, c.name(fmt.Sprint(drawn)))
		if drawn {
			c.token(h.ctx)
		}
		c.takeAway(h.name)
		c.told(h, "after its lock was taken away")
		c.noToken(h.ctx, "of a lost lock", rmw.ErrLockLost)
		_ = h.release() // ErrLockLost, as "taken-away" checks
	}
}

func checkTokenNone(_ context.Context, c *check, l lock.Locker, m method, name string) {
	c.lock(NewMemory(driver.Config{}), name, func(ctx context.Context) error {
		return m.call(l, ctx, name, func(ctx context.Context) error {
			c.noToken(ctx, "of "+m.name, rmw.ErrUnsupported)
			return nil
		})
	})
}
