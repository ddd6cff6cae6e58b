package rmwtest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/unwatch/unwatch/rmw"
)

func checkTxManyKeys(c *check) {
	s := c.Open()
	for _, n := range []int{1, 2, 7, rmw.MaxTxKeys} {
		keys := c.keysOf(n)
		c.transact(s, addAll("x", keys...), append(keys, keys[0])...)
		for _, key := range keys {
			c.wantIDs(key, []string{"x"})
		}
	}
	keys := c.keysOf(rmw.MaxTxKeys + 1)
	for _, named := range []int{1, len(keys)} {
		if _, err := rmw.Transact(c.Ctx, s, addAll("x", keys...), keys[:named]...); !errors.Is(err, rmw.ErrInvalid) {
			c.Errorf("%d keys: %v, want ErrInvalid", len(keys), err)
		}
	}
	for _, key := range keys {
		c.wantStored(key, rmw.Value{})
	}
}

func checkTxKinds(c *check) {
	s := c.Open()
	if len(c.kinds()) < 2 {
		return
	}
	text, hash := c.key(rmw.KindString), c.key(rmw.KindHash)
	words, fields := rmw.String("x"), rmw.Hash(map[string]string{"x": "y"})
	c.put(text, words, rmw.NoTTL)
	c.put(hash, fields, rmw.NoTTL)
	wrong := rmw.Key{Name: hash.Name}
	refuse := func(what string, want error, fn rmw.TxFunc, keys ...rmw.Key) {
		_, err := rmw.Transact(c.Ctx, s, fn, keys...)
		if !errors.Is(err, want) {
			c.Errorf("%s: %v, want %v", what, err, want)
		}
		c.wantStored(text, words)
		c.wantStored(hash, fields)
	}
	change := func(_ context.Context, tx *rmw.Tx) error { tx.Put(text, rmw.String("changed")); return nil }
	refuse("a named key of another kind", rmw.ErrWrongKind, change, text, wrong)
	refuse("a further key of another kind", rmw.ErrWrongKind, func(ctx context.Context, tx *rmw.Tx) error {
		tx.Get(wrong)
		return change(ctx, tx)
	}, text)
	refuse("a Put of another kind", rmw.ErrWrongKind, func(ctx context.Context, tx *rmw.Tx) error {
		tx.Put(hash, words)
		return change(ctx, tx)
	}, text, hash)
	refuse("two mentions of two kinds", rmw.ErrInvalid, change, text, rmw.Key{Name: text.Name, Kind: rmw.KindHash})
}

func checkTxLarge(c *check) {
	s := c.Open()
	a, b := c.key(rmw.KindString), c.key(rmw.KindString)
	large := rmw.String(strings.Repeat("0123456789abcdef", 3<<16)) // 3 MiB
	fn := func(_ context.Context, tx *rmw.Tx) error {
		tx.Put(a, rmw.String(tx.Get(a).Text()+large.Text()))
		tx.Put(b, rmw.String("x"))
		return nil
	}
	c.transact(s, fn, a, b)
	c.transact(s, fn, a, b)
	c.wantStored(a, rmw.String(large.Text()+large.Text()))
	_, err := rmw.Transact(c.Ctx, s, func(_ context.Context, tx *rmw.Tx) error {
		tx.Put(b, rmw.String(strings.Repeat("x", rmw.MaxTxBytes)))
		tx.Put(a, rmw.String("x"))
		return nil
	}, a, b)
	if !errors.Is(err, rmw.ErrInvalid) {
		c.Errorf("too many bytes: %v, want ErrInvalid", err)
	}
	c.wantStored(b, rmw.String("x"))
}

func checkTxMisuse(c *check) {
	s := c.Open()
	a, b := c.key(rmw.KindString), c.key(rmw.KindString)
	put := addAll("x", a, b)
	within := func(inner func(ctx context.Context) error) rmw.TxFunc {
		return func(ctx context.Context, tx *rmw.Tx) error {
			_ = put(ctx, tx)
			return inner(ctx)
		}
	}
	both := func(ctx context.Context, tx *rmw.Tx) error {
		var wg sync.WaitGroup
		for range 50 {
			for range 2 {
				wg.Go(func() { tx.Get(c.key(rmw.KindString)) })
			}
			wg.Wait()
		}
		return put(ctx, tx)
	}
	for what, call := range map[string]func() error{
		"no key": func() error { _, err := rmw.Transact(c.Ctx, s, put); return err },
		"no fn":  func() error { _, err := rmw.Transact(c.Ctx, s, nil, a, b); return err },
		"a Transact within": func() error {
			_, err := rmw.Transact(c.Ctx, s, within(func(ctx context.Context) error {
				_, err := rmw.Transact(ctx, s, put, a)
				return err
			}), a, b)
			return err
		},
		"an Update of a key within": func() error {
			_, err := rmw.Transact(c.Ctx, s, within(func(ctx context.Context) error {
				_, err := s.Update(ctx, b, addID("x"))
				return err
			}), a, b)
			return err
		},
		"two goroutines": func() error { _, err := rmw.Transact(c.Ctx, s, both, a, b); return err },
	} {
		if err := call(); !errors.Is(err, rmw.ErrInvalid) {
			c.Errorf("%s: %v, want ErrInvalid", what, err)
		}
	}
	c.wantStored(a, rmw.Value{})
	c.wantStored(b, rmw.Value{})
	var kept *rmw.Tx
	c.transact(s, func(_ context.Context, tx *rmw.Tx) error { kept = tx; return nil }, a)
	defer func() {
		if recover() == nil {
			c.Errorf("a Tx could be used after fn had returned")
		}
	}()
	kept.Get(a)
}

func checkTxIsFresh(c *check) {
	a, b := c.Open(), c.Open()
	keys := c.keysOf(2)
	for i := range 10 {
		single, both := fmt.Sprint("s", i), fmt.Sprint("b", i)
		c.update(a, keys[0], adder(keys[0].Kind, single))
		c.transact(b, func(ctx context.Context, tx *rmw.Tx) error {
			if ids(tx.Get(keys[0]))[single] != 1 {
				c.Errorf("fn does not see an update acknowledged before it")
			}
			return addAll(both, keys...)(ctx, tx)
		}, keys...)
		for _, key := range keys {
			v, err := a.Read(c.Ctx, key)
			if err != nil || ids(v)[both] != 1 {
				c.Errorf("Read does not see a Transact acknowledged before it: %v", err)
			}
		}
	}
}
