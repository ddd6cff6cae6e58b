// Flashsale sells the stock of one item from several processes at once, through a Codis-style proxy: first with GET
// and SET, then with package lockupdate. Then it compares each order with the stored value. The proxy runs in this
// process, and each selling process is a client with a store of its own. It needs no server:
//
//	go run ./examples/flashsale
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
)

func main() {
	proxy, err := proxytest.Start(proxytest.Config{})
	if err == nil {
		err = run(context.Background(), size{400, 3, 8}, proxy, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "flashsale:", err)
		os.Exit(1)
	}
}

// run plays both rounds. It fails if lockupdate made a mistake, or the negative control made none.
func run(ctx context.Context, of size, proxy *proxytest.Proxy, stdout io.Writer) error {
	naive, err := play(ctx, of, proxy, true)
	if err != nil {
		return err
	}
	unwatch, err := play(ctx, of, proxy, false)
	if err != nil {
		return err
	}
	return show(stdout, of, naive, unwatch)
}

// show prints one column of figures per round, then the verdict.
func show(stdout io.Writer, of size, naive, unwatch figures) error {
	line := func(format string, args ...any) { fmt.Fprintf(stdout, format, args...) } //nolint:errcheck // stdout
	line("Flash sale of %d items: %d orders, served by %d processes with %d workers each, behind codis\n\n%-44s %12s %12s\n",
		of.stock, demand*of.stock, of.processes, of.workers, "", "GET and SET", "lockupdate")
	for i, name := range names {
		line("%-44s %12d %12d\n", name, naive[i], unwatch[i])
	}
	none := figures{}
	switch {
	case !slices.Equal(unwatch[oversold:], none[oversold:]):
		return errors.New("lockupdate broke a promise")
	case slices.Equal(naive[oversold:], none[oversold:]):
		return errors.New("GET and SET, the negative control, made no mistake: this run shows nothing; run it again")
	}
	line("\nlockupdate sold %d items, each once. Every order told \"sold\" is stored once.\n", of.stock)
	return nil
}

// play sells the stock from several processes, and audits the stored value.
func play(ctx context.Context, of size, proxy *proxytest.Proxy, control bool) (f figures, err error) {
	if err := proxy.Engine(0).Set(key, fmt.Sprintf(`{"left":%d}`, of.stock)); err != nil {
		return f, err
	}
	told := make([]receipt, demand*of.stock)
	var workers, reading sync.WaitGroup
	reading.Add(of.processes * of.workers)
	began := time.Now()
	for n := range of.processes {
		rdb := redis.NewClient(proxy.Options()) // for a real proxy: proxycompat.Options
		defer rdb.Close()                       //nolint:errcheck // nothing depends on it
		store := lockupdate.New(rdb, lockupdate.Config{})
		defer func() { err = errors.Join(err, store.Close()) }()
		for w := range of.workers {
			workers.Go(func() {
				think := pause
				if control { // no worker writes before all have read: a busy machine may run one after the other
					think = func() { reading.Done(); reading.Wait() }
				}
				for no := n + w*of.processes; no < len(told); no += of.processes * of.workers {
					r, began := &told[no], time.Now()
					if control {
						r.left, r.err = naive(ctx, rdb, orderOf(no), think)
					} else {
						r.left, r.err = unwatch(ctx, store, orderOf(no), think)
					}
					r.wait, think = time.Since(began), pause
				}
			})
		}
	}
	workers.Wait()
	took := time.Since(began)
	for no, r := range told {
		if r.err != nil && !errors.Is(r.err, errSoldOut) && !errors.Is(r.err, errBoughtBefore) {
			return f, fmt.Errorf("order %d: %w", no, r.err)
		}
	}
	var stored sale
	text, err := proxy.Engine(0).Get(key)
	err = cmp.Or(err, json.Unmarshal([]byte(text), &stored))
	return judge(of.stock, told, took, stored), err
}

// pause takes 0.5 to 1.5 ms: long enough for another worker to come in between.
func pause() { time.Sleep(500*time.Microsecond + rand.N(time.Millisecond)) }

// naive reads, thinks and writes. It is right as long as nothing else writes. think stands for the work of a real
// shop: prices, vouchers, limits. The result is the stock afterwards.
func naive(ctx context.Context, rdb *redis.Client, o order, think func()) (int, error) {
	var s sale
	raw, err := rdb.Get(ctx, key).Bytes()
	think()
	if err = cmp.Or(err, json.Unmarshal(raw, &s)); err == nil {
		err = s.sell(o)
	}
	if err != nil {
		return 0, err
	}
	raw, _ = json.Marshal(s) // never fails
	return s.Left, rdb.Set(ctx, key, raw, 0).Err()
}

// unwatch does the same in one Edit.
func unwatch(ctx context.Context, store rmw.Store, o order, think func()) (int, error) {
	sales := rmw.NewTyped(store, rmw.JSON[sale]())
	s, _, err := sales.Edit(ctx, rmw.Key{Name: key}, func(_ context.Context, s *sale, _ bool) error {
		think()
		return s.sell(o) // an error writes nothing, and Edit returns it
	})
	return s.Left, err
}
