package rmwtest

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/unwatch/unwatch/rmw"
)

const (
	hour = time.Hour
	day  = 24 * time.Hour
)

func ttlClauses() []Clause {
	return []Clause{
		{Name: "ttl-kept", Says: "With Key.TTL 0 a write keeps the expiry the key had, or its absence.", run: checkTTLKept},
		{Name: "ttl-set", Says: "With a positive Key.TTL a write sets the expiry, on a new key as on an old one.", run: checkTTLSet},
		{Name: "ttl-removed", Says: "With NoTTL a write removes the expiry.", run: checkTTLRemoved},
		{Name: "ttl-to-the-millisecond", Says: "Expiries below a second are kept and set as they are, rounded up to what the storage can.", run: checkTTLMilliseconds},
		{Name: "ttl-of-the-value", Says: "Value.WithTTL overrides Key.TTL, and is written even if the content is unchanged.", run: checkTTLOfValue},
		{Name: "ttl-never-lost", Says: "Writers that race never drop or lengthen the expiry.", run: checkTTLNeverLost},
		{Name: "no-immortal-key", Says: "A key that vanishes while fn runs is not written back without its expiry: fn is asked again.", run: checkNoImmortalKey},
	}
}

// wantTTL requires the remaining lifetime to be want, less the time the clause
// took.
func (c *check) wantTTL(key rmw.Key, want time.Duration) {
	v, ttl := c.stored(key)
	if !v.Exists() {
		c.Errorf("the key is gone")
		return
	}
	if want == rmw.NoTTL {
		if ttl != rmw.NoTTL {
			c.Errorf("it expires in %v, want no expiry", ttl)
		}
		return
	}
	if ttl == rmw.NoTTL || ttl > want || ttl < want-time.Minute {
		c.Errorf("it expires in %v (-1ns: never), want just under %v", ttl, want)
	}
}

func checkTTLKept(c *check) {
	s := c.Open()
	for _, kind := range c.kinds() {
		for _, ttl := range []time.Duration{hour, rmw.NoTTL} {
			key := c.key(kind)
			first, second := samples(kind)
			c.put(key, first, ttl)
			c.update(s, key, to(second))
			c.wantStored(key, second)
			c.wantTTL(key, ttl)
		}
	}
}

func checkTTLSet(c *check) {
	s := c.Open()
	for _, kind := range c.kinds() {
		for _, before := range []time.Duration{0, hour, rmw.NoTTL} {
			key := c.key(kind)
			key.TTL = day
			first, second := samples(kind)
			if before != 0 {
				c.put(key, first, before)
			}
			c.update(s, key, to(second))
			c.wantStored(key, second)
			c.wantTTL(key, day)
		}
	}
}

func checkTTLRemoved(c *check) {
	s := c.Open()
	for _, kind := range c.kinds() {
		key := c.key(kind)
		key.TTL = rmw.NoTTL
		first, second := samples(kind)
		c.put(key, first, hour)
		c.update(s, key, to(second))
		c.wantStored(key, second)
		c.wantTTL(key, rmw.NoTTL)
	}
}

func checkTTLOfValue(c *check) {
	s := c.Open()
	for _, kind := range c.kinds() {
		for _, ttl := range []time.Duration{day, rmw.NoTTL} {
			key := c.key(kind)
			key.TTL = hour
			first, second := samples(kind)
			c.put(key, first, 2*hour)
			res := c.update(s, key, func(_ context.Context, cur rmw.Value) (rmw.Value, error) { return cur.WithTTL(ttl), nil })
			if !res.Written || res.After.TTL() != 0 {
				c.Errorf("WithTTL(%v) on an unchanged value: written=%v, After asks for %v", ttl, res.Written, res.After.TTL())
			}
			c.wantStored(key, first)
			c.wantTTL(key, ttl)
			c.put(key, first, 2*hour)
			c.update(s, key, to(second.WithTTL(ttl)))
			c.wantStored(key, second)
			c.wantTTL(key, ttl)
		}
	}
}

func checkTTLMilliseconds(c *check) {
	s := c.Open()
	const short = 950 * time.Millisecond
	for _, kind := range c.kinds() {
		key := c.key(kind)
		first, second := samples(kind)
		want := func() {
			v, ttl := c.stored(key)
			if most := max(short, c.ExpiryUnit); v.Exists() && (ttl == rmw.NoTTL || ttl > most) {
				c.Errorf("it expires in %v (-1ns: never), want at most %v", ttl, most)
			}
		}
		c.put(key, first, max(short, c.ExpiryUnit))
		c.update(s, key, to(second))
		want()
		key.TTL = short
		c.update(s, key, to(first))
		want()
	}
}

func checkTTLNeverLost(c *check) {
	for _, kind := range c.kinds() {
		key := c.key(kind)
		first, _ := samples(kind)
		c.put(key, first, hour)
		var wg sync.WaitGroup
		for writer := range 4 {
			s := c.Open()
			wg.Go(func() {
				for i := range 10 {
					id := fmt.Sprintf("w%d-%d", writer, i)
					if _, err := s.Update(c.Ctx, key, addID(id)); err != nil {
						c.Errorf("Update: %v", err)
						return
					}
				}
			})
		}
		wg.Wait()
		c.wantTTL(key, hour)
	}
}

func checkNoImmortalKey(c *check) {
	s := c.Open()
	for _, kind := range c.kinds() {
		key := c.key(kind)
		first, second := samples(kind)
		c.put(key, first, hour)
		calls := 0
		res := c.update(s, key, func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
			calls++
			if calls == 1 {
				c.put(key, rmw.Value{}, rmw.NoTTL) // as if it had expired
				return second, nil
			}
			return cur, nil // absent: leave it so
		})
		if calls != 2 || res.Before.Exists() {
			c.Errorf("fn was called %d times and last given %s, want a second call with nothing", calls, show(res.Before))
		}
		c.wantStored(key, rmw.Value{})
	}
}
