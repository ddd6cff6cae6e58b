package rmwtest

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/unwatch/unwatch/rmw"
)

func txClauses() []Clause {
	all := []Clause{
		{Name: "tx-stores-all", run: checkTxStoresAll,
			Says: "A Transact stores every value that fn puts, deletes for the zero Value, writes nothing for a value that is there already, and tells so."},
		{Name: "tx-abort", run: checkTxAbort,
			Says: "If fn fails or panics, that reaches the caller as it is, and nothing is written."},
		{Name: "tx-ttl", run: checkTxTTL,
			Says: "Each key of a Transact keeps, starts or loses its expiry by its own TTL, or by that of the Value."},
		{Name: "tx-late-get", run: checkTxLateGet,
			Says: "fn may get keys whose names it has read, put a key without getting it, and get the value that it has put."},
		{Name: "tx-bank", run: checkTxBank,
			Says: "While transfers and single updates of many processes run, every read of all accounts shows their exact sum."},
		{Name: "tx-write-skew", run: checkTxWriteSkew,
			Says: "Of two updates that each write a key which the other one reads, the second sees the first."},
		{Name: "tx-read-keys-are-guarded", run: checkTxReadKeys,
			Says: "A key that fn only reads must not have changed either: else fn is called again."},
		{Name: "tx-result-is-of-one-moment", run: checkTxOneMoment,
			Says: "Neither an error nor a panic nor a result of values of two moments reaches the caller: fn is called again."},
		{Name: "tx-crossing", run: checkTxCrossing,
			Says: "Updates of overlapping keys in any order all come to an end, and none is lost."},
		{Name: "tx-many-keys", run: checkTxManyKeys,
			Says: "A Transact takes from one key to rmw.MaxTxKeys, also one key twice, and refuses more as ErrInvalid."},
		{Name: "tx-kinds", run: checkTxKinds,
			Says: "A stored value of another kind than its key, and a Put of another kind, are an ErrWrongKind, and nothing is written."},
		{Name: "tx-large", run: checkTxLarge,
			Says: "Values beyond a megabyte are stored together whole, and more than rmw.MaxTxBytes is an ErrInvalid."},
		{Name: "tx-misuse", run: checkTxMisuse,
			Says: "No key, no fn, a Transact or an Update of one of its keys within fn, and two goroutines in a Tx are an ErrInvalid each; nothing is written."},
		{Name: "tx-is-fresh", run: checkTxIsFresh,
			Says: "fn sees each update that was acknowledged before the call, and each later Read and Update sees the values that a Transact has stored."},
		{Name: "tx-faults", NeedsFaults: true, run: checkTxFaults,
			Says: "Whichever command or reply of a Transact is lost, all is stored once or nothing is, the error says which of both, and no key stays blocked."},
		{Name: "tx-late", NeedsFaults: true, run: checkTxLate,
			Says: "Whichever command of a Transact is executed late, its answer stays true: nothing is applied again, or in part."},
		{Name: "tx-ctx-ends", NeedsFaults: true, run: checkTxCtxEnds,
			Says: "Whichever command ctx ends at, or is never answered, Transact returns then, all is stored or nothing is, and the error tells the truth."},
	}
	for i := range all {
		all[i].NeedsTransactor = true
	}
	return all
}

// transact runs a Transact that must succeed.
func (c *check) transact(s rmw.Store, fn rmw.TxFunc, keys ...rmw.Key) rmw.TxResult {
	res, err := rmw.Transact(c.Ctx, s, fn, keys...)
	if err != nil {
		c.Fatalf("Transact: %v", err)
	}
	return res
}

// addAll returns a TxFunc that adds the id to each key.
func addAll(id string, keys ...rmw.Key) rmw.TxFunc {
	return func(ctx context.Context, tx *rmw.Tx) error {
		for _, key := range keys {
			next, err := adder(key.Kind, id)(ctx, tx.Get(key))
			if err != nil {
				return err
			}
			tx.Put(key, next)
		}
		return nil
	}
}

// keysOf returns n keys of the kinds in turn.
func (c *check) keysOf(n int) []rmw.Key {
	keys := make([]rmw.Key, n)
	for i := range keys {
		keys[i] = c.key(c.kinds()[i%len(c.kinds())])
	}
	return keys
}

func checkTxStoresAll(c *check) {
	s := c.Open()
	keys := c.keysOf(4) // to be changed, created, deleted, left
	before, after := make([]rmw.Value, 4), make([]rmw.Value, 4)
	for i, key := range keys {
		before[i], after[i] = samples(key.Kind)
	}
	before[1], after[2], after[3] = rmw.Value{}, rmw.Value{}, before[3]
	for i, key := range keys {
		c.put(key, before[i], rmw.NoTTL)
	}
	res := c.transact(s, func(_ context.Context, tx *rmw.Tx) error {
		for i, key := range keys {
			if got := tx.Get(key); !got.Equal(before[i]) {
				c.Errorf("Get: %s, want %s", show(got), show(before[i]))
			}
			tx.Put(key, after[i])
		}
		return nil
	}, keys...)
	if len(res.Changes) != len(keys) || res.Attempts != 1 || !res.Written() {
		c.Fatalf("%d changes, %d attempts, want 4 and 1", len(res.Changes), res.Attempts)
	}
	for i, key := range keys {
		c.wantStored(key, after[i])
		change := res.Changes[i]
		if change.Key.Name != key.Name || !change.Before.Equal(before[i]) || !change.After.Equal(after[i]) || change.Written != (i < 3) {
			c.Errorf("change %d: %s to %s, written %v, want %s to %s, written %v",
				i, show(change.Before), show(change.After), change.Written, show(before[i]), show(after[i]), i < 3)
		}
	}
	if res := c.transact(s, func(_ context.Context, tx *rmw.Tx) error { tx.Get(keys[0]); return nil }, keys...); res.Written() {
		c.Errorf("a Transact that puts nothing says that it has written")
	}
}

func checkTxAbort(c *check) {
	s := c.Open()
	keys := c.keysOf(2)
	refusal := errors.New("refused")
	put := addAll("x", keys...)
	_, err := rmw.Transact(c.Ctx, s, func(ctx context.Context, tx *rmw.Tx) error {
		if err := put(ctx, tx); err != nil {
			return err
		}
		return refusal
	}, keys...)
	if err != refusal { //nolint:errorlint // it must be that very error
		c.Errorf("Transact: %v, want the error of fn", err)
	}
	func() {
		defer func() {
			if p := recover(); p != "panic of fn" {
				c.Errorf("recovered %v, want the panic of fn", p)
			}
		}()
		_, err := rmw.Transact(c.Ctx, s, func(ctx context.Context, tx *rmw.Tx) error {
			_ = put(ctx, tx)
			panic("panic of fn")
		}, keys...)
		c.Errorf("Transact returned %v after a panic of fn", err)
	}()
	for _, key := range keys {
		c.wantStored(key, rmw.Value{})
		c.usable(key, "other")
	}
}

func checkTxTTL(c *check) {
	const hour = time.Hour
	s := c.Open()
	for _, kind := range c.kinds() {
		first, second := samples(kind)
		keep, start, end, own, none := c.key(kind), c.key(kind), c.key(kind), c.key(kind), c.key(kind)
		start.TTL, end.TTL = hour/2, rmw.NoTTL
		keys := []rmw.Key{keep, start, end, own, none}
		for _, key := range keys {
			c.put(key, first, hour)
		}
		c.transact(s, func(_ context.Context, tx *rmw.Tx) error {
			for _, key := range keys[:3] {
				tx.Put(key, second)
			}
			tx.Put(own, first.WithTTL(hour/4)) // the content is there already
			tx.Put(none, first)
			return nil
		}, keys...)
		c.Pass(soon) // behind the answer, a key may have no expiry for a moment
		for i, want := range []time.Duration{hour, hour / 2, rmw.NoTTL, hour / 4, hour} {
			_, left := c.stored(keys[i])
			if want == rmw.NoTTL && left != want || want > 0 && (left > want || left < want-time.Minute) {
				c.Errorf("key %d has %v left, want %v", i, left, want)
			}
		}
	}
}

func checkTxLateGet(c *check) {
	s := c.Open()
	head, job, log := c.key(rmw.KindString), c.key(rmw.KindString), c.key(rmw.KindString)
	c.put(head, rmw.String(job.Name), rmw.NoTTL)
	c.put(job, rmw.String("ready"), rmw.NoTTL)
	c.put(log, rmw.String("old"), rmw.NoTTL)
	res := c.transact(s, func(_ context.Context, tx *rmw.Tx) error {
		next := rmw.Key{Name: tx.Get(head).Text()}
		if got := tx.Get(next).Text(); got != "ready" {
			c.Errorf("the job is %q, want ready", got)
		}
		tx.Put(next, rmw.String("taken"))
		tx.Put(head, rmw.Value{})
		tx.Put(log, rmw.String("new"))
		if got := tx.Get(next).Text(); got != "taken" {
			c.Errorf("Get after Put: %q, want taken", got)
		}
		return nil
	}, head)
	c.wantStored(head, rmw.Value{})
	c.wantStored(job, rmw.String("taken"))
	c.wantStored(log, rmw.String("new"))
	if n := len(res.Changes); n != 3 || res.Changes[2].Before.Text() != "old" {
		c.Errorf("%d changes, want 3; a Put without a Get reads first", n)
	}
}

// amount is the balance of an account; none is 0.
func amount(v rmw.Value) int {
	n, _ := strconv.Atoi(v.Text())
	return n
}

func money(n int) rmw.Value { return rmw.String(strconv.Itoa(n)) }

// transfer moves n from one account to another.
func transfer(from, to rmw.Key, n int) rmw.TxFunc {
	return func(_ context.Context, tx *rmw.Tx) error {
		tx.Put(from, money(amount(tx.Get(from))-n))
		tx.Put(to, money(amount(tx.Get(to))+n))
		return nil
	}
}

func checkTxBank(c *check) {
	const stores, accounts, workers, each = 3, 6, 6, 15
	opened := make([]rmw.Store, stores)
	for i := range opened {
		opened[i] = c.Open()
	}
	keys := make([]rmw.Key, accounts)
	for i := range keys {
		keys[i] = c.key(rmw.KindString)
		c.put(keys[i], money(100), rmw.NoTTL)
	}
	sum := func(s rmw.Store) int {
		values, err := rmw.ReadAll(c.Ctx, s, keys...)
		if err != nil {
			c.Fatalf("ReadAll: %v", err)
		}
		n := 0
		for _, v := range values {
			n += amount(v)
		}
		return n
	}
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			s := opened[w%stores]
			for i := range each {
				from, to := keys[(w+i)%accounts], keys[(w+2*i+1)%accounts]
				if from.Name == to.Name {
					continue
				}
				move := func(ctx context.Context, tx *rmw.Tx) error {
					defer c.Pass(time.Millisecond) // so that others run meanwhile
					return transfer(from, to, 1+w)(ctx, tx)
				}
				if _, err := rmw.Transact(c.Ctx, s, move, from, to); err != nil {
					c.Errorf("transfer: %v", err)
				}
				if i%5 == 0 { // updates of one key take part as well
					c.single(s, from)
				}
				if n := sum(s); n != accounts*100 {
					c.Errorf("the sum is %d, want %d", n, accounts*100)
				}
			}
		})
	}
	wg.Wait()
	if n := sum(c.Open()); n != accounts*100 {
		c.Errorf("the sum at the end is %d, want %d", n, accounts*100)
	}
}

// single writes an account by an Update that does not change its balance: it pads the number.
func (c *check) single(s rmw.Store, key rmw.Key) {
	c.update(s, key, func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
		return rmw.String(strings.TrimPrefix("0"+cur.Text(), "00")), nil
	})
}

func checkTxWriteSkew(c *check) {
	a, b := c.Open(), c.Open()
	for range 20 {
		x, y := c.key(rmw.KindString), c.key(rmw.KindString)
		c.put(x, money(1), rmw.NoTTL)
		c.put(y, money(1), rmw.NoTTL)
		leave := func(own rmw.Key) rmw.TxFunc { // at least one must stay
			return func(_ context.Context, tx *rmw.Tx) error {
				if amount(tx.Get(x))+amount(tx.Get(y)) > 1 {
					c.Pass(time.Millisecond)
					tx.Put(own, money(0))
				}
				return nil
			}
		}
		var wg sync.WaitGroup
		wg.Go(func() { c.transact(a, leave(x), x, y) })
		wg.Go(func() { c.transact(b, leave(y), x, y) })
		wg.Wait()
		stayed := 0
		for _, key := range []rmw.Key{x, y} {
			v, err := a.Read(c.Ctx, key)
			if err != nil {
				c.Fatalf("Read: %v", err)
			}
			stayed += amount(v)
		}
		if stayed != 1 {
			c.Errorf("%d of 2 have stayed, want 1", stayed)
		}
	}
}

// meanwhile has another process do work during the first call of fn. A Store that holds others off while fn runs delays
// it; fn waits for it no longer than that takes.
func (c *check) meanwhile(work func(), fn rmw.TxFunc) rmw.TxFunc {
	var done <-chan struct{}
	return func(ctx context.Context, tx *rmw.Tx) error {
		if done == nil {
			done = c.Go(work)
			c.Within(soon, done)
		}
		return fn(ctx, tx)
	}
}

func checkTxReadKeys(c *check) {
	s, other := c.Open(), c.Open()
	read, written, dropped := c.key(rmw.KindString), c.key(rmw.KindString), c.key(rmw.KindString)
	c.put(read, rmw.String("old"), rmw.NoTTL)
	res := c.transact(s, c.meanwhile(func() { c.update(other, read, to(rmw.String("new"))) },
		func(_ context.Context, tx *rmw.Tx) error {
			now := tx.Get(read)
			if now.Text() == "old" {
				tx.Put(dropped, now)
			}
			tx.Put(written, now)
			return nil
		}), read, written)
	c.Pass(soon)
	if res.Attempts > 1 {
		c.wantStored(dropped, rmw.Value{}) // only an earlier call of fn has put it
	}
	// Either the other update came first, or it waited for this one.
	got, _ := c.stored(written)
	now, _ := c.stored(read)
	if now.Text() != "new" {
		c.Errorf("the update of the key that was read is lost")
	}
	if got.Text() != "new" {
		c.Errorf("stored from %q, which was overwritten before the Transact ended", got.Text())
	}
}

// checkTxOneMoment has another process move an amount between the reads of two accounts.
func checkTxOneMoment(c *check) {
	torn := errors.New("torn")
	for _, ending := range []string{"error", "panic", "result"} {
		s, other := c.Open(), c.Open()
		named, x, y := c.key(rmw.KindString), c.key(rmw.KindString), c.key(rmw.KindString)
		c.put(x, money(5), rmw.NoTTL)
		c.put(y, money(5), rmw.NoTTL)
		moved := false
		fn := func(_ context.Context, tx *rmw.Tx) (int, error) {
			a := amount(tx.Get(x))
			if !moved {
				moved = true
				c.Within(soon, c.Go(func() { c.transact(other, transfer(x, y, 3), x, y) }))
			}
			sum := a + amount(tx.Get(y))
			switch {
			case sum != 10 && ending == "error":
				return 0, torn
			case sum != 10 && ending == "panic":
				panic(torn)
			}
			return sum, nil
		}
		func() {
			defer func() {
				if p := recover(); p != nil {
					c.Errorf("%s: a panic of values of two moments passed through", ending)
				}
			}()
			if sum, err := rmw.TransactFor(c.Ctx, s, fn, named); err != nil || sum != 10 {
				c.Errorf("%s: sum %d, %v, want 10", ending, sum, err)
			}
		}()
	}
}

func checkTxCrossing(c *check) {
	const workers, each = 4, 12
	keys := c.keysOf(4)
	opened := []rmw.Store{c.Open(), c.Open()}
	acked := make([][]string, workers)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := range each {
				id := fmt.Sprintf("w%d-%d", w, i)
				order := []rmw.Key{keys[w], keys[(w+1)%4], keys[(w+2)%4]}
				if i%2 == 1 {
					order[0], order[2] = order[2], order[0]
				}
				if _, err := rmw.Transact(c.Ctx, opened[w%2], addAll(id, order...), order[:1+i%3]...); err != nil {
					c.Errorf("worker %d, update %d: %v", w, i, err)
					return
				}
				acked[w] = append(acked[w], id)
			}
		})
	}
	wg.Wait()
	for k, key := range keys {
		var want []string
		for w := range workers {
			if (k-w+4)%4 < 3 {
				want = append(want, acked[w]...)
			}
		}
		c.wantIDs(key, want)
	}
}
