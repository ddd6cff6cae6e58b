package main

import (
	"context"
	"errors"
	"hash/fnv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/examples/rehearsal/internal/wire"
	"github.com/unwatch/unwatch/rmw"
)

// service is the interface of the legacy and the new chat service.
type service interface {
	apply(ctx context.Context, n numbered) (tries int, err error)
}

// process is one process of the service, with its own client and store.
type process struct {
	service
	wire  *wire.Process
	close func()
}

// replay is one run of a stream through a service.
type replay struct {
	stream  []numbered
	procs   []process
	writers int
	seed    uint64
	acked   func(n numbered, proc int) // may be nil
	stalls  *stalls                    // may be nil
	done    *atomic.Int64              // progress

	fates     []fate
	conflicts atomic.Int64 // repeated attempts
	mu        sync.Mutex
	first     error // first error
	firstOf   numbered
	failures  int
	took      time.Duration
}

// tooMany failures end a run.
const tooMany = 200

// run runs the writers until the stream or ctx ends.
//
// Each writer has the events of its own members, in order, since a member is connected to one
// process. All writers share the rooms.
func (r *replay) run(ctx context.Context) {
	r.fates = make([]fate, len(r.stream))
	queues := make([][]int, r.writers)
	for i, n := range r.stream {
		w := r.writerOf(n.Member)
		queues[w] = append(queues[w], i)
	}
	began := time.Now()
	var writers sync.WaitGroup
	for w, queue := range queues {
		proc := w % len(r.procs)
		if r.stalls != nil {
			r.stalls.enter(proc)
		}
		writers.Go(func() {
			if r.stalls != nil {
				defer r.stalls.leave(proc)
			}
			for _, i := range queue {
				if ctx.Err() != nil || r.broken() {
					return
				}
				r.one(ctx, i, proc)
			}
		})
	}
	writers.Wait()
	r.took = time.Since(began)
}

func (r *replay) writerOf(member string) int {
	h := fnv.New64a()
	_, _ = h.Write([]byte(member))
	sum := h.Sum64() ^ r.seed*0x9e3779b97f4a7c15
	return int((sum ^ sum>>29) % uint64(r.writers))
}

func (r *replay) one(ctx context.Context, i, proc int) {
	n := r.stream[i]
	tries, err := r.procs[proc].apply(ctx, n)
	r.conflicts.Add(int64(max(tries-1, 0)))
	r.done.Add(1)
	if err == nil {
		r.fates[i] = acknowledged
		if r.acked != nil {
			r.acked(n, proc)
		}
		return
	}
	r.fates[i] = fateOf(err)
	if ctx.Err() != nil {
		return // canceled
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failures++; r.failures == 1 {
		r.first, r.firstOf = err, n
	}
}

func (r *replay) broken() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failures >= tooMany
}

// fateOf reports whether an error means that nothing was written. Errors of the rmw contract say
// so. A legacy error means it only if the server sent it.
func fateOf(err error) fate {
	var ours *rmw.Error
	var answer redis.Error
	switch {
	case errors.Is(err, rmw.ErrOutcomeUnknown):
		return unclear
	case errors.As(err, &ours), errors.As(err, &answer):
		return refused
	}
	return unclear
}
