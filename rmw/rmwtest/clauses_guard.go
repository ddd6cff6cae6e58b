package rmwtest

import (
	"context"
	"strings"

	"github.com/unwatch/unwatch/rmw"
)

func guardClauses() []Clause {
	return []Clause{
		{Name: "guard", Says: "A value that changed behind fn's back, in anything fn has read, is never overwritten: fn is called again with it.", run: checkGuard},
		{Name: "guard-every-byte", Says: "The guard sees every change: also one of a single byte, or of letter case, or that keeps a hash's field names.", run: checkGuardEveryByte},
		{Name: "guard-delete", Says: "A value that changed behind fn's back, in any byte, is not deleted either: fn is called again with it.", run: checkGuardDelete},
		{Name: "hash-fields-survive", Says: "Fields of a hash that fn did not touch survive, also those that others add meanwhile.", run: checkHashFieldsSurvive},
	}
}

// raced runs an Update, sets the key to meanwhile during the first call of fn, and
// requires a second call.
func (c *check) raced(s rmw.Store, key rmw.Key, meanwhile rmw.Value, fn rmw.UpdateFunc) {
	calls := 0
	res := c.update(s, key, func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
		calls++
		if calls == 1 {
			c.put(key, meanwhile, rmw.NoTTL)
		}
		cur.Len() // of a hash, too, fn has read all
		return fn(ctx, cur)
	})
	if calls != 2 || res.Attempts != 2 || res.Waited < 0 {
		c.Errorf("fn was called %d times, want 2, for a change to %s; Result: attempts=%d waited=%v",
			calls, show(meanwhile), res.Attempts, res.Waited)
	}
}

func checkGuard(c *check) {
	s := c.Open()
	for _, kind := range c.kinds() {
		key := c.key(kind)
		first, second := samples(kind)
		for _, before := range []rmw.Value{first, {}} {
			c.put(key, before, rmw.NoTTL)
			c.raced(s, key, second, adder(kind, "mine"))
			want, _ := adder(kind, "mine")(c.Ctx, second)
			c.wantStored(key, want)
		}
	}
}

// subtleChanges are pairs of values that a guard takes for equal if it compares their
// lengths, letters, beginnings or field names.
func subtleChanges(kind rmw.Kind) [][2]rmw.Value {
	long := strings.Repeat("0123456789abcdef", 256)
	texts := [][2]string{
		{"open", "shut"},
		{"open", "Open"},
		{"open 1", "open 2"},
		{"1 open", "2 open"},
		{long + "1", long + "2"},
		{"1" + long, "2" + long},
	}
	hash := func(a, b string) rmw.Value { return rmw.Hash(map[string]string{"a": a, "b": b}) }
	var changes [][2]rmw.Value
	for _, text := range texts {
		change := [2]rmw.Value{rmw.String(text[0]), rmw.String(text[1])}
		if kind == rmw.KindHash {
			change = [2]rmw.Value{hash("1", text[0]), hash("1", text[1])}
		}
		changes = append(changes, change)
	}
	if kind == rmw.KindHash {
		changes = append(changes, [2]rmw.Value{hash("1", "2"), hash("2", "1")})
	}
	return changes
}

func checkGuardEveryByte(c *check) {
	s := c.Open()
	for _, kind := range c.kinds() {
		for _, change := range subtleChanges(kind) {
			key := c.key(kind)
			c.put(key, change[0], rmw.NoTTL)
			c.raced(s, key, change[1], adder(kind, "mine"))
			want, _ := adder(kind, "mine")(c.Ctx, change[1])
			c.wantStored(key, want)
		}
	}
}

func checkGuardDelete(c *check) {
	s := c.Open()
	for _, kind := range c.kinds() {
		first, second := samples(kind)
		remove := map[string]rmw.UpdateFunc{"the zero Value": to(rmw.Value{})}
		if kind == rmw.KindHash {
			remove["a hash without its fields"] = func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
				return cur.Without("a", "b"), nil
			}
		}
		for name, fn := range remove {
			for _, change := range append(subtleChanges(kind), [2]rmw.Value{first, second}) {
				before, meanwhile := change[0], change[1]
				key := c.key(kind)
				c.put(key, before, rmw.NoTTL)
				c.raced(s, key, meanwhile, func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
					if cur.Equal(meanwhile) {
						return cur, nil // keep it
					}
					return fn(ctx, cur)
				})
				if got, _ := c.stored(key); !got.Equal(meanwhile) {
					c.Errorf("fn returned %s; stored: %s, want the value written meanwhile, %s", name, show(got), show(meanwhile))
				}
			}
		}
	}
}

func checkHashFieldsSurvive(c *check) {
	if !c.stores(rmw.KindHash) {
		return
	}
	s := c.Open()
	key := c.key(rmw.KindHash)
	c.put(key, rmw.Hash(map[string]string{"theirs": "1", "mine": "0", "other": "\x00"}), rmw.NoTTL)
	meanwhile := rmw.Hash(map[string]string{"theirs": "1", "mine": "0", "late": "x"})
	calls := 0
	res := c.update(s, key, func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
		calls++
		if calls == 1 {
			c.put(key, meanwhile, rmw.NoTTL)
		}
		return cur.With("mine", "1"), nil
	})
	want := meanwhile.With("mine", "1")
	c.wantStored(key, want)
	if !res.Before.Equal(meanwhile) || !res.After.Equal(want) {
		c.Errorf("Result has another value of the hash than that at the write: before %v, after %v", res.Before, res.After)
	}
}
