package lockupdate_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
)

// A counter behind a Codis proxy, which proxytest emulates in this process. Only the client options
// and the call of New depend on the path.
func Example() {
	proxy, err := proxytest.Start(proxytest.Config{Profile: proxycompat.Codis32(), InMemory: true})
	if err != nil {
		panic(err)
	}
	defer proxy.Close()
	rdb := redis.NewClient(proxy.Options()) // for a real proxy: proxycompat.Options(proxycompat.Codis32(), addr)
	defer rdb.Close()

	store := lockupdate.New(rdb, lockupdate.Config{})
	ctx := context.Background()
	for range 3 {
		res, err := store.Update(ctx, rmw.Key{Name: "visits"}, func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
			n, _ := strconv.Atoi(cur.Text()) // an absent key counts as 0
			return rmw.String(strconv.Itoa(n + 1)), nil
		})
		if err != nil {
			panic(err)
		}
		fmt.Println(res.After.Text(), "after", res.Attempts, "attempt")
	}

	// Close waits until every lock is released: call it before the client's.
	fmt.Println(store.Close())
	_, err = store.Read(ctx, rmw.Key{Name: "visits"})
	fmt.Println(errors.Is(err, rmw.ErrClosed))

	// Output:
	// 1 after 1 attempt
	// 2 after 1 attempt
	// 3 after 1 attempt
	// <nil>
	// true
}

// A service probes the server once at startup. Here the server is Pika without Lua, behind a Codis
// proxy.
func ExampleProbe() {
	proxy, err := proxytest.Start(proxytest.Config{Store: proxytest.Pika, InMemory: true})
	if err != nil {
		panic(err)
	}
	defer proxy.Close()
	rdb := redis.NewClient(proxy.Options())
	defer rdb.Close()

	commit, err := lockupdate.Probe(context.Background(), rdb)
	fmt.Println(commit, err)
	sent, _ := lockupdate.Config{Commit: commit}.RequiredCommands()
	fmt.Println(sent)
	store := lockupdate.New(rdb, lockupdate.Config{Commit: commit})
	defer store.Close()

	// Output:
	// VX <nil>
	// [DELVX GET PTTL SET TYPE]
}

// fn gets the stored text and returns the new one. If fn fails, nothing is written, and the caller
// gets its error. The zero Value deletes the key.
func ExampleStore_Update_string() {
	store, _, stop := engine(lockupdate.Config{})
	defer stop()
	ticket, errClosed := rmw.Key{Name: "ticket:7"}, errors.New("the ticket is closed")
	set := func(text string) rmw.UpdateFunc {
		return func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
			if cur.Text() == "closed" {
				return cur, errClosed
			}
			return rmw.String(text), nil
		}
	}
	for _, state := range []string{"open", "closed", "open"} {
		res, err := store.Update(context.Background(), ticket, set(state))
		fmt.Printf("%q %v\n", res.After.Text(), err)
	}
	res, err := store.Update(context.Background(), ticket, func(context.Context, rmw.Value) (rmw.Value, error) {
		return rmw.Value{}, nil
	})
	fmt.Println("exists:", res.After.Exists(), err)

	// Output:
	// "open" <nil>
	// "closed" <nil>
	// "" the ticket is closed
	// exists: false <nil>
}

// A hash whose expiry starts again with each write. Fields that fn does not name are kept. Another
// process may change them without a conflict.
func ExampleStore_Update_hash() {
	store, _, stop := engine(lockupdate.Config{})
	defer stop()
	ctx := context.Background()
	session := rmw.Key{Name: "session:7", Kind: rmw.KindHash, TTL: 30 * time.Minute}
	for _, page := range []string{"home", "cart"} {
		_, err := store.Update(ctx, session, func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
			visits, _ := cur.Field("visits") // "" if the field or the key is absent
			n, _ := strconv.Atoi(visits)
			return cur.With("visits", strconv.Itoa(n+1)).With("page", page), nil
		})
		fmt.Println(err)
	}
	v, left, err := store.Peek(ctx, session)
	fmt.Println(v.Fields(), left.Round(time.Minute), err)

	// Output:
	// <nil>
	// <nil>
	// map[page:cart visits:2] 30m0s <nil>
}

// The reply to a commit is lost, so the update may be stored or not. The value contains the ids of
// its deposits. So a read finds out, and a second Update with the same id does not count twice.
func ExampleStore_Update_outcomeUnknown() {
	store, proxy, stop := engine(lockupdate.Config{})
	defer stop()
	ctx, key := context.Background(), rmw.Key{Name: "account:7"}
	type Account struct {
		Balance int
		Applied []string // the latest ids, in production a bounded number
	}
	accounts := rmw.NewTyped(store, rmw.JSON[Account]())
	deposit := func(id string, amount int) error {
		_, _, err := accounts.Edit(ctx, key, func(_ context.Context, a *Account, _ bool) error {
			if slices.Contains(a.Applied, id) {
				return rmw.Keep // stored before
			}
			a.Balance += amount
			a.Applied = append(a.Applied, id)
			return nil
		})
		return err
	}
	fmt.Println(deposit("request-1", 10))

	commit := func(args []string) bool {
		return slices.Contains(args, key.Name) && strings.Contains(strings.Join(args, " "), "request-2")
	}
	proxy.Inject(proxytest.Fault{Match: commit, Action: proxytest.DropReply})
	err := deposit("request-2", 5)
	fmt.Println("unknown:", errors.Is(err, rmw.ErrOutcomeUnknown))

	const pause = time.Millisecond // in production seconds: a proxy may execute the commit late
	<-time.After(pause)
	account, _, err := accounts.Get(ctx, key)
	fmt.Println("stored:", slices.Contains(account.Applied, "request-2"), err)

	fmt.Println(deposit("request-2", 5)) // has no effect if it was stored
	account, _, err = accounts.Get(ctx, key)
	fmt.Println("balance:", account.Balance, err)

	// Output:
	// <nil>
	// unknown: true
	// stored: true <nil>
	// <nil>
	// balance: 15 <nil>
}

// Without contention no lock is taken. If another process writes between read and commit, the guard
// refuses the commit, and the update continues under the lock.
func Example_lockOnDemand() {
	cfg := lockupdate.Config{LockOnDemand: true}
	store, proxy, stop := engine(cfg)
	defer stop()
	rdb := redis.NewClient(proxy.Options())
	defer rdb.Close()
	other := lockupdate.New(rdb, cfg) // another process
	defer other.Close()

	ctx, counter := context.Background(), rmw.Key{Name: "visits"}
	add := func(n int) rmw.UpdateFunc {
		return func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
			before, _ := strconv.Atoi(cur.Text())
			return rmw.String(strconv.Itoa(before + n)), nil
		}
	}
	res, err := store.Update(ctx, counter, add(1))
	fmt.Println(res.After.Text(), "attempts:", res.Attempts, "locks taken:", store.Stats().Acquired, err)

	interrupted := false
	res, err = store.Update(ctx, counter, func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
		if !interrupted {
			interrupted = true
			if _, err := other.Update(context.Background(), counter, add(10)); err != nil {
				return cur, err
			}
		}
		return add(1)(ctx, cur)
	})
	fmt.Println(res.After.Text(), "attempts:", res.Attempts, "locks taken:", store.Stats().Acquired, err)

	// Output:
	// 1 attempts: 1 locks taken: 0 <nil>
	// 12 attempts: 2 locks taken: 1 <nil>
}

// engine returns a Store behind a Codis proxy in this process, and that proxy.
func engine(cfg lockupdate.Config) (store *lockupdate.Store, proxy *proxytest.Proxy, stop func()) {
	proxy, err := proxytest.Start(proxytest.Config{Profile: proxycompat.Codis32(), InMemory: true})
	if err != nil {
		panic(err)
	}
	rdb := redis.NewClient(proxy.Options())
	store = lockupdate.New(rdb, cfg)
	return store, proxy, func() { _ = errors.Join(store.Close(), rdb.Close(), proxy.Close()) }
}

func put(text string) rmw.UpdateFunc {
	return func(context.Context, rmw.Value) (rmw.Value, error) { return rmw.String(text), nil }
}

// WithLock protects work that is more than one Update. The inner Update runs under the held lock,
// because it gets fn's ctx.
func ExampleStore_WithLock() {
	store, _, stop := engine(lockupdate.Config{})
	defer stop()
	invoice := rmw.Key{Name: "invoice:7"}
	err := store.WithLock(context.Background(), invoice.Name, func(ctx context.Context) error {
		cur, err := store.Read(ctx, invoice)
		if err != nil || cur.Text() == "sent" {
			return err
		}
		fmt.Println("sending a mail") // by one process only, unless it stalls past its lease
		_, err = store.Update(ctx, invoice, put("sent"))
		return err
	})
	fmt.Println(err)
	v, err := store.Read(context.Background(), invoice)
	fmt.Println(v.Text(), err)
	// Output:
	// sending a mail
	// <nil>
	// sent <nil>
}

// The head of a queue names the job, so that fn reads it late. The queue and the job are on different servers of the proxy, and
// change together.
func ExampleStore_Transact() {
	store, _, stop := engine(lockupdate.Config{})
	defer stop()
	ctx, queue, done := context.Background(), rmw.Key{Name: "queue"}, rmw.Key{Name: "done"}
	for key, text := range map[rmw.Key]string{queue: "7 8", {Name: "job:7"}: "open", {Name: "job:8"}: "open"} {
		if _, err := store.Update(ctx, key, put(text)); err != nil {
			panic(err)
		}
	}
	take := func() (string, error) {
		return rmw.TransactFor(ctx, store, func(_ context.Context, tx *rmw.Tx) (string, error) {
			head, rest, _ := strings.Cut(tx.Get(queue).Text(), " ")
			if head == "" {
				return "", errors.New("the queue is empty")
			}
			job := rmw.Key{Name: "job:" + head}
			if state := tx.Get(job).Text(); state != "open" {
				return "", fmt.Errorf("job %s is %q", head, state)
			}
			tx.Put(queue, rmw.String(rest))
			tx.Put(job, rmw.String("taken"))
			tx.Put(done, rmw.String(tx.Get(done).Text()+head))
			return head, nil
		}, queue, done)
	}
	for range 3 {
		fmt.Println(take())
	}
	values, err := rmw.ReadAll(ctx, store, queue, done, rmw.Key{Name: "job:8"})
	fmt.Printf("%q %q %q %v\n", values[0].Text(), values[1].Text(), values[2].Text(), err)

	// Output:
	// 7 <nil>
	// 8 <nil>
	//  the queue is empty
	// "" "78" "taken" <nil>
}

// A process that takes both locks, in any order, does not see half of the move while this process lives. A process that dies
// between the two updates leaves the book on both shelves. A Read without the locks sees it on both, too. Transact has neither
// fault.
func ExampleStore_WithLocks() {
	store, _, stop := engine(lockupdate.Config{})
	defer stop()
	from, to := rmw.Key{Name: "shelf:b"}, rmw.Key{Name: "shelf:a"}
	_, err := store.Update(context.Background(), from, put("a book"))
	fmt.Println(err)
	err = store.WithLocks(context.Background(), []string{from.Name, to.Name}, func(ctx context.Context) error {
		book, err := store.Read(ctx, from)
		if err != nil {
			return err
		}
		if _, err := store.Update(ctx, to, put(book.Text())); err != nil {
			return err
		}
		_, err = store.Update(ctx, from, func(context.Context, rmw.Value) (rmw.Value, error) { return rmw.Value{}, nil })
		return err
	})
	fmt.Println(err)
	for _, shelf := range []rmw.Key{from, to} {
		v, err := store.Read(context.Background(), shelf)
		fmt.Println(shelf.Name, v.Exists(), v.Text(), err)
	}
	// Output:
	// <nil>
	// <nil>
	// shelf:b false  <nil>
	// shelf:a true a book <nil>
}

// A job that one process does: the first to take the lock.
func ExampleStore_TryLock() {
	store, _, stop := engine(lockupdate.Config{})
	defer stop()
	ctx := context.Background()
	job := func(context.Context) error { fmt.Println("cleaning up"); return nil }
	err := store.TryLock(ctx, "job:cleanup", func(ctx context.Context) error {
		// The ctx of fn holds the lock. Without it, TryLock acts like another process.
		err := store.TryLock(context.Background(), "job:cleanup", job)
		fmt.Println(errors.Is(err, rmw.ErrContended), err)
		return job(ctx)
	})
	fmt.Println(err)
	// Output:
	// true lockupdate: lock "job:cleanup": contended: other writers kept the key busy: the lock is taken
	// cleaning up
	// <nil>
}

// An operator asks for the holder of a lock.
func ExampleStore_Inspect() {
	store, _, stop := engine(lockupdate.Config{})
	defer stop()
	ctx := context.Background()
	show := func() {
		h, err := store.Inspect(ctx, "invoice:7")
		if err != nil {
			panic(err)
		}
		fmt.Println("held:", h.Held, "lease ends:", h.Left > 0, "others wait:", h.Waiters)
	}
	show()
	if err := store.WithLock(ctx, "invoice:7", func(context.Context) error { show(); return nil }); err != nil {
		panic(err)
	}
	// Output:
	// held: false lease ends: false others wait: false
	// held: true lease ends: true others wait: false
}
