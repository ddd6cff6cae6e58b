package main

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/cas"
	"github.com/unwatch/unwatch/examples/rehearsal/internal/wire"
	"github.com/unwatch/unwatch/lockupdate"
)

// path is one way to update rooms.
type path struct {
	name string
	on   endpoint
	open func(rdb *redis.Client, k keys) (s service, closeStore func() error)
}

// byHand is the unchanged legacy service.
func byHand(on endpoint) path {
	return path{"WATCH by hand", on, func(rdb *redis.Client, k keys) (service, func() error) {
		return legacyChat{rdb, k}, func() error { return nil }
	}}
}

// onCAS is the service on the rmw contract, with WATCH underneath.
func onCAS(on endpoint) path {
	return path{"cas", on, func(rdb *redis.Client, k keys) (service, func() error) {
		store := cas.New(rdb, cas.Config{})
		return newChat(store, k), store.Close
	}}
}

// onLock is the service on lockupdate. Only the store differs.
func onLock(on endpoint, name string, cfg lockupdate.Config) path {
	return path{name, on, func(rdb *redis.Client, k keys) (service, func() error) {
		cfg.LockName = k.lock
		store := lockupdate.New(rdb, cfg)
		return newChat(store, k), store.Close
	}}
}

// onLockOnly is the service on the lock alone.
func onLockOnly(on endpoint, name string, cfg lockupdate.Config) path {
	return path{name, on, func(rdb *redis.Client, k keys) (service, func() error) {
		cfg.LockName = k.lock
		store := lockupdate.New(rdb, cfg)
		return newChat(lockOnly{store, rdb}, k), store.Close
	}}
}

// process starts one process of the service.
func (p path) process(k keys, before func(*wire.Process, []wire.Command)) process {
	w := wire.NewProcess(before)
	rdb := p.on.client(w)
	s, closeStore := p.open(rdb, k)
	return process{service: s, wire: w, close: func() {
		_ = closeStore() // waits for releases in flight
		_ = rdb.Close()
	}}
}

// result is the result of one run.
type result struct {
	path   string
	audit  audit
	sent   wire.Stats
	replay *replay
	stalls int
}

// perSecond returns the acknowledged updates per second.
func (r result) perSecond() float64 {
	return float64(r.audit.Acknowledged) / max(r.replay.took.Seconds(), 1e-9)
}

// per divides by the number of acknowledged updates.
func (r result) per(n int) string {
	if r.audit.Acknowledged == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f", float64(n)/float64(r.audit.Acknowledged))
}

// play runs a stream on a path, in several processes, and audits it, even if it was interrupted.
func (r *rehearsal) play(ctx context.Context, p path, k keys, stream []numbered, st *stalls) (result, error) {
	var done atomic.Int64
	run := &replay{stream: stream, writers: r.cfg.writers, seed: r.cfg.seed, done: &done}
	sockets := make([]*wire.Process, 0, processes)
	for i := range r.processes() {
		var before func(*wire.Process, []wire.Command)
		if st != nil {
			before = st.before(i)
		}
		proc := p.process(k, before)
		run.procs = append(run.procs, proc)
		sockets = append(sockets, proc.wire)
	}
	if st != nil {
		run.stalls = st
		run.acked = func(n numbered, proc int) { st.wrote(k.room(n.Room), proc) }
	}
	stop := r.screen.watch(p.name, len(stream), done.Load, r.stage.forget)
	run.run(ctx)
	for _, proc := range run.procs {
		proc.close()
	}
	stop()
	r.stage.forget()

	names := roomsOf(stream)
	after, cancel := context.WithTimeout(context.WithoutCancel(ctx), 20*time.Second)
	defer cancel()
	reader := p.on.client(wire.NewProcess(nil))
	rooms, err := load(after, reader, k, names)
	_ = reader.Close()
	res := result{path: p.name, sent: wire.Sum(sockets...), replay: run}
	r.stage.measured(p.on, res.sent)
	if st != nil {
		res.stalls = st.count()
	}
	if err == nil {
		res.audit = judge(stream, run.fates, rooms)
	}
	if cleared := r.stage.clear(p.on, k, names); err == nil {
		err = cleared
	}
	return res, err
}

// alone measures one update without contention: its writes to the socket and its round trips.
func (r *rehearsal) alone(ctx context.Context, p path, k keys) (trace [][]wire.Command, sent wire.Stats, err error) {
	w := wire.NewProcess(nil)
	rdb := p.on.client(w)
	defer rdb.Close() //nolint:errcheck // has no effect on the run
	n := r.stream[0]
	// The first update opens connections and loads the scripts.
	for range 2 {
		before := w.Stats()
		w.Trace()
		s, closeStore := p.open(rdb, k)
		_, err = s.apply(ctx, n)
		_ = closeStore()
		trace, sent = w.Trace(), w.Stats()
		sent.RoundTrips -= before.RoundTrips
		sent.Commands -= before.Commands
		if err != nil {
			break
		}
	}
	if cleared := r.stage.clear(p.on, k, []string{n.Room}); err == nil {
		err = cleared
	}
	return trace, sent, err
}
