package rmwtest

import (
	"context"
	"errors"
	"time"

	"github.com/unwatch/unwatch/rmw"
)

func peekClauses() []Clause {
	return []Clause{
		{Name: "peek", NeedsPeeker: true, run: checkPeek,
			Says: "Peek returns the stored value and how long it has left: NoTTL without an expiry, 0 for an absent key. It changes nothing."},
		{Name: "peek-is-fresh", NeedsPeeker: true, run: checkPeekIsFresh,
			Says: "Peek sees every value and every expiry that was there before the call, of any writer."},
		{Name: "peek-to-the-end", NeedsPeeker: true, run: checkPeekToTheEnd,
			Says: "What expires has a positive time left, at least a millisecond, until it is gone."},
		{Name: "peek-fails-as-read", NeedsPeeker: true, run: checkPeekFailsAsRead,
			Says: "Peek refuses what Read refuses: a value or a Key of another kind, an unusable Key, an ended ctx."},
		{Name: "peek-of-one-moment", NeedsPeeker: true, NeedsFaults: true, run: checkPeekOfOneMoment,
			Says: "Whichever command of a Peek a write of others meets, value and expiry are both from before it, or both from after it."},
		{Name: "peek-survives", NeedsPeeker: true, NeedsFaults: true, run: checkPeekFaults,
			Says: "If a command or reply of a Peek is lost, it is right or ErrUnavailable, and ends with its ctx."},
	}
}

// peeker returns what s is besides a Store.
func (c *check) peeker(s rmw.Store) rmw.Peeker {
	p, ok := rmw.As[rmw.Peeker](s)
	if !ok {
		c.Fatalf("the Store is no rmw.Peeker")
	}
	return p
}

// fits tells whether left is what remains of ttl, less the time the clause took.
func fits(left, ttl time.Duration) bool {
	if ttl <= 0 { // NoTTL, or nothing
		return left == ttl
	}
	return left > 0 && left <= ttl && left > ttl-time.Minute
}

// wantPeek requires a Peek to show the value with that expiry.
func (c *check) wantPeek(p rmw.Peeker, key rmw.Key, want rmw.Value, ttl time.Duration) {
	switch got, left, err := p.Peek(c.Ctx, key); {
	case err != nil:
		c.Errorf("Peek: %v", err)
	case !got.Equal(want) || !fits(left, ttl):
		c.Errorf("Peek: %s, %v left; want %s, %v less the time since (-1ns: no expiry, 0s: no value)", show(got), left, show(want), ttl)
	}
}

func checkPeek(c *check) {
	p := c.peeker(c.Open())
	for _, kind := range c.kinds() {
		key := c.key(kind)
		c.wantPeek(p, key, rmw.Value{}, 0)
		key.TTL = day // is for writes
		first, _ := samples(kind)
		for _, ttl := range []time.Duration{rmw.NoTTL, hour} {
			c.put(key, first, ttl)
			for range 2 {
				c.wantPeek(p, key, first, ttl)
			}
			c.wantStored(key, first)
			c.wantTTL(key, ttl)
		}
		c.put(key, rmw.Value{}, rmw.NoTTL)
		c.wantPeek(p, key, rmw.Value{}, 0)
		c.wantStored(key, rmw.Value{})
	}
}

func checkPeekIsFresh(c *check) {
	s, other := c.Open(), c.Open()
	p := c.peeker(s)
	for _, kind := range c.kinds() {
		key := c.key(kind)
		first, second := samples(kind)
		for _, step := range []struct {
			value rmw.Value
			ttl   time.Duration
		}{
			{first.WithTTL(hour), hour},
			{first.WithTTL(rmw.NoTTL), rmw.NoTTL}, // the expiry alone
			{second, rmw.NoTTL},                   // the value alone
			{second.WithTTL(day), day},
			{first.WithTTL(hour), hour}, // both
			{rmw.Value{}, 0},
		} {
			for _, writer := range []rmw.Store{other, s} {
				c.update(writer, key, to(step.value))
				c.wantPeek(p, key, step.value, step.ttl)
			}
		}
		for _, ttl := range []time.Duration{day, hour, rmw.NoTTL} {
			c.put(key, second, ttl)
			c.wantPeek(p, key, second, ttl)
		}
	}
}

func checkPeekToTheEnd(c *check) {
	p := c.peeker(c.Open())
	short := max(100*time.Millisecond, c.ExpiryUnit)
	for _, kind := range c.kinds() {
		key := c.key(kind)
		first, _ := samples(kind)
		c.put(key, first, short)
		// On a fake clock, the last look but one is within the last millisecond.
		for _, step := range []time.Duration{0, short / 2, short/2 - time.Millisecond/2, short} {
			c.Pass(step)
			got, left, err := p.Peek(c.Ctx, key)
			switch {
			case err != nil:
				c.Errorf("Peek: %v", err)
			case got.Exists() && (left < time.Millisecond || left > short):
				c.Errorf("Peek: it is there, with %v left (-1ns: no expiry), want 1ms to %v", left, short)
			case !got.Exists() && left != 0:
				c.Errorf("Peek: it is gone, with %v left", left)
			}
		}
	}
}

func checkPeekFailsAsRead(c *check) {
	s := c.Open()
	p := c.peeker(s)
	want := func(ctx context.Context, key rmw.Key, reason error) {
		if v, left, err := p.Peek(ctx, key); !errors.Is(err, reason) || v.Exists() || left != 0 {
			c.Errorf("Peek of %+v: %s, %v, %v; want nothing, and %v", key, show(v), left, err, reason)
		}
		if _, err := s.Read(ctx, key); !errors.Is(err, reason) {
			c.Errorf("Read of %+v: %v; want %v", key, err, reason)
		}
	}
	for _, kind := range []rmw.Kind{rmw.KindString, rmw.KindHash} {
		key := c.key(kind)
		if !c.stores(kind) {
			want(c.Ctx, key, rmw.ErrUnsupported)
			continue
		}
		other, _ := samples(otherKind(kind))
		c.put(key, other, hour)
		want(c.Ctx, key, rmw.ErrWrongKind)
		c.wantStored(key, other)
	}
	noName, badKind, badTTL := c.key(rmw.KindString), c.key(99), c.key(rmw.KindString)
	noName.Name, badTTL.TTL = "", -2
	for _, key := range []rmw.Key{noName, badKind, badTTL} {
		want(c.Ctx, key, rmw.ErrInvalid)
	}
	ctx, cancel := context.WithCancel(c.Ctx)
	cancel()
	want(ctx, c.key(rmw.KindString), context.Canceled)
}

// checkPeekOfOneMoment has another write at each command of a Peek: each time another
// value with another expiry, so that none comes back.
func checkPeekOfOneMoment(c *check) {
	for _, kind := range c.kinds() {
		s := c.Open()
		p := c.peeker(s)
		key := c.key(kind)
		first, second := samples(kind)
		for _, next := range []struct {
			value rmw.Value
			ttl   time.Duration
		}{{second, day}, {second, rmw.NoTTL}, {rmw.Value{}, 0}} {
			for n := 1; n <= maxCommands; n++ {
				c.put(key, first, hour)
				stop := c.Faults.Arm(n, Fault{Do: func() {
					if err := c.Direct.Set(c.Ctx, key.Name, next.value, next.ttl); err != nil {
						c.Errorf("write meanwhile: %v", err)
					}
				}})
				got, left, err := p.Peek(c.Ctx, key)
				struck := stop()
				before := got.Equal(first) && fits(left, hour)
				after := got.Equal(next.value) && fits(left, next.ttl)
				if err != nil || !before && !after {
					c.Errorf("Peek, with a write at command %d: %s, %v left, %v; want %s, %v, or %s, %v (-1ns: no expiry)",
						n, show(got), left, err, show(first), hour, show(next.value), next.ttl)
				}
				if !struck {
					if n == 1 {
						c.Errorf("the write at the first command never came: the Target's Faults do not see this Store")
					}
					break
				}
			}
		}
	}
}

func checkPeekFaults(c *check) {
	const timeout = 100 * time.Millisecond
	for _, kind := range c.kinds() {
		p := c.peeker(c.Open())
		key := c.key(kind)
		first, _ := samples(kind)
		c.put(key, first, hour)
		for _, fault := range []FaultKind{RequestLost, ReplyLost, Hang} {
			for n := 1; n <= maxCommands; n++ {
				ctx, cancel := c.Ctx, context.CancelFunc(func() {})
				if fault == Hang {
					ctx, cancel = context.WithTimeout(c.Ctx, timeout)
				}
				stop := c.Faults.Arm(n, Fault{Kind: fault})
				start := time.Now()
				got, left, err := p.Peek(ctx, key)
				took := time.Since(start)
				cancel()
				struck := stop()
				switch {
				case err == nil && (!got.Equal(first) || !fits(left, hour)):
					c.Errorf("%v on command %d: Peek: %s, %v left; want %s, just under %v", fault, n, show(got), left, show(first), hour)
				case err != nil && fault == Hang && !errors.Is(err, context.DeadlineExceeded),
					err != nil && fault != Hang && !errors.Is(err, rmw.ErrUnavailable):
					c.Errorf("%v on command %d: Peek: %v", fault, n, err)
				case fault == Hang && took > timeout+soon/2:
					c.Errorf("command %d hung: the Peek returned %v after it began, its ctx ended after %v", n, took, timeout)
				}
				if !struck {
					break
				}
			}
		}
	}
}
