package rmwtest

import (
	"context"
	"fmt"
	"sync"

	"github.com/unwatch/unwatch/rmw"
)

func raceClauses() []Clause {
	return []Clause{
		{Name: "no-lost-update", Says: "Of many writers' updates to one key, some of which heed no lock, each acknowledged one is there once.", run: checkNoLostUpdate},
		{Name: "read-is-fresh", Says: "Read and fn see every update acknowledged before, by whomever.", run: checkReadIsFresh},
		{Name: "keys-are-apart", Says: "A long update of one key does not hold up another key.", run: checkKeysAreApart},
		{Name: "nested", Says: "fn may update many other keys, also within updates of several more.", run: checkNested},
	}
}

func checkNoLostUpdate(c *check) {
	const stores, writers, each = 3, 6, 20
	for _, kind := range c.kinds() {
		key := c.key(kind)
		opened := make([]rmw.Store, stores)
		for i := range opened {
			opened[i] = c.Open()
		}
		var wg sync.WaitGroup
		acked := make([][]string, writers)
		for w := range writers {
			wg.Go(func() {
				for i := range each {
					id := fmt.Sprintf("w%d-%d", w, i)
					fn := adder(kind, id)
					if i%5 == 0 {
						fn = c.beside(key, &acked[w], id+"-beside", fn)
					}
					if _, err := opened[w%stores].Update(c.Ctx, key, fn); err != nil {
						c.Errorf("writer %d, update %d: %v", w, i, err)
						return
					}
					acked[w] = append(acked[w], id)
				}
			})
		}
		wg.Wait()
		var all []string
		for _, a := range acked {
			all = append(all, a...)
		}
		c.wantIDs(key, all)
	}
}

// beside has one more id stored while fn runs the first time, by a process that
// heeds no lock.
func (c *check) beside(key rmw.Key, acked *[]string, id string, fn rmw.UpdateFunc) rmw.UpdateFunc {
	stored := false
	return func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
		if !stored {
			stored = true
			if err := c.Direct.Append(c.Ctx, key, id); err != nil {
				return rmw.Value{}, err
			}
			*acked = append(*acked, id)
		}
		return fn(ctx, cur)
	}
}

func checkReadIsFresh(c *check) {
	a, b := c.Open(), c.Open()
	for _, kind := range c.kinds() {
		key := c.key(kind)
		for i := range 20 {
			id := fmt.Sprint("n", i)
			c.update(a, key, adder(kind, id))
			got, err := b.Read(c.Ctx, key)
			if err != nil {
				c.Fatalf("Read: %v", err)
			}
			if ids(got)[id] != 1 {
				c.Errorf("Read does not see an update acknowledged before it")
			}
			c.update(b, key, func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
				if ids(cur)[id] != 1 {
					c.Errorf("fn does not see an update acknowledged before it")
				}
				return cur, nil
			})
		}
	}
}

func checkKeysAreApart(c *check) {
	s := c.Open()
	long, other := c.key(rmw.KindString), c.key(rmw.KindString)
	c.update(s, long, func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
		done := make(chan error, 1)
		go func() {
			_, err := s.Update(c.Ctx, other, to(rmw.String("x")))
			done <- err
		}()
		if err := <-done; err != nil {
			c.Errorf("Update of the other key: %v", err)
		}
		return cur, nil
	})
	c.wantStored(other, rmw.String("x"))
}

// checkNested updates many keys within the updates of several others. A Store that spreads
// its keys over 16 locks waits for a lock that it holds.
func checkNested(c *check) {
	const around, within = 4, 24
	s := c.Open()
	x := rmw.String("x")
	keys := make([]rmw.Key, within)
	for i := range keys {
		keys[i] = c.key(rmw.KindString)
	}
	fn := func(ctx context.Context, _ rmw.Value) (rmw.Value, error) {
		for i, key := range keys[:within] {
			if _, err := s.Update(ctx, key, to(x)); err != nil {
				return x, fmt.Errorf("update %d within %d others: %w", i+1, around, err)
			}
		}
		return x, nil
	}
	for range around {
		key, inner := c.key(rmw.KindString), fn
		keys = append(keys, key)
		fn = func(ctx context.Context, _ rmw.Value) (rmw.Value, error) {
			_, err := s.Update(ctx, key, inner)
			return x, err
		}
	}
	if _, err := fn(c.Ctx, rmw.Value{}); err != nil {
		c.Errorf("%v", err)
	}
	for _, key := range keys {
		c.wantStored(key, x)
	}
}
