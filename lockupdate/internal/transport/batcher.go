package transport

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/lockupdate/internal/driver"
)

// batcher lets the commands of concurrent callers share flushes: while some flushes are
// in flight, further commands gather in a batch. A command that is alone never waits. The
// commands of a batch are independent, and may run in any order.
//
// A flush that is late, see bulkhead, no longer counts as in flight.
type batcher struct {
	far int // how many flushes are in flight before commands gather, over long trips

	mu       sync.Mutex
	flights  []flight      // in the order of their start
	last     uint64        // the last id of a flight
	inFlight int           // flights that count
	newest   time.Time     // start of the newest flight that was answered
	answered time.Time     // when a flight was last answered
	doubts   int           // flights that are late, while nothing tells whether others are answered
	learned  bool          // a flush was answered
	slow     time.Duration // about the longest of the last flushes that none overtook
	trip     time.Duration // about the shortest of the last flushes
	pending  []*batch      // the first is sent next
	singles  [][]caller    // to be used again
	bulkhead bulkhead
}

const (
	// maxInFlight is how many flushes are in flight before commands gather. More flushes
	// use more connections and share less, so that they cost CPU. Where a flush takes longTrip,
	// maxInFlightFar of them cost less than the wait.
	maxInFlight    = 4
	maxInFlightFar = 16
	longTrip       = time.Millisecond
	// maxBatch bounds a flush, so that one that hangs delays few commands.
	maxBatch = 256
)

// flight is a flush in flight.
type flight struct {
	id      uint64
	began   time.Time
	callers []caller
	counts  bool          // toward inFlight
	late    bool          // it no longer counts
	told    bool          // later flights were answered, so that keys are told apart
	onLate  chan struct{} // closed when it is told; or nil
}

// batch is commands that gather. Its first caller leads it.
type batch struct {
	callers []caller
	size    int           // commands
	once    bool          // of commits, which cannot be sent again: a read that hangs must not hold back their replies
	start   chan struct{} // closed when the batch may be sent
	wake    chan struct{} // there are probes
	probes  []*batch      // of one caller each, to be sent at once
	late    chan struct{} // closed when its flight is late, and others are answered
	flight  uint64        // since then
	alone   []caller      // whose commands may not share a flush
}

// caller is the commands of one caller in a flush.
type caller struct {
	ctx    context.Context
	cmds   []*driver.Command
	ticket *driver.Ticket // nil: it has the flush for itself
}

func newBatcher(client Client) *batcher {
	size := poolSize(client)
	b := &batcher{far: min(maxInFlightFar, max(maxInFlight, 3*size/5)), bulkhead: newBulkhead(size)}
	// A ClusterClient has a pool for each node and awaits their replies apart, so that a
	// node that hangs delays nothing but its own commands, and scripts that another node has
	// lost: see byServer.
	_, b.bulkhead.off = client.(*redis.ClusterClient)
	return b
}

// poolSize is the number of connections of the client, as far as it is known.
func poolSize(client Client) int {
	const usual = 10 // of go-redis, for pipelines
	rdb, ok := client.(*redis.Client)
	if !ok || rdb == nil {
		return usual
	}
	o := rdb.Options()
	size := o.PoolSize
	if o.MaxActiveConns > 0 {
		size = min(size, o.MaxActiveConns)
	}
	switch {
	case o.PipelinePoolSize > 0:
		size = min(size, o.PipelinePoolSize)
	case o.PipelinePoolSize == 0:
		size = min(size, usual)
	}
	return size
}

// roomLocked reports whether another flush may be in flight.
func (b *batcher) roomLocked() bool {
	return b.inFlight < maxInFlight || b.inFlight < b.far && b.trip >= longTrip
}

// startLocked begins a flight.
func (b *batcher) startLocked(now time.Time, callers []caller, counts bool) (id uint64) {
	b.last++
	b.flights = append(b.flights, flight{id: b.last, began: now, callers: callers, counts: counts})
	if counts {
		b.inFlight++
	}
	return b.last
}

// joined is how commands are sent: in a flight that has begun, in a batch, or in a lane.
type joined struct {
	flight  uint64
	callers []caller // of the flight
	ticket  *driver.Ticket
	batch   *batch
	leads   bool // the batch
	lane    lane
}

// join adds commands to a batch, unless they are to be sent at once, or alone.
func (b *batcher) join(ctx context.Context, cmds []*driver.Command) joined {
	now := time.Now()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.watchLocked(now)
	if lane := b.bulkhead.laneLocked(cmds); lane != shared {
		return joined{lane: lane}
	}
	if b.roomLocked() && len(b.pending) == 0 {
		driver.NoTicket(cmds)
		callers := b.singleLocked()
		callers[0] = caller{ctx: ctx, cmds: cmds}
		return joined{flight: b.startLocked(now, callers, true), callers: callers}
	}
	c := caller{ctx, cmds, driver.NewTicket(cmds)}
	once := slices.ContainsFunc(cmds, func(c *driver.Command) bool { return c.Once })
	for _, own := range slices.Backward(b.pending) {
		if own.once != once {
			continue
		}
		if own.size+len(cmds) > maxBatch {
			break
		}
		own.callers, own.size = append(own.callers, c), own.size+len(cmds)
		return joined{ticket: c.ticket, batch: own}
	}
	own := &batch{
		callers: []caller{c}, size: len(cmds), once: once,
		start: make(chan struct{}), wake: make(chan struct{}, 1), late: make(chan struct{}),
	}
	b.pending = append(b.pending, own)
	return joined{ticket: c.ticket, batch: own, leads: true}
}

// singleLocked returns a slice for one caller without a ticket. finish takes it back.
func (b *batcher) singleLocked() []caller {
	if n := len(b.singles); n > 0 {
		one := b.singles[n-1]
		b.singles = b.singles[:n-1]
		return one
	}
	return make([]caller, 1)
}

// await waits until a batch may be sent. After that nothing is added to it. It calls probe for callers
// that are to be sent before.
func (b *batcher) await(own *batch, probe func(*batch)) {
	t := time.NewTimer(b.untilLate())
	defer t.Stop()
	for started := false; !started; {
		select {
		case <-own.start:
			started = true // probes may wait, too
		case <-own.wake:
		case <-t.C:
		}
		b.mu.Lock()
		if !started {
			b.watchLocked(time.Now())
			b.nextLocked()
		}
		probes := own.probes
		own.probes = nil
		b.mu.Unlock()
		for _, p := range probes {
			probe(p)
		}
		t.Reset(max(b.untilLate(), time.Millisecond))
	}
}

// untilLate is the time until the oldest flight that counts is late.
func (b *batcher) untilLate() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, f := range b.flights {
		if f.counts && !f.late {
			return time.Until(f.began.Add(b.lateAfterLocked()))
		}
	}
	return 0
}

// nextLocked starts pending batches as long as there is room. In doubt it starts callers by themselves: if one is
// answered, only a part of the store hangs.
func (b *batcher) nextLocked() {
	for b.roomLocked() && len(b.pending) > 0 {
		next := b.pending[0]
		if b.doubts > 0 && len(next.callers) > 1 {
			probe := &batch{callers: next.callers[:1:1], size: len(next.callers[0].cmds), late: next.late}
			next.callers, next.size = next.callers[1:], next.size-probe.size
			next.probes = append(next.probes, probe)
			b.departLocked(probe)
			select {
			case next.wake <- struct{}{}:
			default:
			}
			continue
		}
		b.pending = b.pending[1:]
		next.callers, next.alone = b.bulkhead.splitLocked(next.callers)
		if len(next.callers) > 0 {
			b.departLocked(next)
		}
		close(next.start)
	}
}

func (b *batcher) departLocked(next *batch) {
	next.flight = b.startLocked(time.Now(), next.callers, true)
	if len(next.callers) > 1 {
		b.flights[len(b.flights)-1].onLate = next.late
	}
}

// finish ends a flight, and makes room for the next batch. Every command has a reply or an error.
func (b *batcher) finish(id uint64) {
	now := time.Now()
	b.mu.Lock()
	defer b.mu.Unlock()
	i := slices.IndexFunc(b.flights, func(f flight) bool { return f.id == id })
	f := b.flights[i]
	b.flights = slices.Delete(b.flights, i, i+1)
	if f.counts && !f.late {
		b.inFlight--
	}
	whole := b.endedLocked(&f, now)
	if unanswered(f.callers) == nil {
		if whole {
			b.learnLocked(now.Sub(f.began), b.newest.After(f.began))
		}
		b.answeredLocked(f.began, now)
	}
	if len(f.callers) == 1 && f.callers[0].ticket == nil {
		f.callers[0] = caller{}
		b.singles = append(b.singles, f.callers)
	}
	b.watchLocked(now)
	b.nextLocked()
}

func (b *batcher) answeredLocked(began, now time.Time) {
	b.answered = now
	if b.newest.Before(began) {
		b.newest = began
	}
}

// learnLocked learns the time of a flush that was answered wholly.
func (b *batcher) learnLocked(took time.Duration, overtaken bool) {
	b.learned = true
	if !overtaken {
		b.slow = max(took, b.slow-b.slow/16)
	} else if took >= b.lateAfterLocked() {
		return
	}
	// Flushes that wait for a busy server or client take longer, so that short ones count at
	// once, and long ones slowly.
	b.trip = min(took, b.trip+(took-b.trip)/64)
}
