package shadow

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sony/gobreaker/v2"

	"github.com/unwatch/unwatch/shadow/internal/notcompared"
	"github.com/unwatch/unwatch/shadow/report"
)

// engine takes calls from callers and gives them to the comparators. Its goroutines start
// with the first call.
//
// A call is in flight from its caller until the last comparator is done with it. Only
// record turns calls away for lack of room, so no channel behind it is ever full.
type engine struct {
	store    *Store
	cfg      Config
	counters *counters
	hidden   *hiddenPath
	active   [2]bool // by index
	me       string  // in the ids of this engine; a restarted process has another one

	ctx     context.Context // of the hidden path; ends with Kill and Close
	start   sync.Once
	running sync.WaitGroup
	ending  sync.Once
	ended   chan struct{} // closed when all goroutines have ended
	rate    rate

	// Guarded by the counters' lock.
	closed atomic.Bool   // set under the lock: a call is queued before, or dropped
	idle   chan struct{} // closed when nothing is in flight; nil while Drain does not wait

	queue chan call // to the dispatcher; made with the first call
	seeds chan *item
	races chan *item
	free  *free
}

// item is a call on its way through the comparators.
type item struct {
	*call
	left atomic.Int32 // comparators that are not done with it
}

func newEngine(s *Store) *engine {
	e := &engine{
		store: s, cfg: s.cfg, counters: s.counters, hidden: newHiddenPath(s.hidden, s.counters),
		ended: make(chan struct{}),
		seeds: make(chan *item, s.cfg.QueueCalls), races: make(chan *item, s.cfg.QueueCalls),
		me: rand.Text()[:13] + ".", rate: rate{perSecond: float64(s.cfg.Rate)},
	}
	e.ctx = e.hidden.ctx
	for i, c := range comparators {
		e.active[i] = !slices.Contains(s.cfg.Skip, c)
	}
	e.free = &free{
		engine: e, chains: map[string]*chain{}, auditNow: make(chan struct{}, 1),
		conflicts: make(chan struct{}, max(1, e.cfg.Workers/4)), probes: make(chan struct{}, 1),
	}
	return e
}

// concerns reports whether a comparator compares a call: the chains of the free run consist of
// writes.
func (e *engine) concerns(i int, c *call) bool { return e.active[i] && (i == 0 || c.written) }

// record takes a call from its caller. It must be quick and must not allocate.
func (e *engine) record(c *call, failed report.Reason, err error) {
	c.bytes = c.size()
	reason := ""
	if failed != "" {
		reason = reasonName(err) // may call methods of the user's error: not under the lock
	}
	e.counters.mu.Lock()
	defer e.counters.mu.Unlock()
	h := &e.counters.health
	h.Legacy.Calls++
	if reason != "" {
		h.Legacy.Errors[reason]++
	}
	missed := failed
	switch {
	case failed != "":
	case e.closed.Load() || h.Queue >= int64(e.cfg.QueueCalls):
		missed = notcompared.DroppedQueue
	case h.QueueBytes+c.bytes > e.cfg.QueueBytes:
		missed = notcompared.DroppedBytes
	}
	for i := range c.op.tallies {
		// A failed call may have been of any kind.
		if !e.concerns(i, c) && (failed == "" || !e.active[i]) {
			continue
		}
		c.concerned++
		t := &c.op.tallies[i]
		t.Eligible++
		if missed == "" {
			t.InFlight++
		} else {
			t.NotCompared[missed]++
		}
	}
	switch {
	case failed == "" && c.concerned == 0:
	case missed == "":
		e.start.Do(e.run)
		e.queue <- *c // there is room, as all calls in flight are at most QueueCalls
		h.Queue++
		h.QueueBytes += c.bytes
		h.QueueMost = max(h.QueueMost, h.Queue)
	}
	if failed == "" && missed != "" {
		m := e.counters.minuteLocked(e.store.epoch.Add(c.at)) // quicker than time.Now
		m.NotCompared += int64(c.concerned)
		m.Dropped += int64(c.concerned)
	}
}

// run starts the goroutines.
func (e *engine) run() {
	e.queue = make(chan call, e.cfg.QueueCalls)
	e.running.Go(e.dispatch)
	for range e.cfg.Workers {
		if e.active[index(report.Seeded)] {
			e.running.Go(func() { e.work(e.seeds, report.Seeded, e.seeded) })
		}
		if e.active[index(report.Free)] {
			e.running.Go(func() { e.work(e.races, report.Free, e.free.race) })
		}
	}
	if e.active[index(report.Free)] {
		e.running.Go(e.free.audit)
	}
}

// dispatch gives each call to the comparators.
func (e *engine) dispatch() {
	for {
		select {
		case c := <-e.queue:
			e.hand(c)
		case <-e.ctx.Done():
			return
		}
	}
}

// hand gives a call to the comparators that it concerns.
func (e *engine) hand(c call) {
	c.ended = e.store.epoch.Add(c.at)
	it := &item{call: &c}
	why := report.Reason("")
	switch {
	case e.hidden.ended():
		why = notcompared.DroppedMode
	case e.hidden.breaker.State() == gobreaker.StateOpen:
		why = notcompared.DroppedBreaker
	case !e.rate.take():
		why = notcompared.DroppedRate
	}
	it.left.Store(c.concerned)
	e.counters.locked(func(h *report.Health) { h.QueueWait.Record(time.Since(c.ended)) })
	for i, c := range comparators {
		switch {
		case !e.concerns(i, it.call):
		case why != "":
			e.settle(it, c, finding{missed: why})
		case c == report.Seeded:
			e.seeds <- it
		default:
			e.races <- it
		}
	}
}

// work is a goroutine of a comparator.
func (e *engine) work(items <-chan *item, comparator report.Comparator, compare func(*item)) {
	guarded := func(it *item) {
		defer e.counters.onPanic(func() { e.settle(it, comparator, finding{missed: notcompared.ShadowPanic}) })
		if e.hidden.ended() {
			e.settle(it, comparator, finding{missed: notcompared.DroppedMode})
			return
		}
		compare(it)
	}
	for {
		select {
		case it := <-items:
			guarded(it)
		case <-e.ctx.Done():
			return
		}
	}
}

// settle ends a comparison. Each comparator settles each call that concerns it, once.
func (e *engine) settle(it *item, comparator report.Comparator, f finding) {
	e.counters.settle(it, comparator, f)
	e.done(it)
}

// done makes room for another call once all comparators are done with this one.
func (e *engine) done(it *item) {
	if it.left.Add(-1) > 0 {
		return
	}
	e.counters.mu.Lock()
	defer e.counters.mu.Unlock()
	h := &e.counters.health
	h.Queue--
	h.QueueBytes -= it.bytes
	if h.Queue == 0 && e.idle != nil {
		close(e.idle)
		e.idle = nil
	}
}

// stop drops the calls that come from now on.
func (e *engine) stop() { e.counters.locked(func(*report.Health) { e.closed.Store(true) }) }

// drain waits until nothing is in flight.
func (e *engine) drain(ctx context.Context) error {
	for {
		e.counters.mu.Lock()
		if e.counters.health.Queue == 0 {
			e.counters.mu.Unlock()
			return nil
		}
		if e.idle == nil {
			e.idle = make(chan struct{})
		}
		idle := e.idle
		e.counters.mu.Unlock()
		e.free.hurry()
		select {
		case <-idle:
		case <-ctx.Done():
			return ctx.Err()
		case <-e.ctx.Done():
			return errEnded
		}
	}
}

func (e *engine) draining() bool {
	e.counters.mu.Lock()
	defer e.counters.mu.Unlock()
	return e.idle != nil
}

// kill drops all queued calls and cancels those of the hidden path.
func (e *engine) kill() {
	e.stop()
	e.hidden.cancel()
	e.ending.Do(func() {
		go func() {
			e.running.Wait()
			e.sweep()
			close(e.ended)
		}()
	})
}

// sweep counts the remaining calls as dropped, once the goroutines have ended.
func (e *engine) sweep() {
	for len(e.queue) > 0 {
		e.hand(<-e.queue) // as the hidden path has ended, it only counts the call
	}
	for len(e.seeds) > 0 {
		e.settle(<-e.seeds, report.Seeded, finding{missed: notcompared.DroppedMode})
	}
	for len(e.races) > 0 {
		e.settle(<-e.races, report.Free, finding{missed: notcompared.DroppedMode})
	}
	e.free.sweep()
}

// Close stops the sampling, waits at most Config.CloseTimeout until the recorded calls are
// compared, drops the rest, and ends all goroutines. The Store goes on serving.
func (s *Store) Close() error {
	e := s.engine
	ctx, cancel := context.WithTimeout(context.Background(), e.cfg.CloseTimeout)
	defer cancel()
	e.stop()
	drained := e.drain(ctx)
	e.kill()
	grace := time.NewTimer(time.Second)
	defer grace.Stop()
	select {
	case <-e.ended:
	case <-grace.C:
		return errors.New("shadow: a call of the hidden path does not end although its ctx has")
	}
	if drained != nil {
		return fmt.Errorf("shadow: closed before all calls were compared: %w", drained)
	}
	return nil
}

// rate is a token bucket for one second of calls. Only the dispatcher uses it.
type rate struct {
	perSecond float64 // 0: unlimited
	tokens    float64
	filled    time.Time
}

func (r *rate) take() bool {
	if r.perSecond == 0 {
		return true
	}
	now := time.Now()
	r.tokens = min(r.perSecond, r.tokens+now.Sub(r.filled).Seconds()*r.perSecond) // all of them at first
	r.filled = now
	if r.tokens < 1 {
		return false
	}
	r.tokens--
	return true
}
