package lockupdate_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
)

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

// Another process that takes both locks, in any order, never sees half of the move.
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
