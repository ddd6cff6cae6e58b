package shadow

import (
	"context"
	"crypto/rand"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sony/gobreaker/v2"

	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/shadow/report"
)

// engine takes calls from callers and gives them to the comparators. It has goroutines
// of its own, started with the first call.
//
// A call is counted in where a caller leaves it, and out by the last comparator that is
// done with it. Only at the entrance is anything ever turned away for want of room, so
// no channel behind it is ever full.
type engine struct {
	store  *Store
	book   *book
	hidden rmw.Store
	active [3]bool // comparators
	me     string  // in the names of this engine's scratch keys, and of its commits; a process that is started again is another one

	ctx     context.Context // of all that is sent to the hidden path
	cancel  context.CancelFunc
	start   sync.Once
	running sync.WaitGroup
	ending  sync.Once
	ended   chan struct{} // closed when all goroutines have ended
	breaker *gobreaker.CircuitBreaker[struct{}]
	rate    *rate
	dropAll atomic.Bool // nothing more is to be compared

	// Guarded by the book's lock.
	ring    []call // of QueueCalls
	head, n int
	gaps    []uint64 // keys of which a call was not recorded
	allGaps bool     // more than gaps has room for
	parked  bool     // the dispatcher waits to be woken
	closed  bool
	idle    chan struct{} // closed when nothing is in flight any more; nil if nobody waits for that

	wake     chan struct{}
	seeds    chan *item
	races    chan *item
	lockstep *lockstep
	free     *free
	touched  *registry
}

// item is a call on its way through the comparators.
type item struct {
	*call
	left atomic.Int32 // comparators that are not done with it

	// Of the lockstep comparator.
	was, is digest   // of what the call was computed from, and what it left
	blame   *finding // on the way
}

const maxGaps = 1024

func newEngine(s *Store) *engine {
	e := &engine{
		store: s, book: s.book, hidden: s.hidden, active: [3]bool{true, true, true}, rate: newRate(s.cfg.Rate),
		wake: make(chan struct{}, 1), ended: make(chan struct{}), gaps: make([]uint64, 0, maxGaps),
		seeds: make(chan *item, s.cfg.QueueCalls), races: make(chan *item, s.cfg.QueueCalls),
		touched: newRegistry(s.cfg.Keys), me: rand.Text()[:13] + ".",
	}
	for _, c := range s.cfg.Skip {
		e.active[index(c)] = false
	}
	if s.cfg.Serve == Candidate {
		e.active = [3]bool{false, true, false}
	}
	e.ctx, e.cancel = context.WithCancel(context.Background())
	e.lockstep, e.free = newLockstep(e), newFree(e)
	e.breaker = gobreaker.NewCircuitBreaker[struct{}](gobreaker.Settings{
		Timeout:      5 * time.Second,
		MaxRequests:  1,
		IsSuccessful: func(err error) bool { return err == nil || !isOutage(err) || e.ctx.Err() != nil },
		ReadyToTrip: func(c gobreaker.Counts) bool {
			return c.ConsecutiveFailures >= 10 || c.Requests >= 100 && c.TotalFailures*2 > c.Requests
		},
		Interval: 10 * time.Second,
		OnStateChange: func(_ string, _, to gobreaker.State) {
			e.book.mu.Lock()
			defer e.book.mu.Unlock()
			e.book.health.breaker = to.String()
			if to == gobreaker.StateOpen {
				e.book.health.trips++
			}
		},
	})
	return e
}

// concerns reports whether a comparator has anything to say of a call: only what was
// written is a link of a chain.
func (e *engine) concerns(i int, c *call) bool { return e.active[i] && (i == 0 || c.written) }

// record takes a call from its caller, who waits: it must be quick and allocate nothing.
func (e *engine) record(c *call, failed report.Reason, err error) {
	c.bytes = int64(c.old.ApproxSize() + c.next.ApproxSize() + len(c.key.Name))
	reason := ""
	if err != nil && failed != "" {
		reason = reasonName(err) // it may call methods of the user's: not behind a lock
	}
	b := e.book
	b.mu.Lock()
	h := &b.health
	h.calls++
	if reason != "" {
		h.errors[reason]++
	}
	full := e.closed || h.inFlight >= int64(b.cfg.QueueCalls)
	large := h.bytes+c.bytes > b.cfg.QueueBytes
	gap := failed == report.PrimaryIndeterminate
	concerned := int64(0)
	for i := range c.op.tallies {
		// What failed might have been of any kind.
		if !e.concerns(i, c) && (failed == "" || !e.active[i]) {
			continue
		}
		concerned++
		t := &c.op.tallies[i]
		t.eligible++
		switch {
		case failed != "":
			t.not[failed]++
		case full:
			t.droppedQueue++
		case large:
			t.droppedBytes++
		default:
			t.inFlight++
		}
	}
	switch {
	case failed == "" && concerned == 0:
	case failed == "" && !full && !large:
		e.push(c)
	case c.written || gap:
		e.gap(c.hash)
	}
	if failed == "" && (full || large) {
		m := b.minute(e.store.epoch.Add(c.at)) // quicker than time.Now
		m.NotCompared += concerned
		m.Dropped += concerned
	}
	wake := e.parked && e.n > 0
	if wake {
		e.parked = false
	}
	b.mu.Unlock()
	if wake {
		select {
		case e.wake <- struct{}{}:
		default:
		}
	}
}

// push queues a call. The book's lock is held.
func (e *engine) push(c *call) {
	if e.ring == nil {
		e.ring = make([]call, e.book.cfg.QueueCalls)
		e.parked = true
		e.start.Do(e.run)
	}
	e.ring[(e.head+e.n)%len(e.ring)] = *c
	e.n++
	h := &e.book.health
	h.inFlight++
	h.bytes += c.bytes
	h.most = max(h.most, h.inFlight)
}

// takeAll empties the queue. The book's lock is held.
func (e *engine) takeAll() []*item {
	items := make([]*item, 0, e.n)
	for ; e.n > 0; e.n-- {
		c := e.ring[e.head]
		c.ended = e.store.epoch.Add(c.at)
		e.ring[e.head] = call{} // its values may go
		e.head = (e.head + 1) % len(e.ring)
		items = append(items, &item{call: &c})
	}
	return items
}

// gap notes that a link of a key's chain is missing. The book's lock is held.
func (e *engine) gap(hash uint64) {
	if len(e.gaps) == maxGaps {
		e.allGaps = true
		return
	}
	e.gaps = append(e.gaps, hash)
}

// run starts the goroutines.
func (e *engine) run() {
	e.running.Go(e.dispatch)
	for range e.book.cfg.Workers {
		if e.active[0] {
			e.running.Go(func() { e.work(e.seeds, report.Seeded, e.seeded) })
		}
		if e.active[2] {
			e.running.Go(func() { e.work(e.races, report.Free, e.free.race) })
		}
	}
	if e.active[1] {
		e.lockstep.run()
	}
	if e.active[2] {
		e.running.Go(e.free.audit)
	}
}

// dispatch gives each call to the comparators.
func (e *engine) dispatch() {
	for {
		e.book.mu.Lock()
		batch := e.takeAll()
		gaps, all := append([]uint64(nil), e.gaps...), e.allGaps
		e.gaps, e.allGaps = e.gaps[:0], false
		e.parked = len(batch) == 0
		e.book.mu.Unlock()
		e.lockstep.miss(gaps, all)
		for _, it := range batch {
			e.hand(it)
		}
		if len(batch) > 0 {
			continue
		}
		select {
		case <-e.wake:
		case <-e.ctx.Done():
			return
		}
	}
}

// hand gives a call to the comparators that it concerns.
func (e *engine) hand(it *item) {
	why := report.Reason("")
	switch {
	case e.dropAll.Load():
		why = report.DroppedMode
	case e.breaker.State() == gobreaker.StateOpen:
		why = report.DroppedBreaker
	case !e.rate.take():
		why = report.DroppedRate
	}
	var concerned [3]bool
	for i := range concerned {
		if concerned[i] = e.concerns(i, it.call); concerned[i] {
			it.left.Add(1)
		}
	}
	e.book.waited(it)
	if why != "" && it.written {
		e.lockstep.miss([]uint64{it.hash}, false)
	}
	for i, c := range report.Comparators() {
		switch {
		case !concerned[i]:
		case why != "":
			e.pass(it, c, why)
		case c == report.Seeded:
			e.seeds <- it
		case c == report.Lockstep:
			e.lockstep.give(it)
		default:
			e.races <- it
		}
	}
}

// work is a worker of the comparators that need no order.
func (e *engine) work(items <-chan *item, comparator report.Comparator, compare func(it *item)) {
	for {
		select {
		case it := <-items:
			e.guarded(it, comparator, compare)
		case <-e.ctx.Done():
			return
		}
	}
}

// guarded compares, and survives what it runs.
func (e *engine) guarded(it *item, comparator report.Comparator, compare func(it *item)) {
	if e.dropAll.Load() {
		e.pass(it, comparator, report.DroppedMode)
		return
	}
	defer func() {
		if p := recover(); p != nil {
			e.book.panicked()
			e.pass(it, comparator, report.ShadowPanic)
		}
	}()
	compare(it)
}

// settle ends a comparison with a finding, pass without one. Each item gets exactly one
// of them from each comparator.
func (e *engine) settle(it *item, comparator report.Comparator, f finding) {
	if comparator == report.Lockstep && it.blame != nil && !f.class.Blocks() {
		f = *it.blame
	}
	e.book.settle(it, comparator, f)
	e.done(it)
}

func (e *engine) pass(it *item, comparator report.Comparator, why report.Reason) {
	if comparator == report.Lockstep && it.blame != nil {
		e.settle(it, comparator, *it.blame)
		return
	}
	e.book.pass(it, comparator, why)
	e.done(it)
}

func (e *engine) done(it *item) {
	if it.left.Add(-1) == 0 {
		e.release(it)
	}
}

// release makes room for another call.
func (e *engine) release(it *item) {
	b := e.book
	b.mu.Lock()
	defer b.mu.Unlock()
	b.health.inFlight--
	b.health.bytes -= it.bytes
	if b.health.inFlight == 0 && e.idle != nil {
		close(e.idle)
		e.idle = nil
	}
}

// ask sends something to the hidden path: in time, and only while that seems to live.
func (e *engine) ask(do func(ctx context.Context) error) error {
	_, err := e.breaker.Execute(func() (_ struct{}, err error) {
		ctx, cancel := context.WithTimeout(e.ctx, e.book.cfg.Timeout)
		defer cancel()
		defer func() {
			if p := recover(); p != nil {
				err = errPanicked
			}
		}()
		return struct{}{}, do(ctx)
	})
	if err == nil || e.ctx.Err() == nil { // what Close or Kill has cut off says nothing of the path
		e.book.asked(err)
	}
	return err
}

// read asks the hidden path for a value.
func (e *engine) read(key rmw.Key) (v rmw.Value, err error) {
	err = e.ask(func(ctx context.Context) (err error) {
		v, err = e.hidden.Read(ctx, key)
		return err
	})
	return v, err
}

// errPanicked is what the hidden path returns when it panics. What it says may be
// private.
var errPanicked = errors.New("shadow: the path panicked")

// outage tells why the hidden path could not answer; "" if it did, whatever it said.
func (e *engine) outage(err error) report.Reason {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, errPanicked):
		return report.ShadowPanic
	case e.dropAll.Load():
		return report.DroppedMode
	case errors.Is(err, gobreaker.ErrOpenState), errors.Is(err, gobreaker.ErrTooManyRequests):
		return report.DroppedBreaker
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return report.ShadowTimeout
	case errors.Is(err, rmw.ErrContended):
		return report.ShadowContended
	case isOutage(err):
		return report.ShadowUnavailable
	}
	return ""
}

// isOutage reports whether an error is about the store, and not about the call.
func isOutage(err error) bool {
	for _, reason := range []error{
		rmw.ErrUnavailable, rmw.ErrOutcomeUnknown, rmw.ErrContended, rmw.ErrLockLost, rmw.ErrClosed,
		context.DeadlineExceeded, context.Canceled, gobreaker.ErrOpenState, gobreaker.ErrTooManyRequests, errPanicked,
	} {
		if errors.Is(err, reason) {
			return true
		}
	}
	return false
}
