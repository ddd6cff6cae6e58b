package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// round is one sale, from the first order to the last.
type round struct {
	name string
	plan plan

	receipts map[int]receipt // by the order's number
	stored   sale            // what is there afterwards
	took     time.Duration
	finished bool // all orders were answered
	audited  bool // stored and audit are known
	audit    audit
	leftover error // what could not be deleted, or nil
}

// playRound holds a sale in processes of its own, and audits it; also one that
// did not finish, whose error it then returns.
func playRound(ctx context.Context, cfg config, s *stage, name string) (*round, error) {
	r := &round{
		name: name, receipts: map[int]receipt{},
		plan: plan{cfg.seed, cfg.stock, cfg.processes, cfg.workers},
	}
	key := s.key(name)
	if err := s.open(ctx, key, cfg.stock); err != nil {
		return r, err
	}
	limited, cancel := context.WithTimeoutCause(ctx, cfg.timeout,
		fmt.Errorf("the round was not over after %v; use a longer -timeout, or a smaller -stock", cfg.timeout))
	defer cancel()
	err := r.play(limited, cfg, s, key)

	// Also after Ctrl-C: what was sold until then is there to be seen.
	patience := reachable
	if ctx.Err() != nil {
		patience = time.Second
	}
	after, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	var loaded error
	r.stored, loaded = s.load(after, key)
	r.finished, r.audited = err == nil, loaded == nil
	if r.audited {
		r.audit = judge(r.plan, r.receipts, r.stored, r.finished)
	}
	r.leftover = s.clear(after, key)
	return r, errors.Join(err, loaded)
}

// play starts the processes, lets them begin together, and collects what they
// report until the last one has ended.
func (r *round) play(ctx context.Context, cfg config, s *stage, key string) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	g := gate{missing: cfg.processes}
	var mu sync.Mutex
	heard := func(rep report) {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case rep.Ready:
			g.ready()
		case rep.Receipt != nil:
			r.receipts[rep.Receipt.No] = *rep.Receipt
			r.took = time.Since(g.opened)
			s.forget()
		}
	}
	var following sync.WaitGroup
	for n := range cfg.processes {
		p, err := startProcess(ctx, job{
			plan: r.plan, Round: r.name, Process: n, Addr: s.addr, Profile: cfg.named, Key: key,
		})
		if err != nil {
			cancel(fmt.Errorf("start process %d: %w", n+1, err))
			break
		}
		if cfg.started != nil {
			cfg.started(p.cmd.Process.Pid)
		}
		mu.Lock()
		g.waiting = append(g.waiting, p)
		mu.Unlock()
		following.Go(func() {
			if err := p.follow(heard); err != nil {
				cancel(err) // without one process there is no round
			}
		})
	}
	following.Wait()
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case len(r.receipts) != len(r.plan.orders()):
		return fmt.Errorf("%d of %d orders were answered", len(r.receipts), len(r.plan.orders()))
	}
	return nil
}

// gate lets the processes begin together, so that none sells all while another
// still starts.
type gate struct {
	missing int
	waiting []*process
	opened  time.Time
}

func (g *gate) ready() {
	if g.missing--; g.missing > 0 {
		return
	}
	g.opened = time.Now()
	for _, p := range g.waiting {
		p.begin()
	}
}
