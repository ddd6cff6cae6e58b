package locktest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"time"

	"github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/rmw"
)

func checkRuns(_ context.Context, c *check, l lock.Locker, m method, names string) {
	for i := range 3 {
		// A name for each: the check that a lock is free takes it,
		// and may give it back late.
		name := names + fmt.Sprint(i)
		calls := 0
		err := m.call(l, c.Ctx, name, func(ctx context.Context) error {
			calls++
			if err := ctx.Err(); err != nil {
				c.Errorf("fn's ctx has ended: %v", err)
			}
			c.taken(name, "while "+m.name+"'s fn runs")
			c.refused(c.Ctx, l, name, "with the caller's ctx, from fn's goroutine")
			return nil
		})
		if err != nil || calls != 1 {
			c.Errorf("%s: %v, and fn was called %d times", m.name, err, calls)
		}
		c.free(name, "after "+m.name)
	}
}

func checkError(ctx context.Context, c *check, l lock.Locker, m method, name string) {
	refusal := fmt.Errorf("the room is full: %w", rmw.ErrContended)
	err := m.call(l, ctx, name, func(context.Context) error { return refusal })
	if err != refusal { //nolint:errorlint // the very same error is promised
		c.Errorf("%s returned %v, not fn's own error", m.name, err)
	}
}

// checkExcludes counts with a read, some work and a write. It uses atomics, so
// that the race detector, which cannot see a lock on a server, has no objection:
// what tells is the count.
func checkExcludes(c *check) {
	const workers, each = 4, 5
	lockers := []lock.Locker{c.open(), c.open(), c.open()}
	name := c.name("")
	var count, inside, ran atomic.Int64
	h := c.hold(lockers[0], name)
	inside.Store(1)
	increment := func(context.Context) error {
		if n := inside.Add(1); n != 1 {
			c.Errorf("%d fn run at once", n)
		}
		defer inside.Add(-1)
		n := count.Load()
		c.Pass(time.Duration(n%3) * time.Millisecond / 2)
		count.Store(n + 1)
		ran.Add(1)
		return nil
	}
	var ended []<-chan struct{}
	for _, l := range lockers {
		for w := range workers {
			ended = append(ended, c.Go(func() {
				for i := range each {
					if (w+i)%4 == 0 {
						if err := l.TryLock(c.Ctx, name, increment); err != nil && !errors.Is(err, rmw.ErrContended) {
							c.Errorf("TryLock: %v", err)
						}
						continue
					}
					c.lock(l, name, increment)
				}
			}))
		}
	}
	c.Pass(beat) // they wait
	inside.Add(-1)
	c.give(h)
	wait(ended)
	if count.Load() != ran.Load() {
		c.Errorf("%d increments, and the count is %d", ran.Load(), count.Load())
	}
	c.free(name, "after all fn returned")
}

func checkTryTaken(c *check) {
	a, b, name := c.two()
	h := c.hold(a, name)
	for who, l := range map[string]lock.Locker{"the holder's Locker": a, "another Locker": b} {
		ctx, cancel := context.WithTimeout(c.Ctx, soon)
		began := time.Now()
		err := l.TryLock(ctx, name, c.never("although the lock is taken"))
		if took := time.Since(began); !errors.Is(err, rmw.ErrContended) || ctx.Err() != nil {
			c.Errorf("TryLock of %s: %v after %v, want ErrContended at once", who, err, took)
		}
		cancel()
	}
	c.give(h)
	c.free(name, "after the holder returned")
}

// oddNames are names that a quoting, a path, a hash tag, a collation or a limit can
// confuse.
func (c *check) oddNames() []string {
	u := c.names
	long := strings.Repeat("x", 300)
	return []string{
		u, u + " ", " " + u, u + "  ", "{" + u + "}", "{" + u + "}a", "{" + u + "}b", u + "{}", u + "{a}", u + "}{",
		u + "A", u + "a", u + "ä", u + "a\u0308", u + "\u00e4\u200b", u + "日本", u + "🔒",
		"/" + u, u + "/", u + "//", u + "/a", u + "/../a", u + ".", u + "%2F", u + "*", u + "?", u + "\\", u + "'", u + `"`, u + ":",
		u + "\n", u + "\r\n", u + "\t", u + "\x00", u + "\x00a", u + "\xff", u + "\xfe", u + long, u + long + "1", u + long + "2",
	}
}

func checkOddNames(c *check) {
	a, b := c.open(), c.open()
	var held []*hold
	for _, name := range c.oddNames() { // all at once: none is another
		h, err := c.tryHold(a, name)
		if err != nil {
			c.Errorf("the lock %q is taken, though only others are: %v", name, err)
			continue
		}
		held = append(held, h)
	}
	for _, h := range held {
		c.refused(c.Ctx, b, h.name, fmt.Sprintf("of the name %q, which is held", h.name))
	}
	for _, h := range held {
		c.give(h)
	}
	for _, h := range held {
		c.free(h.name, fmt.Sprintf("though %q was given back", h.name))
	}
}

func checkInvalid(_ context.Context, c *check, l lock.Locker, m method, name string) {
	c.is(m.call(l, c.Ctx, "", c.never("without a name")), rmw.ErrInvalid, "%s without a name", m.name)
	c.is(m.call(l, c.Ctx, name, nil), rmw.ErrInvalid, "%s with a nil fn", m.name)
}

func checkClosed(c *check) {
	a, b := c.open(), c.open()
	closer, ok := b.(io.Closer)
	if !ok {
		return
	}
	name := c.name("")
	h := c.hold(a, name)
	waited := make(chan error, 1)
	waiting := c.Go(func() { waited <- b.WithLock(c.Ctx, name, c.never("by a closed Locker")) })
	c.arrive(name, 2)
	closed := c.Go(func() {
		if err := closer.Close(); err != nil {
			c.Errorf("Close: %v", err)
		}
	})
	if !c.Within(soon, closed) || !c.Within(soon, waiting) {
		c.Errorf("Close, or a call that waits for a lock then, does not return")
	} else {
		c.is(<-waited, rmw.ErrClosed, "a call that waits when the Locker is closed")
	}
	for _, m := range bothMethods() {
		c.is(m.call(b, c.Ctx, c.name(m.name), c.never("by a closed Locker")), rmw.ErrClosed, "%s of a closed Locker", m.name)
	}
	if err := closer.Close(); err != nil {
		c.Errorf("the second Close: %v", err)
	}
	c.taken(name, "after another Locker was closed")
	c.give(h)
	c.free(name, "after the holder returned")
}
