package rmwtest

import (
	"context"
	"errors"

	"github.com/unwatch/unwatch/rmw"
)

func basicClauses() []Clause {
	return []Clause{
		{Name: "create", Says: "An absent key reaches fn as the zero Value, and fn's result creates it.", run: checkCreate},
		{Name: "change", Says: "fn gets the stored value, and its result replaces it.", run: checkChange},
		{Name: "delete", Says: "Returning the zero Value deletes the key.", run: checkDelete},
		{Name: "delete-absent", Says: "Returning the zero Value for an absent key writes nothing.", run: checkDeleteAbsent},
		{Name: "unchanged-writes-nothing", Says: "Returning an equal Value writes nothing: not the value, not the expiry.", run: checkUnchanged},
		{Name: "abort", Says: "An error of fn is returned as it is, and nothing is written.", run: checkAbort},
		{Name: "result", Says: "Result has fn's argument, the stored value, and whether it was written.", run: checkResult},
		{Name: "read", Says: "Read returns the stored value, and the zero Value for an absent key.", run: checkRead},
		{Name: "wrong-kind", Says: "A stored value of another kind is ErrWrongKind: fn is not called, the value is untouched.", run: checkWrongKind},
		{Name: "wrong-kind-returned", Says: "A Value of another kind than the Key's is ErrWrongKind, and nothing is written.", run: checkWrongKindReturned},
		{Name: "unsupported-kind", Says: "A Kind that the Store does not store is ErrUnsupported before fn is called.", run: checkUnsupportedKind},
		{Name: "invalid-key", Says: "A Key that cannot be used is ErrInvalid before fn is called.", run: checkInvalidKey},
	}
}

// samples gives each kind a first and a second value.
func samples(kind rmw.Kind) (first, second rmw.Value) {
	if kind == rmw.KindHash {
		return rmw.Hash(map[string]string{"a": "1", "b": "2"}), rmw.Hash(map[string]string{"b": "3", "c": "4"})
	}
	return rmw.String("first"), rmw.String("second")
}

// otherKind returns the kind that kind is not.
func otherKind(kind rmw.Kind) rmw.Kind {
	if kind == rmw.KindHash {
		return rmw.KindString
	}
	return rmw.KindHash
}

func checkCreate(c *check) {
	s := c.Open()
	for _, kind := range c.kinds() {
		key := c.key(kind)
		first, _ := samples(kind)
		c.update(s, key, func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
			if cur.Exists() {
				c.Errorf("fn was given %s for an absent key", show(cur))
			}
			return first, nil
		})
		c.wantStored(key, first)
	}
}

func checkChange(c *check) {
	s := c.Open()
	for _, kind := range c.kinds() {
		key := c.key(kind)
		first, second := samples(kind)
		c.put(key, first, rmw.NoTTL)
		c.update(s, key, func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
			if !cur.Equal(first) {
				c.Errorf("fn was given %s, want %s", show(cur), show(first))
			}
			return second, nil
		})
		c.wantStored(key, second)
	}
}

func checkDelete(c *check) {
	s := c.Open()
	for _, kind := range c.kinds() {
		key := c.key(kind)
		first, _ := samples(kind)
		c.put(key, first, rmw.NoTTL)
		if res := c.update(s, key, to(rmw.Value{})); !res.Written || res.After.Exists() {
			c.Errorf("Result %+v of a delete", res)
		}
		c.wantStored(key, rmw.Value{})
	}
	if !c.stores(rmw.KindHash) {
		return
	}
	key := c.key(rmw.KindHash)
	first, _ := samples(rmw.KindHash)
	c.put(key, first, rmw.NoTTL)
	c.update(s, key, func(_ context.Context, cur rmw.Value) (rmw.Value, error) { return cur.Without("a", "b"), nil })
	c.wantStored(key, rmw.Value{})
}

func checkDeleteAbsent(c *check) {
	s := c.Open()
	for _, kind := range c.kinds() {
		key := c.key(kind)
		if res := c.update(s, key, to(rmw.Value{})); res.Written {
			c.Errorf("Result.Written is true though there was nothing to delete")
		}
		c.wantStored(key, rmw.Value{})
	}
}

func checkUnchanged(c *check) {
	s := c.Open()
	for _, kind := range c.kinds() {
		key := c.key(kind)
		first, _ := samples(kind)
		c.put(key, first, rmw.NoTTL)
		key.TTL = hour
		for _, same := range []rmw.UpdateFunc{
			func(_ context.Context, cur rmw.Value) (rmw.Value, error) { return cur, nil },
			to(first),
		} {
			if res := c.update(s, key, same); res.Written || !res.After.Equal(first) {
				c.Errorf("Result says written=%v, after=%s", res.Written, show(res.After))
			}
		}
		if _, ttl := c.stored(key); ttl != rmw.NoTTL {
			c.Errorf("the expiry changed to %v: something was written", ttl)
		}
	}
}

func checkAbort(c *check) {
	s := c.Open()
	refusal := errors.New("the room is full")
	for _, kind := range c.kinds() {
		key := c.key(kind)
		first, second := samples(kind)
		c.put(key, first, rmw.NoTTL)
		res, err := s.Update(c.Ctx, key, func(context.Context, rmw.Value) (rmw.Value, error) { return second, refusal })
		if res.Before.Exists() || res.After.Exists() || res.Written || res.Attempts != 1 {
			c.Errorf("Result of an abort: before=%s after=%s written=%v attempts=%d; want attempts only",
				show(res.Before), show(res.After), res.Written, res.Attempts)
		}
		if err != refusal { //nolint:errorlint // the very same error is promised
			c.Errorf("Update returned %v, not fn's own error", err)
		}
		c.wantStored(key, first)
		c.update(s, key, to(second)) // an abort must not leave the key locked
	}
}

func checkResult(c *check) {
	s := c.Open()
	for _, kind := range c.kinds() {
		key := c.key(kind)
		first, second := samples(kind)
		c.put(key, first, rmw.NoTTL)
		res := c.update(s, key, to(second))
		got, _ := c.stored(key)
		if !res.Before.Equal(first) || !res.After.Equal(got) || !res.After.Equal(second) || !res.Written || res.Attempts != 1 {
			c.Errorf("Result before=%s after=%s written=%v attempts=%d; stored %s",
				show(res.Before), show(res.After), res.Written, res.Attempts, show(got))
		}
	}
}

func checkRead(c *check) {
	s := c.Open()
	for _, kind := range c.kinds() {
		key := c.key(kind)
		first, _ := samples(kind)
		for _, want := range []rmw.Value{{}, first} {
			c.put(key, want, rmw.NoTTL)
			if got, err := s.Read(c.Ctx, key); err != nil || !got.Equal(want) {
				c.Errorf("Read: %s, %v; want %s", show(got), err, show(want))
			}
		}
	}
}

func checkWrongKind(c *check) {
	s := c.Open()
	for _, kind := range c.kinds() {
		key := c.key(kind)
		other, _ := samples(otherKind(kind))
		c.put(key, other, rmw.NoTTL)
		_, err := s.Update(c.Ctx, key, func(context.Context, rmw.Value) (rmw.Value, error) {
			c.Errorf("fn was called for a stored %v under a %v Key", otherKind(kind), kind)
			return rmw.Value{}, nil
		})
		if !errors.Is(err, rmw.ErrWrongKind) {
			c.Errorf("Update: %v, want ErrWrongKind", err)
		}
		if _, err := s.Read(c.Ctx, key); !errors.Is(err, rmw.ErrWrongKind) {
			c.Errorf("Read: %v, want ErrWrongKind", err)
		}
		c.wantStored(key, other)
	}
}

func checkWrongKindReturned(c *check) {
	s := c.Open()
	for _, kind := range c.kinds() {
		key := c.key(kind)
		first, _ := samples(kind)
		other, _ := samples(otherKind(kind))
		c.put(key, first, rmw.NoTTL)
		if _, err := s.Update(c.Ctx, key, to(other)); !errors.Is(err, rmw.ErrWrongKind) {
			c.Errorf("Update: %v, want ErrWrongKind", err)
		}
		c.wantStored(key, first)
	}
}

func checkUnsupportedKind(c *check) {
	s := c.Open()
	for _, kind := range []rmw.Kind{rmw.KindString, rmw.KindHash} {
		if c.stores(kind) {
			continue
		}
		key := c.key(kind)
		_, err := s.Update(c.Ctx, key, func(context.Context, rmw.Value) (rmw.Value, error) {
			c.Errorf("fn was called")
			return rmw.Value{}, nil
		})
		if !errors.Is(err, rmw.ErrUnsupported) {
			c.Errorf("Update: %v, want ErrUnsupported", err)
		}
		if _, err := s.Read(c.Ctx, key); !errors.Is(err, rmw.ErrUnsupported) {
			c.Errorf("Read: %v, want ErrUnsupported", err)
		}
	}
}

func checkInvalidKey(c *check) {
	s := c.Open()
	good := c.key(rmw.KindString)
	noName, badKind, badTTL, tinyTTL := good, good, good, good
	noName.Name, badKind.Kind, badTTL.TTL, tinyTTL.TTL = "", 99, -2, 10
	for _, key := range []rmw.Key{noName, badKind, badTTL, tinyTTL} {
		_, err := s.Update(c.Ctx, key, func(context.Context, rmw.Value) (rmw.Value, error) {
			c.Errorf("fn was called for %+v", key)
			return rmw.Value{}, nil
		})
		if !errors.Is(err, rmw.ErrInvalid) {
			c.Errorf("Update with %+v: %v, want ErrInvalid", key, err)
		}
		if _, err := s.Read(c.Ctx, key); !errors.Is(err, rmw.ErrInvalid) {
			c.Errorf("Read with %+v: %v, want ErrInvalid", key, err)
		}
	}
	if _, err := s.Update(c.Ctx, good, nil); !errors.Is(err, rmw.ErrInvalid) {
		c.Errorf("Update with a nil UpdateFunc: %v, want ErrInvalid", err)
	}
	if _, err := s.Update(c.Ctx, good, to(rmw.String("x").WithTTL(-5))); !errors.Is(err, rmw.ErrInvalid) {
		c.Errorf("Update with a negative WithTTL: %v, want ErrInvalid", err)
	}
	c.wantStored(good, rmw.Value{})
}
