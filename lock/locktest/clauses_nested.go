package locktest

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/rmw"
)

func checkTwoLocks(_ context.Context, c *check, l lock.Locker, m method, outer string) {
	inner := outer + "inner"
	c.lock(l, outer, func(ctx context.Context) error {
		ran := false
		err := m.call(l, ctx, inner, func(context.Context) error {
			ran = true
			c.taken(outer, "while the inner fn of another lock runs")
			c.taken(inner, "while its fn runs within another")
			return nil
		})
		if err != nil || !ran {
			c.Errorf("%s of another name with fn's ctx: %v", m.name, err)
		}
		c.free(inner, "after its fn returned, within another")
		c.taken(outer, "after the inner fn of another lock returned")
		return nil
	})
}

func checkNested(_ context.Context, c *check, l lock.Locker, m method, name string) {
	c.lock(l, name, func(ctx context.Context) error {
		ran := 0
		err := m.call(l, ctx, name, func(ctx context.Context) error {
			ran++
			return m.call(l, ctx, name, func(ctx context.Context) error {
				ran++
				c.taken(name, "while an inner fn runs")
				return ctx.Err()
			})
		})
		if err != nil || ran != 2 {
			c.Errorf("%s with fn's ctx: %v, and %d of 2 inner fn ran", m.name, err, ran)
		}
		c.taken(name, "after an inner fn returned")
		c.refused(c.Ctx, l, name, "with the caller's ctx, after an inner fn returned")
		return nil
	})
}

func checkNestedFails(_ context.Context, c *check, l lock.Locker, m method, name string) {
	c.lock(l, name, func(ctx context.Context) error {
		for i, check := range []eachFunc{checkError, checkPanic, checkGoexit, checkCtxEndedBefore} {
			check(ctx, c, l, m, name)
			c.taken(name, "after an inner fn "+[]string{"failed", "panicked", "ended its goroutine", "was not called"}[i])
		}
		return ctx.Err()
	})
}

func checkNestedElsewhere(_ context.Context, c *check, l lock.Locker, m method, name string) {
	c.lock(l, name, func(ctx context.Context) error {
		derived, cancel := context.WithTimeout(context.WithValue(ctx, ctxKey{}, "x"), soon)
		defer cancel()
		var ran atomic.Int64
		var ended []<-chan struct{}
		for range 3 {
			ended = append(ended, c.Go(func() {
				err := m.call(l, derived, name, func(context.Context) error { ran.Add(1); return nil })
				if err != nil {
					c.Errorf("%s on another goroutine, with fn's ctx: %v", m.name, err)
				}
			}))
		}
		wait(ended)
		if n := ran.Load(); n != 3 {
			c.Errorf("%d of 3 inner fn ran", n)
		}
		c.taken(name, "after inner fn on other goroutines returned")
		return nil
	})
}

func checkNestedOutlives(c *check) {
	a, b, name := c.two()
	var inner context.Context
	var ended atomic.Bool
	entered, letGo := make(chan struct{}), make(chan struct{})
	outer := c.Go(func() {
		// Its result does not matter: it may wait for the inner one.
		_ = a.WithLock(c.Ctx, name, func(ctx context.Context) error {
			c.Go(func() {
				_ = a.WithLock(ctx, name, func(ctx context.Context) error {
					inner = ctx
					close(entered)
					select {
					case <-letGo:
					case <-ctx.Done():
					}
					ended.Store(true)
					return nil
				})
			})
			c.Within(soon, entered)
			return nil
		})
	})
	if !c.Within(soon, entered) {
		c.Fatalf("the inner fn does not run")
	}
	other := c.Go(func() {
		c.lock(b, name, func(context.Context) error {
			if !ended.Load() && inner.Err() == nil {
				c.Errorf("another got the lock while an inner fn was still running under it")
			}
			return nil
		})
	})
	c.Pass(4 * beat)
	close(letGo)
	<-outer
	<-other
	c.free(name, "after all have returned")
}

func checkNestedRefused(_ context.Context, c *check, l lock.Locker, m method, name string) {
	c.lock(l, name, func(ctx context.Context) error {
		bounded, cancel := context.WithTimeout(context.WithValue(ctx, ctxKey{}, "x"), soon)
		began := time.Now()
		err := m.call(l, bounded, name, c.never("within itself"))
		if took := time.Since(began); !errors.Is(err, rmw.ErrInvalid) || bounded.Err() != nil {
			c.Errorf("%s within itself: %v after %v, want ErrInvalid at once", m.name, err, took)
		}
		cancel()
		c.taken(name, "after it was asked for within itself")
		return nil
	})
}
