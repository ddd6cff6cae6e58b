package worker

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/unwatch/unwatch/bench/internal/peers"
	"github.com/unwatch/unwatch/bench/internal/stats"
)

// UpdateJob has goroutines update keys for a while.
type UpdateJob struct {
	Impl string        `json:"impl"`
	Addr string        `json:"addr"`
	Via  bool          `json:"proxy"`
	Keys [][]string    `json:"keys"` // per goroutine, which takes them in turn; those of one update have a space between them
	Slot time.Duration `json:"slot_ns"`
	// Fn is the duration of fn.
	Fn time.Duration `json:"fn_ns,omitempty"`
	// Background selects a ctx that never ends, else the ctx is cancellable.
	Background bool `json:"background,omitempty"`
	// Dir has the files of lock services.
	Dir string `json:"dir,omitempty"`
	// Reader also reads the first key plainly all the time.
	Reader bool `json:"reader,omitempty"`
	// Alternate lets another process update a key before this one does again.
	Alternate bool `json:"alternate,omitempty"`
}

// UpdateResult is the result of an UpdateJob.
type UpdateResult struct {
	Usage    Usage           `json:"usage"`
	Done     int64           `json:"done"`    // acknowledged
	InSlot   int64           `json:"in_slot"` // before the end of the slot
	Failed   int64           `json:"failed"`
	Err      string          `json:"err,omitempty"` // the first one
	Hung     int64           `json:"hung"`          // cut off after patience
	Retries  int64           `json:"retries"`       // -1: unknown
	Commands int64           `json:"commands"`      // sent by the client
	Took     time.Duration   `json:"took_ns"`       // until the last update ended or was cut off
	Latency  stats.Histogram `json:"latency"`
	// Handovers are the times from the end of a section to the start of one in this process that waited for it.
	Handovers stats.Histogram `json:"handovers,omitzero"`
	Plain     int64           `json:"plain,omitempty"`  // reads by the reader
	Sealed    int64           `json:"sealed,omitempty"` // of these: those that WRONGTYPE has refused
}

const (
	// warmUps is the number of updates per goroutine before the measurement, to open
	// connections and load scripts.
	warmUps = 3
	// warmUpLimit ends the warm-up. An implementation that needs longer does not work here.
	warmUpLimit = 5 * time.Second
	// patience is the time without any progress, after the end of the slot, after which
	// pending updates count as hung.
	patience = 3 * time.Second
)

func (j *UpdateJob) run(ctx context.Context, ready func(Ready) error) (*UpdateResult, error) {
	hung := int64(0)
	r := &race{job: j}
	impl, err := j.open(&r.commands)
	if err == nil {
		hung, err = j.warmUp(ctx, impl)
	}
	if err != nil {
		return nil, ready(Ready{Refused: err.Error()})
	}
	if err := ready(Ready{}); err != nil {
		return nil, err
	}
	r.impl = impl
	res := r.run(ctx)
	res.Hung += hung
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		_ = impl.Close() // finishes what follows the answers, such as the opening of sealed keys
	}()
	select {
	case <-closed:
	case <-time.After(time.Second): // it may hang: the process ends
	}
	return res, nil
}

// open connects. It has its own limit, since some clients retry forever and take no ctx.
func (j *UpdateJob) open(commands *atomic.Int64) (peers.Impl, error) {
	type opened struct {
		impl peers.Impl
		err  error
	}
	c := make(chan opened, 1)
	go func() {
		impl, err := peers.Open(j.Impl, peers.Options{Addr: j.Addr, Proxy: j.Via, Commands: commands, Dir: j.Dir})
		c <- opened{impl, err}
	}()
	select {
	case o := <-c:
		return o.impl, o.err
	case <-time.After(warmUpLimit):
		return nil, fmt.Errorf("no connection within %v", warmUpLimit)
	}
}

// warmUp updates keys of its own and counts those that hang. If all hang, or any fails, the
// implementation does not work here.
func (j *UpdateJob) warmUp(ctx context.Context, impl peers.Impl) (hung int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, warmUpLimit)
	defer cancel()
	errs := make(chan error, len(j.Keys))
	for i := range j.Keys {
		var keys []string
		for n := range strings.Fields(j.Keys[i][0]) {
			keys = append(keys, fmt.Sprintf("%d:%d:%d:warm", n, i, os.Getpid()))
		}
		go func() {
			for range warmUps {
				if err := peers.UpdateAll(ctx, impl, keys, increment); err != nil {
					errs <- err
					return
				}
			}
			errs <- nil
		}()
	}
	for n := range j.Keys {
		select {
		case err = <-errs:
		case <-ctx.Done():
			err = ctx.Err()
		}
		switch {
		case ctx.Err() != nil && n > 0:
			return int64(len(j.Keys) - n), nil
		case ctx.Err() != nil:
			return 0, fmt.Errorf("no answer within %v", warmUpLimit)
		case err != nil:
			return 0, err
		}
	}
	return 0, nil
}

// race is the measured part of an UpdateJob.
type race struct {
	impl     peers.Impl
	job      *UpdateJob
	began    time.Time
	commands atomic.Int64 // sent so far
	pending  atomic.Int64 // updates that have begun and not ended
	moved    atomic.Int64 // time of the last acknowledgement, in ns since began

	mu     sync.Mutex
	total  stats.Histogram
	result UpdateResult
}

func (r *race) run(ctx context.Context) *UpdateResult {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	retries, commands, before := r.impl.Retries(), r.commands.Load(), usage()
	r.began = time.Now()
	end := func(*UpdateResult) {}
	if r.job.Reader {
		end = r.read(ctx)
	}
	var running sync.WaitGroup
	for _, keys := range r.job.Keys {
		running.Go(func() { r.runner(ctx, keys) })
	}
	ended := make(chan struct{})
	go func() {
		running.Wait()
		close(ended)
	}()
	hung := r.await(ended)
	took := time.Since(r.began)
	used := usage().Sub(before)
	end(&r.result)
	commands = r.commands.Load() - commands
	cancel()
	if hung > 0 { // updates that heed their ctx end and count
		select {
		case <-ended:
		case <-time.After(time.Second):
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	res := r.result
	res.Usage, res.Took, res.Hung, res.Commands = used, took, hung, commands
	res.Failed = max(0, res.Failed-hung)
	res.Latency = r.total
	if res.Retries = r.impl.Retries(); res.Retries >= 0 {
		res.Retries -= retries
	}
	if s, ok := r.impl.(sections); ok {
		res.Handovers = *s.Handovers()
	}
	return &res
}

// await returns the number of updates that hang, 0 if all end.
func (r *race) await(ended <-chan struct{}) int64 {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ended:
			return 0
		case <-tick.C:
			last := max(time.Duration(r.moved.Load()), r.job.Slot)
			if time.Since(r.began) > last+patience {
				return r.pending.Load()
			}
		}
	}
}

// sections is an Impl over a lock service.
type sections interface {
	Handovers() *stats.Histogram
	Last(key string) bool
}

// awaitTurn waits until another process has begun a section of the key, or the slot has ended. It returns the time
// since began.
func (r *race) awaitTurn(key string) time.Duration {
	if s, ok := r.impl.(sections); ok {
		for s.Last(key) && time.Since(r.began) < r.job.Slot {
			time.Sleep(200 * time.Microsecond)
		}
	}
	return time.Since(r.began)
}

// maxFailures ends a goroutine whose every update fails at once.
const maxFailures = 100

// runner updates its keys until the slot ends. Its last update may end later. It counts for
// everything but the rate.
func (r *race) runner(ctx context.Context, keys []string) {
	var latency stats.Histogram
	var done, inSlot, failed int64
	var first error
	caller := ctx
	if r.job.Background {
		caller = context.Background()
	}
	fn := func(old []byte) ([]byte, error) {
		time.Sleep(r.job.Fn)
		return increment(old)
	}
	now := time.Duration(0)
	for now < r.job.Slot && failed < maxFailures && ctx.Err() == nil {
		key := keys[(done+failed)%int64(len(keys))]
		if r.job.Alternate {
			now = r.awaitTurn(key)
		}
		r.pending.Add(1)
		err := peers.UpdateAll(caller, r.impl, strings.Fields(key), fn)
		end := time.Since(r.began)
		r.pending.Add(-1)
		if err != nil {
			failed++
			if first == nil {
				first = err
			}
			now = end
			continue
		}
		latency.Add(end - now)
		now = end
		done++
		if now <= r.job.Slot {
			inSlot++
		}
		r.moved.Store(int64(now))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.total.Merge(&latency)
	r.result.Done += done
	r.result.InSlot += inSlot
	r.result.Failed += failed
	if first != nil && r.result.Err == "" {
		r.result.Err = first.Error()
	}
}
