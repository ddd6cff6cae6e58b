package rmwtest

import (
	"context"
	"errors"
	"runtime"
	"time"

	"github.com/unwatch/unwatch/internal/goroutine"
	"github.com/unwatch/unwatch/internal/suite"
	"github.com/unwatch/unwatch/rmw"
)

func callerClauses() []Clause {
	return []Clause{
		{Name: "panic", Says: "fn's panic reaches the caller, writes nothing and leaves the key usable at once.", run: checkPanic},
		{Name: "goexit", Says: "fn may end its goroutine (as t.FailNow does): nothing is written, the key stays usable.", run: checkGoexit},
		{Name: "ctx-values", Says: "fn's ctx carries the caller's values.", run: checkCtxValues},
		{Name: "goroutine", Says: "fn runs on the goroutine that called Update.", run: checkGoroutine},
		{Name: "ctx-ended-before", Says: "With an ended ctx nothing is called and nothing is written.", run: checkCtxEndedBefore},
		{Name: "ctx-ended-in-fn", Says: "If ctx ends while fn runs, fn's ctx ends too and nothing is written.", run: checkCtxEndedInFn},
		{Name: "ctx-ended-waiting", Says: "A call that waits for another writer returns when its ctx ends.", run: checkCtxEndedWaiting},
		{Name: "goroutines-end", Says: "Calls leave no goroutine behind, however they end.", run: checkGoroutinesEnd},
	}
}

// usable requires that another process can update the key within soon: no lock
// is left behind.
func (c *check) usable(key rmw.Key, id string) {
	ctx, cancel := context.WithTimeout(c.Ctx, soon)
	defer cancel()
	other := c.Open()
	defer c.close(other)
	if _, err := other.Update(ctx, key, adder(key.Kind, id)); err != nil {
		c.Errorf("the key is not usable by others within %v: %v", soon, err)
	}
}

const soon = suite.Soon // far below any lease

func checkPanic(c *check) {
	s := c.Open()
	for _, kind := range c.kinds() {
		key := c.key(kind)
		first, _ := samples(kind)
		c.put(key, first, rmw.NoTTL)
		func() {
			defer func() {
				if p := recover(); p != "boom" {
					c.Errorf("recovered %v, want fn's own panic value", p)
				}
			}()
			_, err := s.Update(c.Ctx, key, func(context.Context, rmw.Value) (rmw.Value, error) { panic("boom") })
			c.Errorf("Update returned %v although fn panicked", err)
		}()
		c.wantStored(key, first)
		c.usable(key, "after")
	}
}

func checkGoexit(c *check) {
	s := c.Open()
	key := c.key(rmw.KindString)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, err := s.Update(c.Ctx, key, func(context.Context, rmw.Value) (rmw.Value, error) {
			runtime.Goexit()
			return rmw.Value{}, nil
		})
		c.Errorf("Update returned %v although fn ended its goroutine", err)
	}()
	<-done
	c.wantStored(key, rmw.Value{})
	c.usable(key, "after")
}

type ctxKey struct{}

func checkCtxValues(c *check) {
	s := c.Open()
	ctx := context.WithValue(c.Ctx, ctxKey{}, "the caller's")
	_, err := s.Update(ctx, c.key(rmw.KindString), func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
		if ctx.Value(ctxKey{}) != "the caller's" {
			c.Errorf("fn's ctx lacks the caller's value")
		}
		return cur, nil
	})
	if err != nil {
		c.Errorf("Update: %v", err)
	}
}

func checkGoroutine(c *check) {
	s := c.Open()
	// With a ctx that can end, where a Store may hand its commands to others.
	ctx, cancel := context.WithCancel(c.Ctx)
	defer cancel()
	caller := goroutine.ID()
	_, err := s.Update(ctx, c.key(rmw.KindString), func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
		if fn := goroutine.ID(); fn != caller {
			c.Errorf("fn ran on goroutine %s, the caller is %s", fn, caller)
		}
		return cur, nil
	})
	if err != nil {
		c.Errorf("Update: %v", err)
	}
}

func checkCtxEndedBefore(c *check) {
	s := c.Open()
	key := c.key(rmw.KindString)
	ctx, cancel := context.WithCancel(c.Ctx)
	cancel()
	_, err := s.Update(ctx, key, func(context.Context, rmw.Value) (rmw.Value, error) {
		c.Errorf("fn was called with an ended ctx")
		return rmw.String("x"), nil
	})
	if !errors.Is(err, context.Canceled) {
		c.Errorf("Update: %v, want context.Canceled", err)
	}
	if _, err := s.Read(ctx, key); !errors.Is(err, context.Canceled) {
		c.Errorf("Read: %v, want context.Canceled", err)
	}
	c.wantStored(key, rmw.Value{})
	c.usable(key, "after")
}

func checkCtxEndedInFn(c *check) {
	s := c.Open()
	for _, kind := range c.kinds() {
		key := c.key(kind)
		first, second := samples(kind)
		c.put(key, first, rmw.NoTTL)
		ctx, cancel := context.WithCancel(c.Ctx)
		_, err := s.Update(ctx, key, func(ctx context.Context, _ rmw.Value) (rmw.Value, error) {
			cancel()
			select {
			case <-ctx.Done():
			case <-time.After(soon):
				c.Errorf("fn's ctx did not end with the caller's")
			}
			return second, nil // fn need not notice; the path must
		})
		cancel()
		if !errors.Is(err, context.Canceled) || errors.Is(err, rmw.ErrOutcomeUnknown) {
			c.Errorf("Update: %v, want context.Canceled and a known outcome", err)
		}
		c.wantStored(key, first)
		c.usable(key, "after")
	}
}

func checkCtxEndedWaiting(c *check) {
	a, b := c.Open(), c.Open()
	calls := map[string]func(ctx context.Context, key rmw.Key) error{
		"Update": func(ctx context.Context, key rmw.Key) error { _, err := b.Update(ctx, key, addID("b")); return err },
		"Read":   func(ctx context.Context, key rmw.Key) error { _, err := b.Read(ctx, key); return err },
	}
	if p, ok := rmw.As[rmw.Peeker](b); ok {
		calls["Peek"] = func(ctx context.Context, key rmw.Key) error { _, _, err := p.Peek(ctx, key); return err }
	}
	for name, call := range calls {
		key := c.key(rmw.KindString)
		done := make(chan struct{})
		called := false
		c.update(a, key, func(fnCtx context.Context, cur rmw.Value) (rmw.Value, error) {
			if called {
				return addID("a")(fnCtx, cur) // the Update of b did not have to wait
			}
			called = true
			ctx, cancel := context.WithTimeout(c.Ctx, 50*time.Millisecond)
			defer cancel()
			go func() {
				defer close(done)
				if err := call(ctx, key); err != nil && !errors.Is(err, context.DeadlineExceeded) {
					c.Errorf("the waiting %s: %v, want context.DeadlineExceeded", name, err)
				}
			}()
			select {
			case <-done:
			case <-time.After(soon):
				c.Errorf("the waiting %s has not returned %v after its ctx ended", name, soon)
			}
			return addID("a")(fnCtx, cur)
		})
		<-done
		if v, _ := c.stored(key); ids(v)["a"] != 1 {
			c.Errorf("stored %s, want a's update once", show(v))
		}
	}
}
