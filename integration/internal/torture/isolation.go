package torture

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/proxycompat"
)

const (
	// keptLeast is the share of its throughput that a store must keep on healthy keys.
	keptLeast = 0.9

	isolationCalm  = time.Second // before the fault, and again after it
	isolationFault = 3 * time.Second
	isolationLease = 3 * time.Second

	// A store has this many goroutines on healthy keys, as many on those of the failing server, and sections of
	// both, each on a key of its own.
	isolationWorkers  = 12
	isolationSections = 4

	// isolationPause is between two updates of a worker. A store is not limited by the processor, so that the
	// absence of others does not make it faster.
	isolationPause = 30 * time.Millisecond
	isolationLimit = 3 * time.Second // of an update
)

// isolationStore is a store in a cell of isolation. The value and the lock of a healthy key are on servers that do not
// fail.
type isolationStore struct {
	name string
	pool int // of its client
	open func(rdb redis.UniversalClient) adding
}

// adding is the client of a worker.
type adding interface {
	add(ctx context.Context, key string) error
	io.Closer
}

// isolatedLoad is the load of one store.
type isolatedLoad struct {
	isolationStore
	store           adding
	rdb             redis.UniversalClient
	healthy, failed []string // keys, of which the last ones are locks for sections
	added           atomic.Int64
	calm, fault     rate
	dropped         atomic.Int64          // sections of healthy keys that lost their lock
	why             atomic.Pointer[error] // the last one of them failed; nil: none did
}

// rate counts updates in some time.
type rate struct {
	n int64
	d time.Duration
}

func (r rate) perSecond() float64 { return float64(r.n) / r.d.Seconds() }

// isolate runs the stores side by side, so that all get the same fault. The first one is the measure of the others:
// each of its commands has a connection of its own, so that only servers, proxy and machine limit its throughput.
func (s *Environment) isolate(ctx context.Context, f Isolation, seed uint64, stores []isolationStore) []*Result {
	began := time.Now()
	results := make([]*Result, len(stores))
	for i, store := range stores {
		results[i] = &Result{Topology: s.Topology, Nemesis: f.Fault, Mitigation: store.name, Seed: seed}
		results[i].History, results[i].Verdict = newHistory(), &Verdict{}
	}
	loads, err := s.openIsolated(ctx, stores)
	if err == nil {
		err = s.measure(ctx, f, loads, func(text string) {
			for _, r := range results {
				r.History.note(text)
			}
		})
	}
	for _, l := range loads {
		err = errors.Join(err, l.store.Close(), l.rdb.Close())
	}
	left := leaked(s.Topology)
	for i, r := range results {
		r.Took, r.Leaked = time.Since(began), left
		if err != nil {
			r.Errors = append(r.Errors, err.Error())
			continue
		}
		r.isolation(loads[i], loads[0])
	}
	return results
}

// isolation judges a store.
func (r *Result) isolation(l, measure *isolatedLoad) {
	r.Operations = int(l.calm.n + l.fault.n)
	if measure.fault.n == 0 {
		r.Errors = append(r.Errors, "plain commands made no progress on healthy keys either, so that the cell shows nothing")
	}
	r.Kept = l.kept()
	if allowed := min(1, measure.kept()) * keptLeast; r.Kept < allowed {
		r.Slowed++
		r.example("%s: %.0f updates of healthy keys a second, and %.0f while a server failed", l.name, l.calm.perSecond(), l.fault.perSecond())
	}
	r.Dropped = int(l.dropped.Load())
	if err := l.why.Load(); err != nil {
		r.example("%s: a section: %v", l.name, *err)
	}
	if _, ok := l.store.(withLock); ok {
		r.Sections = isolationSections
	}
}

// kept returns the throughput during faults, as a share of that without.
func (l *isolatedLoad) kept() float64 { return l.fault.perSecond() / max(1, l.calm.perSecond()) }

// openIsolated opens the stores, each with keys of its own.
func (s *Environment) openIsolated(ctx context.Context, stores []isolationStore) (loads []*isolatedLoad, err error) {
	if err := s.clean(ctx); err != nil {
		return nil, err
	}
	each := isolationWorkers + isolationSections
	healthy, failed, err := s.keysOf(ctx, each*len(stores))
	if err != nil {
		return nil, err
	}
	for i, store := range stores {
		rdb, from, to := s.pooled(i, store.pool), i*each, (i+1)*each
		loads = append(loads, &isolatedLoad{
			isolationStore: store, store: store.open(rdb), rdb: rdb, healthy: healthy[from:to], failed: failed[from:to],
		})
	}
	return loads, nil
}

// measure counts the updates before, during and after a fault.
func (s *Environment) measure(ctx context.Context, f Isolation, loads []*isolatedLoad, note func(string)) (err error) {
	working, stop := context.WithCancel(ctx)
	var all, entered sync.WaitGroup
	defer all.Wait()
	defer stop()
	for _, l := range loads {
		l.start(working, &all, &entered)
	}
	entered.Wait()
	_ = pause(ctx, isolationCalm/4) // all connections are open
	window := func(d time.Duration, of func(l *isolatedLoad) *rate) {
		before := make([]int64, len(loads))
		for i, l := range loads {
			before[i] = l.added.Load()
		}
		began := time.Now()
		_ = pause(ctx, d)
		for i, l := range loads {
			r := of(l)
			r.n += l.added.Load() - before[i]
			r.d += time.Since(began)
		}
	}
	calm := func(l *isolatedLoad) *rate { return &l.calm }
	window(isolationCalm, calm)
	note(f.About)
	heal, err := f.strike(s)
	if err != nil {
		return err
	}
	window(isolationFault, func(l *isolatedLoad) *rate { return &l.fault })
	note("the server recovers")
	if err := heal(context.WithoutCancel(ctx)); err != nil {
		return err
	}
	if err := s.recovered(ctx, loads[0]); err != nil {
		return err
	}
	window(isolationCalm, calm)
	return context.Cause(ctx)
}

// recovered waits until the keys of the failed server can be updated again.
func (s *Environment) recovered(ctx context.Context, measure *isolatedLoad) error {
	ctx, cancel := context.WithTimeout(ctx, 60*time.Second)
	defer cancel()
	if s.cluster != nil {
		if err := s.cluster.AwaitOK(ctx); err != nil {
			return err
		}
	}
	for {
		err := measure.store.add(ctx, measure.failed[0])
		if err == nil || ctx.Err() != nil {
			return err
		}
		_ = pause(ctx, 20*time.Millisecond)
	}
}

// start starts the goroutines of a store. entered is done when each section of a healthy key has begun.
func (l *isolatedLoad) start(working context.Context, all, entered *sync.WaitGroup) {
	for i := range isolationWorkers {
		all.Go(func() { l.work(working, l.healthy[i], &l.added) })
		all.Go(func() { l.work(working, l.failed[i], new(atomic.Int64)) })
	}
	locks, ok := l.store.(withLock)
	if !ok {
		return
	}
	for i := range isolationSections {
		healthy, failed := l.healthy[isolationWorkers+i], l.failed[isolationWorkers+i]
		entered.Add(1)
		all.Go(func() {
			begun := sync.OnceFunc(entered.Done)
			defer begun()
			err := locks.WithLock(working, healthy, func(ctx context.Context) error {
				begun()
				<-ctx.Done()
				return context.Cause(ctx)
			})
			if working.Err() == nil { // refused, or lost before the end
				l.dropped.Add(1)
				l.why.Store(&err)
			}
		})
		all.Go(func() {
			for working.Err() == nil { // its lock is lost with the server
				_ = locks.WithLock(working, failed, func(ctx context.Context) error {
					<-ctx.Done()
					return nil
				})
				_ = pause(working, isolationPause)
			}
		})
	}
}

func (l *isolatedLoad) work(working context.Context, key string, added *atomic.Int64) {
	for working.Err() == nil {
		ctx, cancel := context.WithTimeout(working, isolationLimit)
		if l.store.add(ctx, key) == nil {
			added.Add(1)
		}
		cancel()
		_ = pause(working, isolationPause)
	}
}

// keysOf returns keys of the other servers and of the failing one, each with its lock.
func (s *Environment) keysOf(ctx context.Context, n int) (healthy, failed []string, err error) {
	rdb := s.pooled(0, 10)
	defer func() { err = errors.Join(err, rdb.Close()) }()
	direct := redis.NewClient(&redis.Options{Addr: s.failing().Addr, Protocol: 2, DisableIdentity: true})
	defer func() { err = errors.Join(err, direct.Close()) }()
	there := func(name string) (bool, error) {
		if err := rdb.Set(ctx, name, "0", 0).Err(); err != nil {
			return false, err
		}
		count, err := direct.Exists(ctx, name).Result()
		if _, moved := redis.IsMovedError(err); moved {
			return false, nil
		}
		return count > 0, err
	}
	for i := 0; len(healthy) < n || len(failed) < n; i++ {
		name := fmt.Sprintf("isolated-%d", i)
		value, err := there(name)
		if err != nil {
			return nil, nil, err
		}
		lock, err := there("/lock/" + name)
		if err != nil {
			return nil, nil, err
		}
		switch {
		case value && lock:
			failed = append(failed, name)
		case !value && !lock:
			healthy = append(healthy, name)
		}
	}
	return healthy[:n], failed[:n], s.clean(ctx)
}

// pooled returns a client with this many connections, and with the time limits that a service has.
func (s *Environment) pooled(process, size int) redis.UniversalClient {
	if s.cluster != nil {
		return redis.NewClusterClient(&redis.ClusterOptions{
			Addrs: s.cluster.Addrs(), Protocol: 2, DisableIdentity: true, Dialer: s.dialer(process),
			PoolSize: size, MaxActiveConns: size, PipelinePoolSize: size,
		})
	}
	opts := proxycompat.Options(s.Profile, s.addr)
	opts.PoolSize, opts.MaxActiveConns, opts.PipelinePoolSize = size, size, size
	return redis.NewClient(opts)
}
