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

// path is one way in which the service can update its rooms.
type path struct {
	name string
	on   endpoint
	open func(rdb *redis.Client, k keys) (s service, closeStore func() error)
}

// byHand is the legacy service as it is.
func byHand(on endpoint) path {
	return path{"WATCH by hand", on, func(rdb *redis.Client, k keys) (service, func() error) {
		return legacyChat{rdb, k}, func() error { return nil }
	}}
}

// onCAS is the service on the contract, still with WATCH underneath.
func onCAS(on endpoint) path {
	return path{"cas", on, func(rdb *redis.Client, k keys) (service, func() error) {
		store := cas.New(rdb, cas.Config{})
		return newChat(store, k), store.Close
	}}
}

// onLock is the service on the new path. A different store is all that differs.
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
		_ = closeStore() // waits for what goes on behind the answers
		_ = rdb.Close()
	}}
}

// result is what came of one run.
type result struct {
	path   string
	audit  audit
	sent   wire.Stats
	replay *replay
	stalls int
}

// perSecond is how many updates were acknowledged in a second.
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

// play runs a stream through a path, in several processes, and audits it. It
// also audits what an interrupted run has left.
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

// alone measures one update that nobody disturbs: what was written to the
// socket, write by write, and how many round trips that was.
func (r *rehearsal) alone(ctx context.Context, p path, k keys) (trace [][]wire.Command, sent wire.Stats, err error) {
	w := wire.NewProcess(nil)
	rdb := p.on.client(w)
	defer rdb.Close() //nolint:errcheck // nothing depends on it
	n := r.stream[0]
	// The first one opens connections and brings the scripts to the server.
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
