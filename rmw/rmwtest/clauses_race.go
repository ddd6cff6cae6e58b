package rmwtest

import (
	"context"
	"fmt"
	"sync"

	"github.com/unwatch/unwatch/rmw"
)

func raceClauses() []Clause {
	return []Clause{
		{Name: "guard", Says: "A value that changed behind fn's back, in anything fn has read, is never overwritten: fn is called again with it.", run: checkGuard},
		{Name: "no-lost-update", Says: "Of many writers' updates to one key, some of whom heed no lock, each acknowledged one is there once.", run: checkNoLostUpdate},
		{Name: "hash-fields-survive", Says: "Fields of a hash that fn did not touch survive, also those that others add meanwhile.", run: checkHashFieldsSurvive},
		{Name: "read-is-fresh", Says: "Read and fn see every update acknowledged before, by whomever.", run: checkReadIsFresh},
		{Name: "keys-are-apart", Says: "A long update of one key does not hold up another key.", run: checkKeysAreApart},
	}
}

func checkGuard(c *check) {
	s := c.Open()
	for _, kind := range c.kinds() {
		key := c.key(kind)
		first, second := samples(kind)
		for _, before := range []rmw.Value{first, {}} {
			c.put(key, before, rmw.NoTTL)
			calls := 0
			res := c.update(s, key, func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
				calls++
				if calls == 1 {
					c.put(key, second, rmw.NoTTL)
				}
				cur.Len() // of a hash, too, it is the whole that fn goes by
				return adder(kind, "mine")(ctx, cur)
			})
			if calls != 2 || res.Attempts != 2 || res.Waited < 0 {
				c.errorf("fn was called %d times, want 2; Result: attempts=%d waited=%v", calls, res.Attempts, res.Waited)
			}
			want, _ := adder(kind, "mine")(c.ctx, second)
			c.wantStored(key, want)
		}
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
					if _, err := opened[w%stores].Update(c.ctx, key, fn); err != nil {
						c.errorf("writer %d, update %d: %v", w, i, err)
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
			if err := c.Direct.Append(c.ctx, key, id); err != nil {
				return rmw.Value{}, err
			}
			*acked = append(*acked, id)
		}
		return fn(ctx, cur)
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
		c.errorf("Result does not tell what the hash held when it was written: before %v, after %v", res.Before, res.After)
	}
}

func checkReadIsFresh(c *check) {
	a, b := c.Open(), c.Open()
	for _, kind := range c.kinds() {
		key := c.key(kind)
		for i := range 20 {
			id := fmt.Sprint("n", i)
			c.update(a, key, adder(kind, id))
			got, err := b.Read(c.ctx, key)
			if err != nil {
				c.fatalf("Read: %v", err)
			}
			if ids(got)[id] != 1 {
				c.errorf("Read does not see an update acknowledged before it")
			}
			c.update(b, key, func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
				if ids(cur)[id] != 1 {
					c.errorf("fn does not see an update acknowledged before it")
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
			_, err := s.Update(c.ctx, other, to(rmw.String("x")))
			done <- err
		}()
		if err := <-done; err != nil {
			c.errorf("Update of the other key: %v", err)
		}
		return cur, nil
	})
	c.wantStored(other, rmw.String("x"))
}
