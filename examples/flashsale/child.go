package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/proxycompat"
)

// childEnv is the environment variable that makes this program a child.
const childEnv = "UNWATCH_FLASHSALE_CHILD"

// tooMany failures in one process mean that something is broken for good.
const tooMany = 20

// job is what a child does: the first line that it reads.
type job struct {
	plan
	Round   string `json:"round"`
	Process int    `json:"process"`
	Addr    string `json:"addr"`
	Profile string `json:"profile"`
	Key     string `json:"key"`
}

// childMain is the life of a child: it reads its job, prepares itself, waits for a
// second line, and sells. It ends when its stdin does, and so does not outlive its
// parent.
func childMain(stdin io.Reader, stdout, stderr io.Writer) int {
	c := child{out: json.NewEncoder(stdout)}
	if err := c.live(bufio.NewReader(stdin)); err != nil {
		c.report(report{Err: err.Error()})
		say(stderr, "flashsale: %v\n", err)
		return exitBroken
	}
	return exitOK
}

// child is one process that sells.
type child struct {
	job      job
	failures atomic.Int32

	mu  sync.Mutex
	out *json.Encoder
}

// report writes a line. A parent that is gone has closed stdin, too.
func (c *child) report(r report) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = c.out.Encode(r)
}

func (c *child) live(in *bufio.Reader) (err error) {
	line, err := in.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("no job: %w", err)
	}
	if err := json.Unmarshal(line, &c.job); err != nil {
		return fmt.Errorf("job: %w", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	begin := make(chan struct{})
	go func() {
		defer cancel() // the parent is gone, or wants us to be
		if _, err := in.ReadBytes('\n'); err == nil {
			close(begin)
			_, _ = io.Copy(io.Discard, in)
		}
	}()

	profile, err := profileOf(c.job.Profile)
	if err != nil {
		return err
	}
	rdb := newClient(profile, c.job.Addr)
	defer rdb.Close() //nolint:errcheck // nothing depends on it
	shop, err := openShop(c.job, rdb)
	if err != nil {
		return err
	}
	defer func() { // before the client: it gives back what is still locked
		if err = errors.Join(err, shop.close()); err == nil {
			c.report(report{Done: true})
		}
	}()
	if err := rdb.Ping(ctx).Err(); err != nil && ctx.Err() == nil { // dial before it matters
		return err
	}
	c.report(report{Ready: true})
	select {
	case <-begin:
		return c.serve(ctx, shop)
	case <-ctx.Done():
		return nil
	}
}

// newClient returns a client that sends nothing but what the proxy permits.
func newClient(profile *proxycompat.Profile, addr string) *redis.Client {
	rdb := redis.NewClient(proxycompat.Options(profile, addr))
	rdb.AddHook(proxycompat.Hook(profile))
	return rdb
}

// serve lets the workers sell until all orders are answered or ctx ends.
func (c *child) serve(ctx context.Context, shop shop) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var workers sync.WaitGroup
	for w := range c.job.Workers {
		workers.Go(func() {
			think := c.job.thinker(c.job.Process, w)
			for _, o := range c.job.queue(c.job.Process, w) {
				if ctx.Err() != nil {
					return
				}
				if err := c.serveOne(ctx, shop, o, think); err != nil {
					cancel(err)
				}
			}
		})
	}
	workers.Wait()
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

func (c *child) serveOne(ctx context.Context, shop shop, o order, think func(context.Context) error) error {
	thought, began := time.Duration(0), time.Now()
	left, computed, err := shop.buy(ctx, o, func(ctx context.Context) error {
		began := time.Now()
		defer func() { thought += time.Since(began) }()
		return think(ctx)
	})
	r := receipt{No: o.No, Fate: fateOf(err), Computed: computed, Took: time.Since(began), Thought: thought}
	if r.Fate == sold {
		r.Left = left
	}
	if r.Fate == failed && ctx.Err() != nil {
		r.Fate = stopped
	}
	broken := r.Fate == failed || r.Fate == unclear
	if broken {
		r.Err = err.Error()
	}
	c.report(report{Receipt: &r})
	if broken && c.failures.Add(1) == tooMany {
		return fmt.Errorf("given up after %d failed orders, the last: %w", tooMany, err)
	}
	return nil
}
