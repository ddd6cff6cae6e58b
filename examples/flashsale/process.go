package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/lockupdate"
)

// jobEnv is the environment variable that makes this program a selling process; it holds the job.
const jobEnv = "UNWATCH_FLASHSALE_JOB"

// job is the work of one selling process.
type job struct {
	crowd
	Round              string
	Process            int
	Addr, Profile, Key string
}

// arrivals is the suffix of the key that counts the workers that are ready.
const arrivals = ":arrivals"

// answer is the reply to a buyer.
type answer string

const (
	sold         answer = "sold"
	soldOut      answer = "sold out"
	boughtBefore answer = "bought before"
)

// receipt is one answered order.
type receipt struct {
	No         int
	Answer     answer
	Left       int // if sold: the stock afterwards
	Begin, End time.Time
}

// play puts the stock up for sale, sells it from several processes, and audits the stored value.
func play(ctx context.Context, cfg config, rdb *redis.Client, round string) (r result, err error) {
	key := cfg.prefix + round
	raw, _ := json.Marshal(sale{Left: cfg.Stock}) // never fails
	for k, v := range map[string]any{key: raw, key + arrivals: 0} {
		if err := rdb.Set(ctx, k, v, ttl).Err(); err != nil {
			return r, fmt.Errorf("cannot reach the proxy at %s: %w; check that it listens there, and wants no password", cfg.proxy, err)
		}
	}
	defer func() {
		for _, k := range []string{key, key + ":lock", key + arrivals} { // one DEL per key: a proxy may split a longer one
			err = errors.Join(err, rdb.Del(context.WithoutCancel(ctx), k).Err())
		}
	}()
	told, err := sellAll(ctx, cfg, round, key)
	if err != nil {
		return r, fmt.Errorf("round %s: %w", round, err)
	}
	// A script reads from the master; a proxy may send a GET to a replica that is behind.
	text, err := rdb.Eval(ctx, `return redis.call("GET", KEYS[1])`, []string{key}).Text()
	if err != nil {
		return r, fmt.Errorf("read the sale: %w", err)
	}
	var stored sale
	err = json.Unmarshal([]byte(text), &stored)
	return summarize(told, judge(cfg.crowd, told, stored)), err
}

// sellAll runs the processes, and returns all receipts. The first process that fails stops the others.
func sellAll(ctx context.Context, cfg config, round, key string) (told []receipt, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	outputs := make([]bytes.Buffer, cfg.Processes)
	var running sync.WaitGroup
	for n := range outputs {
		running.Go(func() {
			if err := sellIn(ctx, job{cfg.crowd, round, n, cfg.proxy, cfg.profile, key}, &outputs[n]); err != nil {
				cancel(fmt.Errorf("process %d: %w", n+1, err))
			}
		})
	}
	running.Wait()
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	for n := range outputs {
		for line := range bytes.Lines(outputs[n].Bytes()) {
			var r receipt
			err = errors.Join(err, json.Unmarshal(line, &r))
			told = append(told, r)
		}
	}
	if len(told) != demand*cfg.Stock {
		err = errors.Join(err, fmt.Errorf("%d of %d orders were answered", len(told), demand*cfg.Stock))
	}
	return told, err
}

// sellIn runs this program once more as a selling process. Once ctx ends, the process has 2 s to release its locks.
func sellIn(ctx context.Context, j job, stdout *bytes.Buffer) error {
	text, _ := json.Marshal(j) // never fails
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), jobEnv+"="+string(text))
	var stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = stdout, &stderr, 2*time.Second
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	cmd.Cancel = stdin.Close
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%w: %s", err, strings.TrimSpace(stderr.String()))
	}
	return nil
}

// serve sells the orders of one process, and writes a receipt per line. It ends early when stdin does, so that no
// process outlives its parent.
func serve(text string, stdin io.Reader, stdout io.Writer) (err error) {
	var j job
	if err := json.Unmarshal([]byte(text), &j); err != nil {
		return fmt.Errorf("%s: %w", jobEnv, err)
	}
	profile, err := openProfile(j.Profile)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	go func() { _, _ = io.Copy(io.Discard, stdin); cancel(nil) }()
	rdb := newClient(profile, j.Addr)
	defer rdb.Close() //nolint:errcheck // nothing depends on it
	buy := naive(rdb, j.Key)
	if j.Round == unwatchRound {
		// The lock's name begins with the key, and so with the random prefix.
		store := lockupdate.New(rdb, lockupdate.Config{LockName: func(key string) string { return key + ":lock" }})
		defer func() { err = errors.Join(err, store.Close()) }() // releases the locks, so before the client
		buy = unwatch(store, j.Key)
	}
	var workers sync.WaitGroup
	var mu sync.Mutex
	report := func(r receipt) {
		mu.Lock()
		defer mu.Unlock()
		_ = json.NewEncoder(stdout).Encode(r) // a parent that is gone has closed stdin, too
	}
	for w := range j.Workers {
		workers.Go(func() {
			if err := j.work(ctx, w, buy, rdb, report); err != nil && ctx.Err() == nil {
				cancel(err)
			}
		})
	}
	workers.Wait()
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// work serves the orders of one worker, one after the other.
func (j job) work(ctx context.Context, worker int, buy buyer, rdb *redis.Client, report func(receipt)) error {
	for i, o := range j.queue(j.Process, worker) {
		think := pause
		// All workers begin together. The naive ones do so after their first read: otherwise a busy machine may run
		// one worker after the other, and no race shows. The others hold a lock while they think, so they meet
		// before.
		var err error
		if i == 0 && j.Round == naiveRound {
			think = func(ctx context.Context) error { return j.meet(ctx, rdb) }
		} else if i == 0 {
			err = j.meet(ctx, rdb)
		}
		r := receipt{No: o.No, Answer: sold, Begin: time.Now()}
		if err == nil {
			r.Left, err = buy(ctx, o, think)
		}
		r.End = time.Now()
		switch {
		case errors.Is(err, errSoldOut):
			r.Answer = soldOut
		case errors.Is(err, errBoughtBefore):
			r.Answer = boughtBefore
		case err != nil:
			return fmt.Errorf("order %d: %w", o.No, err)
		}
		report(r)
	}
	return nil
}

// meet waits until every worker that has an order is ready.
func (j job) meet(ctx context.Context, rdb *redis.Client) error {
	there, err := rdb.Incr(ctx, j.Key+arrivals).Result()
	for err == nil && there < int64(min(j.Processes*j.Workers, demand*j.Stock)) {
		if err = pause(ctx); err == nil {
			there, err = rdb.Get(ctx, j.Key+arrivals).Int64()
		}
	}
	return err
}

// pause takes 0.5 to 1.5 ms: long enough for another worker to come in between.
func pause(ctx context.Context) error {
	select {
	case <-time.After(500*time.Microsecond + rand.N(time.Millisecond)):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
