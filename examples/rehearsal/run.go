package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/rmw"
)

const (
	processes = 4  // processes of the service, each with its own client and store
	writers   = 16 // goroutines that serve members, in all processes

	tooMany = 200 // failures end a run
)

// process is one process of the service.
type process struct {
	apply   service
	traffic *traffic
	close   func()
}

// run is one play of a stream through several processes, and its outcome.
type run struct {
	name   string
	stream []event
	procs  []process
	stalls *stalls // may be nil

	after func() error // after the stream; may be nil

	done, conflicts, failures atomic.Int64 // progress, repeated attempts, and errors
	failure                   error        // the first one, and its event
	failed                    event
	fates                     []fate
	took                      time.Duration
	audit                     audit
	trips, commands           int
}

// play plays a run, and audits it by reading the values on an endpoint, even if it was
// interrupted.
func (r *rehearsal) play(ctx context.Context, x *run, on *endpoint, prefix string) (err error) {
	x.fates = make([]fate, len(x.stream))
	stop := r.watch(x)
	x.write(ctx)
	if x.after != nil && ctx.Err() == nil {
		err = x.after()
	}
	for _, p := range x.procs {
		p.close()
		x.trips, x.commands = x.trips+p.traffic.trips, x.commands+p.traffic.commands
	}
	stop()
	r.stage.forget()
	if err != nil {
		return err
	}
	ended, cancel := context.WithTimeout(context.WithoutCancel(ctx), 20*time.Second)
	defer cancel()
	reader := on.client(&traffic{})
	defer reader.Close() //nolint:errcheck // has no effect on the run
	rooms, err := load(ended, reader, prefix, roomsOf(x.stream))
	if err == nil {
		x.audit = judge(x.stream, x.fates, rooms)
	}
	return err
}

// on plays the stream on a path, without a shadow.
func (r *rehearsal) on(ctx context.Context, p path, part string, stream []event, st *stalls) (*run, error) {
	x, prefix := &run{name: p.name, stream: stream, stalls: st}, r.stage.prefix+part
	for range processes {
		x.procs = append(x.procs, p.process(&traffic{stalls: st}, prefix))
	}
	return x, r.play(ctx, x, p.on, prefix)
}

// write runs the writers until the stream or ctx ends. Each writer has the events of its own
// members, in order, since a member is connected to one process. All writers share the rooms.
func (x *run) write(ctx context.Context) {
	began := time.Now()
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			for i, e := range x.stream {
				if e.Member%writers == w && ctx.Err() == nil && !x.broken() {
					x.one(ctx, i, x.procs[w%len(x.procs)])
				}
			}
		})
	}
	all.Wait()
	x.took = time.Since(began)
}

func (x *run) one(ctx context.Context, i int, p process) {
	tries, err := p.apply(ctx, x.stream[i])
	x.conflicts.Add(int64(max(tries-1, 0)))
	x.done.Add(1)
	x.fates[i] = fateOf(err)
	if err != nil && ctx.Err() == nil && x.failures.Add(1) == 1 {
		x.failure, x.failed = err, x.stream[i]
	}
}

func (x *run) broken() bool { return x.failures.Load() >= tooMany }

// fateOf reports whether an error means that nothing was written. Errors of the rmw contract say
// so. A legacy error means it only if the server sent it.
func fateOf(err error) fate {
	var ours *rmw.Error
	var answer redis.Error
	switch {
	case err == nil:
		return acknowledged
	case errors.Is(err, rmw.ErrOutcomeUnknown):
		return unclear
	case errors.As(err, &ours), errors.As(err, &answer):
		return refused
	}
	return unclear
}

// kept returns how a run broke its promises.
func (x *run) kept() (broken []string) {
	a := x.audit
	for _, p := range []struct {
		broken bool
		text   string
	}{
		{len(a.Lost) > 0, count(len(a.Lost)) + " updates lost"},
		{len(a.Doubled) > 0, count(len(a.Doubled)) + " updates doubled"},
		{len(a.Phantom) > 0, count(len(a.Phantom)) + " updates written though refused"},
		{len(a.Different) > 0, count(len(a.Different)) + " rooms are not what their events make"},
		{a.Acknowledged == 0, "not one update was acknowledged"},
		{x.broken(), fmt.Sprintf("given up after %d errors", tooMany)},
	} {
		if p.broken {
			broken = append(broken, x.name+": "+p.text)
		}
	}
	return broken
}

// fate is the result of one event for the service.
type fate uint8

const (
	untried fate = iota
	acknowledged
	refused // certainly not stored
	unclear // outcome unknown
)

// audit compares acknowledged events with the stored rooms.
type audit struct {
	Acknowledged int
	Unclear      int      // events with an unknown outcome
	Lost         []int    // IDs of acknowledged events that are not stored
	Doubled      []int    // IDs of events applied more than once
	Phantom      []int    // IDs of stored events that were reported as not stored
	Different    []string // rooms that differ from the acknowledged events applied one by one
}

// clean reports whether the audit found no violation.
func (a audit) clean() bool {
	return len(a.Lost)+len(a.Doubled)+len(a.Phantom)+len(a.Different) == 0
}

// load reads the stored rooms by plain GET, independently of the audited paths.
func load(ctx context.Context, rdb *redis.Client, prefix string, names []string) (map[string]room, error) {
	rooms := make(map[string]room, len(names))
	for _, name := range names {
		raw, err := rdb.Get(ctx, prefix+"room:"+name).Bytes()
		if errors.Is(err, redis.Nil) || redis.HasErrorPrefix(err, "WRONGTYPE") {
			continue // the room does not exist
		}
		var r room
		if err == nil {
			err = json.Unmarshal(raw, &r)
		}
		if err != nil {
			return nil, fmt.Errorf("audit: read room %s: %w", name, err)
		}
		rooms[name] = r
	}
	return rooms, nil
}

// judge finds lost, doubled and phantom events by ID. fates has one entry per event of the stream.
func judge(stream []event, fates []fate, rooms map[string]room) audit {
	var a audit
	want := map[string]*room{}
	open := map[string]bool{} // rooms with an unknown expected state
	for i, n := range stream {
		stored := rooms[n.Room].Applied.has(n.InRoom)
		switch fates[i] {
		case acknowledged:
			a.Acknowledged++
			if !stored {
				a.Lost = append(a.Lost, n.ID)
			}
			if want[n.Room] == nil {
				want[n.Room] = &room{}
			}
			want[n.Room].apply(n)
		case unclear:
			a.Unclear++
			open[n.Room] = true
		default:
			if stored {
				a.Phantom = append(a.Phantom, n.ID)
			}
		}
		if slices.Contains(rooms[n.Room].Twice, n.InRoom) {
			a.Doubled = append(a.Doubled, n.ID)
		}
	}
	for name, w := range want {
		if !open[name] && !sameState(*w, rooms[name]) {
			a.Different = append(a.Different, name)
		}
	}
	slices.Sort(a.Different)
	return a
}

// sameState compares only state that does not depend on the order between members. The events of
// one member stay in order.
func sameState(a, b room) bool {
	return slices.Equal(a.Members, b.Members) && a.Posts == b.Posts && a.Reacts == b.Reacts
}
