package worker

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/unwatch/unwatch/bench/internal/peers"
	"github.com/unwatch/unwatch/bench/internal/stats"
)

// HoldJob holds many locks for a while.
type HoldJob struct {
	Keeper string        `json:"keeper"`
	Addr   string        `json:"addr"`
	Names  int           `json:"names"`     // number of locks
	Lease  time.Duration `json:"lease_ns"`  // renewed at half time
	Window time.Duration `json:"window_ns"` // measured time, after all locks are held
}

// HoldResult is the result of a HoldJob.
type HoldResult struct {
	Locks      int             `json:"locks"`
	Lease      time.Duration   `json:"lease_ns"`
	Took       time.Duration   `json:"took_ns"`
	Usage      Usage           `json:"usage"`
	Memory     int64           `json:"memory"`          // growth of live heap and stacks, in bytes
	Watch      int64           `json:"watch,omitempty"` // part of the watchdog; 0: unknown
	Goroutines int             `json:"goroutines"`
	Renewals   int64           `json:"renewals"`
	Late       stats.Histogram `json:"late"`   // delay of renewals, relative to half a lease
	Prefix     string          `json:"prefix"` // of the locks' keys
}

// acquirers is the number of concurrent acquires.
const acquirers = 64

func (j *HoldJob) run(ctx context.Context, ready func(Ready) error) (*HoldResult, error) {
	names := make([]string, j.Names)
	for i := range names {
		names[i] = LockName(i)
	}
	prefix := peers.KeeperPrefix(j.Keeper)
	tap := newTap(prefix, names, j.Lease/2)
	runtime.MemProfileRate = profileRate
	keeper, err := peers.OpenKeeper(j.Keeper, peers.Options{Addr: j.Addr}, j.Lease, tap.note)
	if err != nil {
		return nil, err
	}
	if err := warmUp(ctx, keeper); err != nil {
		return nil, err
	}
	handles := make([]any, len(names))
	memoryBefore, goroutines := memory(), runtime.NumGoroutine()
	watch := peers.KeeperWatch(j.Keeper)
	watchBefore := allocatedBy(watch)

	if err := j.acquire(ctx, keeper, names, handles); err != nil {
		return nil, err
	}
	if err := ready(Ready{}); err != nil {
		return nil, err
	}
	res := &HoldResult{Locks: j.Names, Lease: j.Lease, Prefix: prefix}
	tap.measuring.Store(true)
	began, before := time.Now(), usage()
	select {
	case <-time.After(j.Window):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	tap.measuring.Store(false)
	res.Usage, res.Took = usage().Sub(before), time.Since(began)
	res.Goroutines = runtime.NumGoroutine() - goroutines
	res.Memory = memory() - memoryBefore
	res.Watch = allocatedBy(watch) - watchBefore
	late := tap.total()
	res.Renewals, res.Late = late.N(), late
	runtime.KeepAlive(names)
	runtime.KeepAlive(handles)
	runtime.KeepAlive(keeper)
	return res, nil
}

// LockName returns the name of the i-th lock.
func LockName(i int) string { return fmt.Sprintf("%d:held", i) }

// warmUp opens all connections, so that their buffers do not count for the watchdog.
func warmUp(ctx context.Context, keeper peers.Keeper) error {
	errs := make(chan error, acquirers)
	for i := range acquirers {
		go func() {
			_, err := keeper.Hold(ctx, fmt.Sprintf("%d:warm", i))
			errs <- err
		}()
	}
	var first error
	for range acquirers {
		if err := <-errs; first == nil {
			first = err
		}
	}
	return first
}

// acquire spreads the acquires over half a lease, so that renewals are evenly distributed.
func (j *HoldJob) acquire(ctx context.Context, keeper peers.Keeper, names []string, handles []any) error {
	taking, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	began := time.Now()
	var wg sync.WaitGroup
	for a := range acquirers {
		wg.Go(func() {
			for i := a; i < len(names) && taking.Err() == nil; i += acquirers {
				due := time.Duration(float64(j.Lease/2) * float64(i) / float64(len(names)))
				if wait := due - time.Since(began); wait > 0 {
					time.Sleep(wait)
				}
				var err error
				if handles[i], err = keeper.Hold(ctx, names[i]); err != nil {
					cancel(fmt.Errorf("lock %d: %w", i, err))
				}
			}
		})
	}
	wg.Wait()
	return context.Cause(taking)
}

// tap records the delay of every renewal. It allocates nothing during the measurement.
type tap struct {
	index     map[string]int
	last      []atomic.Int64 // time of the last command, in ns since epoch
	half      time.Duration
	epoch     time.Time
	measuring atomic.Bool

	mu   sync.Mutex
	late stats.Histogram
}

func newTap(prefix string, names []string, half time.Duration) *tap {
	t := &tap{index: make(map[string]int, len(names)), last: make([]atomic.Int64, len(names)), half: half, epoch: time.Now()}
	for i, name := range names {
		t.index[prefix+name] = i
	}
	return t
}

// note is called before each command for a lock, an acquire or a renewal.
func (t *tap) note(key string) {
	i, ok := t.index[key]
	if !ok {
		return
	}
	now := time.Since(t.epoch)
	last := time.Duration(t.last[i].Swap(int64(now)))
	if last == 0 || !t.measuring.Load() {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.late.Add(now - last - t.half) // an early one counts as 0
}

func (t *tap) total() stats.Histogram {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.late
}
