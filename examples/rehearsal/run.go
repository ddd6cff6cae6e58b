package main

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
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
	service service
	traffic *traffic
	close   func()
}

// run is one play of a stream through several processes, and its outcome.
type run struct {
	name   string
	stream []event
	procs  []process
	stalls *stalls // may be nil

	done, conflicts atomic.Int64 // progress, and repeated attempts
	fates           []fate
	took            time.Duration
	audit           audit
	trips, commands int
	mu              sync.Mutex
	failures        int
	failure         error // the first one
	failed          event
}

// play plays a run, and audits it by reading what is stored on an endpoint, even if it was
// interrupted. compare, if not nil, runs after the stream and before the processes end.
func (r *rehearsal) play(ctx context.Context, x *run, on *endpoint, prefix string, compare func() error) error {
	x.fates = make([]fate, len(x.stream))
	stop := r.screen.watch(x.name, len(x.stream), x.done.Load, r.stage.forget)
	x.write(ctx)
	var err error
	if compare != nil && ctx.Err() == nil {
		err = compare()
	}
	for _, p := range x.procs {
		p.close()
		trips, commands, _ := p.traffic.take()
		x.trips, x.commands = x.trips+trips, x.commands+commands
	}
	stop()
	if err != nil {
		return err
	}
	after, cancel := context.WithTimeout(context.WithoutCancel(ctx), 20*time.Second)
	defer cancel()
	reader := on.client(&traffic{})
	defer reader.Close() //nolint:errcheck // has no effect on the run
	rooms, err := load(after, reader, prefix, roomsOf(x.stream))
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
	return x, r.play(ctx, x, p.on, prefix, nil)
}

// write runs the writers until the stream or ctx ends. Each writer has the events of its own
// members, in order, since a member is connected to one process. All writers share the rooms.
func (x *run) write(ctx context.Context) {
	queues := make([][]int, writers)
	for i, e := range x.stream {
		w := writerOf(e.Member)
		queues[w] = append(queues[w], i)
	}
	began := time.Now()
	var all sync.WaitGroup
	for w, queue := range queues {
		all.Go(func() {
			for _, i := range queue {
				if ctx.Err() != nil || x.broken() {
					return
				}
				x.one(ctx, i, x.procs[w%len(x.procs)])
			}
		})
	}
	all.Wait()
	x.took = time.Since(began)
}

func writerOf(member string) int {
	h := fnv.New64a()
	_, _ = h.Write([]byte(member))
	return int((h.Sum64() ^ h.Sum64()>>29) % writers)
}

func (x *run) one(ctx context.Context, i int, p process) {
	tries, err := p.service.apply(ctx, x.stream[i])
	x.conflicts.Add(int64(max(tries-1, 0)))
	x.done.Add(1)
	if x.fates[i] = fateOf(err); err == nil || ctx.Err() != nil {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.failures++; x.failures == 1 {
		x.failure, x.failed = err, x.stream[i]
	}
}

func (x *run) broken() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.failures >= tooMany
}

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

// perSecond returns the acknowledged updates per second.
func (x *run) perSecond() float64 {
	return float64(x.audit.Acknowledged) / max(x.took.Seconds(), 1e-9)
}

// per divides by the number of acknowledged updates.
func (x *run) per(n int) string {
	if x.audit.Acknowledged == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f", float64(n)/float64(x.audit.Acknowledged))
}

// kept returns how a run broke its promises.
func (x *run) kept() (broken []string) {
	a := x.audit
	for _, n := range []struct {
		n    int
		what string
	}{
		{len(a.Lost), "updates lost"}, {len(a.Doubled), "updates doubled"}, {len(a.Phantom), "updates written though refused"},
		{len(a.Different), "rooms are not what their events make"},
	} {
		if n.n > 0 {
			broken = append(broken, fmt.Sprintf("%s: %s %s", x.name, count(n.n), n.what))
		}
	}
	if a.Acknowledged == 0 {
		broken = append(broken, x.name+": not one update was acknowledged")
	}
	if x.broken() {
		broken = append(broken, fmt.Sprintf("%s: given up after %d errors", x.name, tooMany))
	}
	return broken
}
