package holder

import (
	"context"
	"errors"
	"time"

	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/lockupdate/internal/driver"
	"github.com/unwatch/unwatch/lockupdate/internal/event"
	"github.com/unwatch/unwatch/lockupdate/internal/poll"
	"github.com/unwatch/unwatch/lockupdate/internal/transport"
	"github.com/unwatch/unwatch/rmw"
)

// readUpTo is the size of a value, in bytes, up to which every acquire reads it along, and
// not only the first: the round trip saved under the lock is worth more than the bytes.
const readUpTo = 4 << 10

// acquired is the answer to an acquire, with the value that was read along.
type acquired struct {
	driver.AcquireResult
	loaded  bool   // value has been read
	seq     uint64 // of that read
	value   rmw.Value
	readErr error
}

// tryAcquire asks for the lock once, and reads the value for c along with it. The value may
// be read before the lock is taken: the guard covers that. hint is told to the holder.
func (h *holder) tryAcquire(ctx context.Context, c *Call, hint time.Duration) (acquired, error) {
	t := h.queues.transport
	h.sent = time.Now()
	r := driver.AcquireRequest{
		Lock: h.queue.lock, Owner: h.Owner(), Lease: h.queues.options.Expiry,
		Hint: hint, Polled: h.polling, Again: h.lateUntil != 0,
	}
	if h.previous != 0 {
		r.Previous = h.queues.ownerIDs.Name(h.previous)
	}
	if r.Polled && r.Hint > 0 {
		h.setHint(r)
	}
	take := t.Driver.Acquire(r)
	cmds := take
	if !c.section && h.largest <= readUpTo {
		cmds = append(cmds, t.Driver.Read(c.key))
	}
	seq := h.queues.seq.Add(1)
	t.Send(ctx, cmds...)
	if sent := take[0].Sent(); !sent.IsZero() {
		h.sent = sent // the lease begins no earlier, however long the command has waited for its turn
	}
	res, err := t.Driver.Acquired(r, take)
	if take[0].Doubled {
		h.lateUntil, h.lateEnded = h.queues.keeper.At(h.sent)+r.Lease, take[0].FirstEnded()
	}
	if err != nil {
		if redisx.OutcomeOf(err) == redisx.Unknown {
			h.lateUntil = h.queues.keeper.At(h.sent) + r.Lease
		}
		return acquired{}, err
	}
	a := acquired{AcquireResult: res, seq: seq}
	if len(cmds) > len(take) {
		a.value, a.readErr = t.Driver.Value(c.key.Kind, cmds[len(take)])
		a.loaded = redisx.OutcomeOf(a.readErr) == redisx.Done
		if a.loaded {
			h.largest = max(h.largest, a.value.Size())
		}
	}
	return a, nil
}

// acquire asks until it has the lock, as long as a call waits for it. It returns false
// when all calls are answered.
func (h *holder) acquire() bool {
	schedule := h.schedule()
	schedule.Began = time.Now()
	var outage transport.Outage
	for lostReplies := 0; ; {
		first := h.awaitTurn()
		if first == nil {
			return false
		}
		ctx := h.contextFor(first)
		if !schedule.Known() {
			schedule.Hold = h.queues.estimates.Expected(first.key.Label)
		}
		hint := schedule.Ceiling(time.Now())
		if first.noWait {
			hint = 0
		}
		a, err := h.tryAcquire(ctx, first, hint)
		if outage.Active() && err == nil {
			outage = transport.Outage{}
			h.setOutage(nil)
		}
		if errors.Is(a.readErr, rmw.ErrWrongKind) && !driver.MayBeSealed(a.readErr) { // the lock would not change that
			h.refuseKey(first.key, a.readErr)
		}
		switch {
		case err == nil && a.Granted:
			h.take(first, a, schedule.Learned(time.Now()))
			return true
		case err == nil:
			lostReplies = 0
			now := time.Now()
			h.blockedAt(now)
			h.queues.emit(event.Event{Kind: event.Polled, Lock: h.queue.lock, N: 1, Call: first.caller(ctx)})
			h.rest(schedule.Pause(h.sent, now, a.PTTL, a.Hint, transport.Jitter()), nil)
		case h.queues.transport.Unreached(err):
			h.awaitStore(&outage, err)
		case redisx.OutcomeOf(err) == redisx.NotDone:
			h.queue.refuse("", redisx.Blame(ctx, err), nil)
			return false
		default:
			// The lock may be ours. The driver recognises the owner, so that asking again
			// is safe; giving up takes a release.
			if lostReplies++; lostReplies == transport.Tries {
				h.queue.refuse("", redisx.Blame(ctx, err), nil)
				return false
			}
			h.rest(transport.RetryDelay.Delay(lostReplies, transport.Jitter()), nil)
		}
		if h.queues.gate.Closed() {
			h.queue.refuse("", rmw.ErrClosed, func(c *Call) bool { return c.attempts == 0 })
		}
	}
}

// take begins to hold the lock, which was asked for with the call first.
func (h *holder) take(first *Call, a acquired, usualWait time.Duration) {
	h.began = h.queues.keeper.Now()
	l := h.queues.keeper.Keep(h, h.sent)
	h.queue.mu.Lock()
	defer h.queue.mu.Unlock()
	h.lease, h.label, h.contended, h.polling = l, first.key.Label, h.polling, false
	h.checked, h.queue.usualWait = h.began, microsOf(usualWait)
	if a.loaded {
		h.loadLocked(first.key, a.value, a.seq)
	}
}

// schedule returns the schedule of the polls for the lock.
func (h *holder) schedule() poll.Schedule {
	h.queue.mu.Lock()
	defer h.queue.mu.Unlock()
	return poll.Schedule{Backoff: h.queues.options.Poll, Lease: h.queues.options.Expiry, Wait: h.queue.usualWait.duration()}
}

// blockedAt records that another process has the lock, and refuses the calls that must not
// wait.
func (h *holder) blockedAt(now time.Time) {
	h.queue.mu.Lock()
	h.polling = true
	h.queue.blockLocked(now)
	h.queue.mu.Unlock()
	h.queue.refuse("", errTaken, func(c *Call) bool { return c.noWait })
}

func (h *holder) setOutage(err error) {
	h.queue.mu.Lock()
	defer h.queue.mu.Unlock()
	h.outage = err
}

// awaitStore waits for the end of an outage. It refuses the calls that have waited for
// Config.MaxOutage, and those that never wait.
func (h *holder) awaitStore(o *transport.Outage, err error) {
	t := h.queues.transport
	o.Failed(h.sent)
	err = redisx.Blame(context.Background(), err)
	h.setOutage(err)
	h.queue.refuse("", err, func(c *Call) bool { return c.noWait || t.Left(o, c.arrived) <= 0 })
	if first := h.queue.head(); first != nil { // the others came later
		closed, pause := t.NextTry(o)
		h.rest(min(pause, t.Left(o, first.arrived)), closed)
	}
}

// awaitTurn lets other processes go first that waited when this Store last released the
// lock. It returns the first call that still waits, or nil. The reply to a release in flight may
// tell that they wait: once we hold the lock again it would be too late. The release may hang:
// awaitTurn waits no longer for it than for another poll.
func (h *holder) awaitTurn() *Call {
	for {
		h.queue.mu.Lock()
		first, r, released := h.queue.first, h.queue.releasing, (chan struct{})(nil)
		switch {
		case r == nil:
			h.previous = 0
		case h.previous != r.owner:
			h.previous, released = r.owner, r.released
		}
		away := h.queue.backoffUntil - h.queues.keeper.Now()
		h.queue.mu.Unlock()
		switch {
		case released != nil:
			h.rest(h.queues.options.Poll.Max, released)
		case first == nil || away <= 0 || h.queues.gate.Closed():
			return first
		default:
			h.blockedAt(time.Now())
			h.rest(away, nil)
		}
	}
}

// rest waits for d or for over while a call waits. A call that joins meanwhile waits, too: it is no reason to poll.
func (h *holder) rest(d time.Duration, over <-chan struct{}) {
	for end := time.Now().Add(d); h.queue.head() != nil && h.queues.wait(time.Until(end), over, h.woken); {
	}
}
