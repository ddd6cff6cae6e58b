package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/cas"
	"github.com/unwatch/unwatch/examples/rehearsal/internal/wire"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/shadow"
	"github.com/unwatch/unwatch/shadow/report"
)

// candidate is a path in the shadow.
type candidate struct {
	on     endpoint
	open   func(rdb *redis.Client) (s rmw.Store, closeStore func() error)
	fault  func(store rmw.Store) rmw.Store // may be nil
	stalls *stalls                         // may be nil
}

// casIn, lockIn and lockOnlyIn return the paths as candidates.
func casIn(on endpoint) candidate {
	return candidate{on: on, open: func(rdb *redis.Client) (rmw.Store, func() error) {
		store := cas.New(rdb, cas.Config{})
		return store, store.Close
	}}
}

func lockIn(on endpoint, cfg lockupdate.Config) candidate {
	return candidate{on: on, open: func(rdb *redis.Client) (rmw.Store, func() error) {
		cfg.LockName = keys{}.lock
		store := lockupdate.New(rdb, cfg)
		return store, store.Close
	}}
}

func lockOnlyIn(on endpoint, cfg lockupdate.Config) candidate {
	return candidate{on: on, open: func(rdb *redis.Client) (rmw.Store, func() error) {
		cfg.LockName = keys{}.lock
		store := lockupdate.New(rdb, cfg)
		return lockOnly{store, rdb}, store.Close
	}}
}

// shadowRun is a stream that the service handles on cas, with a candidate in the shadow.
type shadowRun struct {
	name      string // part of the names of keys and files
	candidate candidate
	stream    []numbered
	processes int
	patience  time.Duration // limit of lockstep for a missing call
	rounds    int           // rounds of the verifier
	cfg       shadow.Config
}

// shadowResult has the results of the service and of the shadow.
type shadowResult struct {
	result
	report *report.Report // of all processes; nil if interrupted
}

// patient limits a command, a call of the candidate, and the wait of lockstep for a call of
// another process. It is long, since a slow machine must not look like a difference.
const (
	patient   = time.Minute
	impatient = 300 * time.Millisecond
)

// spaces returns the key spaces of both paths.
func (r *rehearsal) spaces(name string) (serving, hidden *space) {
	k := r.stage.keys.sub("e").sub(name)
	return newSpace(k.sub("old")), newSpace(k.sub("new"))
}

// shadowed plays a run in several processes, each with its own shadow.
func (r *rehearsal) shadowed(ctx context.Context, run shadowRun) (res shadowResult, err error) {
	serving, hidden := r.spaces(run.name)
	var done atomic.Int64
	play := &replay{stream: run.stream, writers: r.cfg.writers, seed: r.cfg.seed, done: &done, stalls: run.candidate.stalls}
	run.cfg.Name, run.cfg.Policy, run.cfg.Sole = "rehearsal-"+run.name, rehearsalPolicy(), run.processes == 1
	run.cfg.Timeout, run.cfg.LockstepWait = patient, run.patience
	run.cfg.RedactSecret = []byte(r.stage.keys.prefix) // same in all processes, new in each run
	var shadows []*shadow.Store
	var sockets []*wire.Process // of the candidate
	for i := range run.processes {
		s, proc := r.shadowProcess(ctx, run, i, serving, hidden)
		shadows, play.procs, sockets = append(shadows, s), append(play.procs, proc), append(sockets, proc.wire)
	}
	stop := r.screen.watch(run.name, len(run.stream), done.Load, r.stage.forget)
	if err = r.copied(ctx, run, serving, hidden); err == nil {
		play.run(ctx)
	}
	if err == nil && ctx.Err() == nil {
		res.report, err = compared(ctx, shadows, run.rounds)
	}
	for i, proc := range play.procs {
		shadows[i].Kill("the rehearsal is over") // all calls are compared, or the run was interrupted
		proc.close()
	}
	stop()
	r.stage.measured(run.candidate.on, wire.Sum(sockets...))
	r.stage.forget()
	defer r.stage.empty()

	if err == nil { // without a shadow nothing was played
		res.result, err = r.audited(ctx, play, run, serving.keys)
	}
	hidden.ttl = time.Hour // the longest expiry: that of the shadow's write log
	return res, cmp.Or(
		err, r.stage.remove(r.stage.legacy, serving.keys, serving.left()),
		r.stage.remove(run.candidate.on, hidden.keys, hidden.left()),
	)
}

// shadowProcess starts one process with the serving path, the candidate, and the shadow between
// them.
func (r *rehearsal) shadowProcess(ctx context.Context, run shadowRun, i int, serving, hidden *space) (*shadow.Store, process) {
	rdb := r.stage.legacy.client(wire.NewProcess(nil))
	old := cas.New(rdb, cas.Config{})
	var before func(*wire.Process, []wire.Command)
	if run.candidate.stalls != nil {
		run.candidate.stalls.ctx = ctx
		before = run.candidate.stalls.before(i)
	}
	socket := wire.NewProcess(before)
	other := run.candidate.on.client(socket)
	store, closeStore := run.candidate.open(other)
	next := store
	if run.candidate.fault != nil {
		next = run.candidate.fault(next)
	}
	if run.candidate.stalls != nil {
		next = watched{next, run.candidate.stalls, i}
	}
	run.cfg.Process = fmt.Sprintf("process-%d", i+1)
	s := shadow.New(serving.within(old), hidden.within(next), run.cfg)
	return s, process{service: newChat(s, keys{ttl: serving.ttl}), wire: socket, close: func() {
		_ = s.Close()
		_ = closeStore()
		_ = old.Close()
		_ = other.Close()
		_ = rdb.Close()
	}}
}

// copied creates empty rooms in both stores. Without them, a shadow would copy a key at its first
// call, and other processes would wait in vain for the calls before.
func (r *rehearsal) copied(ctx context.Context, run shadowRun, serving, hidden *space) error {
	for _, side := range []struct {
		space *space
		path  candidate
	}{{serving, casIn(r.stage.legacy)}, {hidden, run.candidate}} {
		rdb := side.path.on.client(wire.NewProcess(nil))
		store, closeStore := side.path.open(rdb)
		rooms := newChat(side.space.within(store), keys{ttl: serving.ttl})
		var err error
		for _, name := range roomsOf(run.stream) {
			err = rooms.create(ctx, name)
			// A planted bug has a lease that is too short for a busy machine.
			for ctx.Err() == nil && errors.Is(err, rmw.ErrLockLost) {
				err = rooms.create(ctx, name)
			}
			if err != nil {
				break
			}
		}
		_ = closeStore()
		_ = rdb.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

// compared waits until the shadows have compared all calls, verifies the final state, and returns
// their merged report. A differing value counts after two rounds, an expiry after four.
func compared(ctx context.Context, shadows []*shadow.Store, rounds int) (*report.Report, error) {
	const limit = 10 * patient
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var all sync.WaitGroup
	failed := make([]error, len(shadows))
	for i, s := range shadows { // concurrently, since lockstep waits for calls of other processes
		all.Go(func() { failed[i] = s.Drain(limited) })
	}
	all.Wait()
	for _, err := range failed {
		if ctx.Err() != nil {
			return nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("the shadow did not come to an end within %v: %w", limit, err)
		}
	}
	for range rounds {
		for _, s := range shadows {
			if _, err := s.Verify(ctx); ctx.Err() != nil {
				return nil, nil
			} else if err != nil {
				return nil, err
			}
		}
	}
	reports := make([]*report.Report, len(shadows))
	for i, s := range shadows {
		reports[i] = s.Report()
	}
	return shadow.Merge(reports...)
}

// audited checks that the shadow did not affect the service.
func (r *rehearsal) audited(ctx context.Context, play *replay, run shadowRun, k keys) (result, error) {
	after, cancel := context.WithTimeout(context.WithoutCancel(ctx), 20*time.Second)
	defer cancel()
	reader := r.stage.legacy.client(wire.NewProcess(nil))
	defer reader.Close() //nolint:errcheck // has no effect on the run
	rooms, err := load(after, reader, k, roomsOf(run.stream))
	res := result{path: "shadow " + run.name, replay: play}
	if run.candidate.stalls != nil {
		res.stalls = run.candidate.stalls.count()
	}
	if err == nil {
		res.audit = judge(run.stream, play.fates, rooms)
	}
	return res, err
}
