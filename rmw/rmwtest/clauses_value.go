package rmwtest

import (
	"context"
	"strings"

	"github.com/unwatch/unwatch/rmw"
)

func valueClauses() []Clause {
	return []Clause{
		{Name: "binary-safe", Says: "Names and values may hold any bytes.", run: checkBinarySafe},
		{Name: "empty-is-a-value", Says: "An empty string is a value, not an absent key.", run: checkEmptyIsAValue},
		{Name: "large-value", Says: "A value of more than 2 MiB is stored like any other, and guarded to its last byte.", run: checkLargeValue},
		{Name: "number-like", Says: "Values that look like numbers, nil or Lua keep every byte.", run: checkNumberLike},
	}
}

// hostile has every byte, and sequences that a protocol or a script could misread.
func hostile() string {
	var b strings.Builder
	for i := range 256 {
		b.WriteByte(byte(i))
	}
	return b.String() + "\r\n$-1\r\n*0\r\n{}{tag}'\"]]--"
}

func checkBinarySafe(c *check) {
	s := c.Open()
	for _, kind := range c.kinds() {
		key := c.key(kind)
		key.Name += hostile()
		v := rmw.String(hostile())
		if kind == rmw.KindHash {
			v = rmw.Hash(map[string]string{hostile(): hostile(), "": "empty name", "empty value": ""})
		}
		c.update(s, key, to(v))
		c.wantStored(key, v)
		c.update(s, key, func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
			if !cur.Equal(v) {
				c.Errorf("fn was given other bytes than were stored")
			}
			return rmw.Value{}, nil
		})
		c.wantStored(key, rmw.Value{})
	}
}

func checkEmptyIsAValue(c *check) {
	s := c.Open()
	key := c.key(rmw.KindString)
	if res := c.update(s, key, to(rmw.String(""))); !res.Written {
		c.Errorf("an empty string over an absent key was not written")
	}
	c.wantStored(key, rmw.String(""))
	res := c.update(s, key, func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
		if !cur.Exists() {
			c.Errorf("fn was given an absent key, want an empty string")
		}
		return rmw.Value{}, nil
	})
	if !res.Written {
		c.Errorf("deleting an empty string was not written")
	}
	c.wantStored(key, rmw.Value{})
	if got, err := s.Read(c.Ctx, key); err != nil || got.Exists() {
		c.Errorf("Read after the delete: %s, %v", show(got), err)
	}
}

func checkLargeValue(c *check) {
	s := c.Open()
	for _, kind := range c.kinds() {
		key := c.key(kind)
		large := strings.Repeat("0123456789abcdef", 2<<20/16+1)
		first, second := rmw.String(large+"1"), rmw.String(large+"2")
		if kind == rmw.KindHash {
			first = rmw.Hash(map[string]string{"large": large + "1", "small": "1"})
			second = first.With("large", large+"2")
		}
		c.update(s, key, to(first))
		c.wantStored(key, first)
		c.raced(s, key, second, func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
			if !cur.Equal(first) && !cur.Equal(second) {
				c.Errorf("fn was given %v, not the stored value", cur)
			}
			return adder(kind, "mine")(ctx, cur)
		})
		want, _ := adder(kind, "mine")(c.Ctx, second)
		c.wantStored(key, want)
	}
}

func checkNumberLike(c *check) {
	s := c.Open()
	key := c.key(rmw.KindString)
	for _, text := range []string{"9007199254740993", "0", "-0", "1e400", "007", "nil", "false", "0x10", " 1 "} {
		c.update(s, key, to(rmw.String(text)))
		c.wantStored(key, rmw.String(text))
		if !c.stores(rmw.KindHash) {
			continue
		}
		hash := c.key(rmw.KindHash)
		c.update(s, hash, to(rmw.Hash(map[string]string{text: text})))
		c.wantStored(hash, rmw.Hash(map[string]string{text: text}))
	}
}
