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
	fault  func(store rmw.Store) rmw.Store // or nil
	stalls *stalls                         // or nil
}

// casIn, lockIn and lockOnlyIn are the paths, as candidates.
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
	name      string // of its keys, and of its files
	candidate candidate
	stream    []numbered
	processes int
	patience  time.Duration // until lockstep gives up a call that is missing
	rounds    int           // of the verifier
	cfg       shadow.Config
}

// shadowResult is what came of it: of the service, and of the shadow.
type shadowResult struct {
	result
	report *report.Report // of all processes; nil if it was interrupted
}

// patient bounds a command, a call of the candidate, and what lockstep waits for a call
// that another process has. It is generous: that a busy machine is slow is no difference
// between two paths. Where there is one, nothing is gained by waiting.
const (
	patient   = time.Minute
	impatient = 300 * time.Millisecond
)

// spaces are where the two paths of a run have their keys.
func (r *rehearsal) spaces(name string) (serving, hidden *space) {
	k := r.stage.keys.sub("e").sub(name)
	return newSpace(k.sub("old")), newSpace(k.sub("new"))
}

// shadowed plays a run, in several processes, each with a shadow of its own.
func (r *rehearsal) shadowed(ctx context.Context, run shadowRun) (res shadowResult, err error) {
	serving, hidden := r.spaces(run.name)
	var done atomic.Int64
	play := &replay{stream: run.stream, writers: r.cfg.writers, seed: r.cfg.seed, done: &done, stalls: run.candidate.stalls}
	run.cfg.Name, run.cfg.Policy, run.cfg.Sole = "rehearsal-"+run.name, rehearsalPolicy(), run.processes == 1
	run.cfg.Timeout, run.cfg.LockstepWait = patient, run.patience
	run.cfg.RedactSecret = []byte(r.stage.keys.prefix) // one for all processes, and another one in each run
	var shadows []*shadow.Store
	var sockets []*wire.Process // to the candidate
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
		shadows[i].Kill("the rehearsal is over") // nothing waits any more, or it was interrupted
		proc.close()
	}
	stop()
	r.stage.measured(run.candidate.on, wire.Sum(sockets...))
	r.stage.forget()
	defer r.stage.empty()

	if err == nil { // else nothing may have been played
		res.result, err = r.audited(ctx, play, run, serving.keys)
	}
	hidden.ttl = time.Hour // that of the longest: a trail of the shadow's
	return res, cmp.Or(
		err, r.stage.remove(r.stage.legacy, serving.keys, serving.left()),
		r.stage.remove(run.candidate.on, hidden.keys, hidden.left()),
	)
}

// shadowProcess starts one process: the path that serves, the one in the shadow, and the
// shadow between them.
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

// copied has both stores begin with the same, as after a copy: empty rooms. What a shadow
// finds missing in its store it takes from the first call that it sees; another process
// may still have the calls before that one to compare, and would wait for them in vain.
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
			// The lease of a planted bug is too short for a busy machine.
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

// compared waits until the shadows have compared everything, has the end state verified
// (a value that differs counts after two rounds, an expiry after four), and returns the
// report of all of them.
func compared(ctx context.Context, shadows []*shadow.Store, rounds int) (*report.Report, error) {
	const limit = 10 * patient
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var all sync.WaitGroup
	failed := make([]error, len(shadows))
	for i, s := range shadows { // at once: the lockstep of one waits for what another has
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

// audited looks whether the service was served as if there were no shadow.
func (r *rehearsal) audited(ctx context.Context, play *replay, run shadowRun, k keys) (result, error) {
	after, cancel := context.WithTimeout(context.WithoutCancel(ctx), 20*time.Second)
	defer cancel()
	reader := r.stage.legacy.client(wire.NewProcess(nil))
	defer reader.Close() //nolint:errcheck // nothing depends on it
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
