package locktest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/rmw"
)

func checkOneOfMany(c *check) {
	const locks, lost = 50, 20
	l := c.open()
	var held []*hold
	for i := range locks {
		held = append(held, c.hold(l, c.name(fmt.Sprint(i))))
	}
	c.takeAway(held[lost].name)
	c.told(held[lost], "after its lock was taken away")
	c.Pass(c.Lease / 2)
	for i, h := range held {
		switch err := h.release(); {
		case i == lost:
		case c.Session && !errors.Is(err, rmw.ErrLockLost):
			c.Errorf("lock %d of a Session that was lost: %v, want ErrLockLost", i, err)
		case !c.Session && err != nil:
			c.Errorf("lock %d, while only lock %d was lost: %v", i, lost, err)
		}
	}
}

func checkSharedClient(c *check) {
	a, b := c.Share(c.tb)
	closer, ok := b.(io.Closer)
	if !ok {
		return
	}
	h := c.hold(a, c.name(""))
	c.lock(b, c.name("other"), nothing)
	if err := closer.Close(); err != nil {
		c.Errorf("Close: %v", err)
	}
	c.kept(h.ctx, h.name, "after another Locker over its client was closed")
	c.give(h)
	c.lock(a, c.name("after"), nothing)
}

func checkForEver(c *check) {
	l := c.open()
	h := c.hold(l, c.name(""))
	for range min(100, c.patience()/c.Lease-3) {
		if !c.Within(c.Lease, h.ctx.Done()) {
			continue
		}
		c.Errorf("fn's ctx ended: %v", context.Cause(h.ctx))
		break
	}
	_ = h.release()
	c.free(h.name, "after many leases")
}

func checkMaxHold(c *check) {
	a, b := c.open(), c.open()
	asked := time.Now()
	h := c.hold(a, c.name(""))
	granted := time.Now()
	c.told(h, "after MaxHold")
	if d := time.Since(asked); d < c.MaxHold || time.Since(granted) > c.MaxHold+soon {
		c.Errorf("fn's ctx ended after %v, want %v", d, c.MaxHold)
	}
	c.gets(b, h.name, c.deadFor(), "after MaxHold", nothing)
	c.is(h.release(), rmw.ErrLockLost, "fn returned nil after MaxHold")
}

// sequencer requires a Sequencer, and that its text form is read as it was written.
func (c *check) sequencer(ctx context.Context) lock.Sequencer {
	s, err := lock.SequencerOf(ctx)
	if err != nil {
		c.Fatalf("the sequencer of a held lock: %v", err)
	}
	if s.Owner == "" || (s.Token > 0) != c.Tokens {
		c.Errorf("the sequencer of a held lock has owner %q and token %d", s.Owner, s.Token)
	}
	text, _ := s.MarshalText()
	var read lock.Sequencer
	if err := read.UnmarshalText(text); err != nil || read != s {
		c.Errorf("the sequencer %q is read as %v, %v", text, read, err)
	}
	return s
}

func checkSequencer(c *check) {
	a, b, name := c.two()
	check := func(s lock.Sequencer, want error, when string) {
		for i, l := range []lock.Locker{a, b} {
			c.is(l.(lock.Checker).Check(c.Ctx, s), want, "Check by process %d %s", i, when)
		}
	}
	var before []lock.Sequencer
	for i, l := range []lock.Locker{a, b, a} {
		h := c.hold(l, name)
		s := c.sequencer(h.ctx)
		if token, err := lock.Token(h.ctx); s.Name != name || c.Tokens && (err != nil || token != s.Token) {
			c.Errorf("the sequencer of %q with token %d has name %q and token %d", name, token, s.Name, s.Token)
		}
		check(s, nil, "while the lock is held")
		if before = append(before, s); i == 0 {
			for what, forged := range map[string]lock.Sequencer{
				"with another owner": {Name: name, Owner: s.Owner + "x", Token: s.Token},
				"without an owner":   {Name: name, Token: s.Token},
				"with another token": {Name: name, Owner: s.Owner, Token: s.Token + 1},
				"with another name":  {Name: name + "x", Owner: s.Owner, Token: s.Token},
			} {
				check(forged, rmw.ErrLockLost, "of a sequencer "+what)
			}
		}
		for _, s := range before[:i] {
			check(s, rmw.ErrLockLost, "while another has the lock")
		}
		c.give(h)
		c.free(name, "after the holder returned")
		check(s, rmw.ErrLockLost, "after the lock was released")
	}
}

func (c *check) inspect(name string) lock.Info {
	info, err := c.another().(lock.Inspector).Inspect(c.Ctx, name)
	if err != nil {
		c.Fatalf("Inspect: %v", err)
	}
	return info
}

// noHolder requires Inspect to show a free lock. It may be released late.
func (c *check) noHolder(name, when string) {
	c.free(name, when)
	began, info := time.Now(), lock.Info{}
	for {
		info = c.inspect(name)
		if !info.Held || time.Since(began) >= c.ReleasedWithin {
			break
		}
		c.Pass(c.ReleasedWithin / 50)
	}
	if info.Held || info.Name != name || info.Owner != "" || info.Token != 0 || info.Left != 0 || info.Data != nil {
		c.Errorf("Inspect shows %+v %s, want a free lock", info, when)
	}
}

func checkInspect(c *check) {
	l, name := c.one()
	c.noHolder(name, "before the lock was ever taken")
	for range 2 {
		h := c.hold(l, name)
		s, info := c.sequencer(h.ctx), c.inspect(name)
		if !info.Held || info.Sequencer != s {
			c.Errorf("Inspect shows %+v, and the holder is %+v", info, s)
		}
		if most := c.Lease + c.LockDelay; c.Lease > 0 && (info.Left < 0 || info.Left > most) {
			c.Errorf("Inspect shows that %v are left, want at most %v", info.Left, most)
		}
		c.taken(name, "after Inspect")
		c.give(h)
		c.noHolder(name, "after the holder returned")
	}
}

func checkData(c *check) {
	l, name := c.one()
	for _, data := range [][]byte{[]byte("nightly report, host 7"), nil, {0, 0xff, '\'', '\n'}, slices.Repeat([]byte{'x'}, 1024)} {
		err := l.WithLock(lock.WithData(c.Ctx, data), name, func(context.Context) error {
			if got := c.inspect(name).Data; !slices.Equal(got, data) {
				c.Errorf("Inspect shows the data %q, want %q", got, data)
			}
			return nil
		})
		if err != nil {
			c.Errorf("WithLock with data: %v", err)
		}
		c.noHolder(name, "after the holder returned")
	}
}
