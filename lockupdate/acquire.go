package lockupdate

import (
	"context"
	"errors"
	"time"

	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/rmw"
)

// pollReadLimit is the size of a value, in bytes, up to which it is read along
// with every attempt to take a lock, not only with the first: the round trip this
// saves while holding the lock is worth more than the bytes.
const pollReadLimit = 4 << 10

// acquisition is a tenure's way to its lock. Only the tenure's goroutine uses it.
type acquisition struct {
	previous string    // the owner before it, if its release is on its way
	largest  int       // bytes of the largest value read on the way
	sent     time.Time // the last acquire
}

// grant is the answer to an attempt to take the lock.
type grant struct {
	taken   bool          // by another
	pttl    time.Duration // then, how long the holder's lease lasts; negative: unlimited
	loaded  bool          // value is what the key held
	value   rmw.Value
	readErr error
}

// attempt asks for the lock once, and reads the value that u wants along with it. The
// value may have been read before the lock was taken: the guard makes that no
// difference. note is what a holder shall be told.
func (t *tenure) attempt(u *update, note time.Duration) (grant, error) {
	t.sent = time.Now()
	q := question{
		lock: t.lock, owner: t.owner, previous: t.previous, lease: t.cfg.Lease,
		note: note, polled: t.polling, again: !t.ghost.IsZero(),
	}
	if q.polled && q.note > 0 {
		t.leaveNote(q)
	}
	take := t.dialect.acquire(q)
	calls := take
	if !u.section && t.largest <= pollReadLimit {
		calls = append(calls, t.dialect.read(u.key))
	}
	t.flights.send(t.ctx, calls...)
	granted, pttl, err := t.dialect.granted(q, take)
	if err != nil {
		if redisx.OutcomeOf(err) == redisx.Unknown {
			t.ghost = t.sent
		}
		return grant{}, err
	}
	g := grant{taken: !granted, pttl: pttl}
	if len(calls) > len(take) {
		g.value, g.readErr = t.dialect.value(u.key.Kind, calls[len(take)])
		g.loaded = redisx.OutcomeOf(g.readErr) == redisx.Done
		if g.loaded {
			t.largest = max(t.largest, g.value.Size())
		}
	}
	return g, nil
}

// leaveNote tells the holder that we wait, where the question itself does not. The
// note goes another way than the question: it may arrive when the lock has been ours
// and is given back, and then nobody else would take it back.
func (t *tenure) leaveNote(q question) {
	notify := t.dialect.notify(q)
	if notify == nil {
		return
	}
	noted := q
	if t.aside(notify, func() {
		if t.givenBack.Load() {
			t.flights.send(context.Background(), t.dialect.takeBack(noted))
		}
	}) {
		t.noted = &noted
	}
}

// acquire asks until the lock is the tenure's, for as long as somebody waits for it.
// It reports whether it is; if not, it has answered everybody who waited.
func (t *tenure) acquire() bool {
	began := time.Now()
	p := pace{backoff: t.cfg.Poll, lease: t.cfg.Lease}
	defer func() { t.ctx = context.Background() }()
	var out outage
	for lostAnswers := 0; ; {
		first := t.afterOthers()
		if first == nil {
			return false
		}
		t.ctx = t.contextOf(first)
		if p.expires.IsZero() {
			p.hold = t.holds.expected(first.key.Label)
		}
		note := p.ceiling()
		if first.noWait {
			note = 0
		}
		g, err := t.attempt(first, note)
		if out.tries > 0 && err == nil {
			out = outage{}
			t.mu.Lock()
			t.away = nil
			t.mu.Unlock()
		}
		if errors.Is(g.readErr, rmw.ErrWrongKind) { // no lock would change that
			t.refuseKey(first.key, g.readErr)
		}
		switch {
		case err == nil && !g.taken:
			t.take(first.key, g)
			t.note(Event{Kind: EventAcquired, Lock: t.lock, N: 1, Took: time.Since(began)})
			return true
		case err == nil:
			lostAnswers = 0
			now := time.Now()
			t.mu.Lock()
			t.polling = true
			t.block(now)
			t.mu.Unlock()
			t.refuse("", errTaken, func(u *update) bool { return u.noWait })
			t.note(Event{Kind: EventPolled, Lock: t.lock, N: 1})
			t.rest(p.pause(now, g.pttl, jitter()))
		case t.unreached(err):
			t.awaitStore(&out, err)
		case redisx.OutcomeOf(err) == redisx.NotDone:
			t.refuse("", redisx.Blame(t.ctx, err), nil)
			return false
		default:
			// The lock may be ours. The script knows its owner, so asking
			// again is safe; giving up takes a release.
			if lostAnswers++; lostAnswers == tries {
				t.refuse("", redisx.Blame(t.ctx, err), nil)
				return false
			}
			t.rest(retryDelay.Delay(lostAnswers, jitter()))
		}
		if t.gate.Closed() {
			t.refuse("", rmw.ErrClosed, nil)
			return false
		}
	}
}

// contextOf returns the ctx of a command for the line, of which u is the first: that of
// u, without its end, or one without values if other calls wait for the command, too.
func (t *tenure) contextOf(u *update) context.Context {
	t.mu.Lock()
	defer t.mu.Unlock()
	if u.next != nil {
		return context.Background()
	}
	return context.WithoutCancel(u.ctx)
}

// afterOthers lets other processes in that waited when this one last gave the lock
// back. It returns the first who still waits here, if anybody does.
func (t *tenure) afterOthers() *update {
	t.awaitAnswer()
	for {
		t.mu.Lock()
		now, first := time.Now(), t.first
		t.previous = t.releasing
		away := t.awayUntil.Sub(now)
		if away > 0 {
			t.polling = true
			t.block(now)
		}
		t.mu.Unlock()
		if first == nil || away <= 0 || t.gate.Closed() {
			return first
		}
		t.refuse("", errTaken, func(u *update) bool { return u.noWait })
		t.rest(away)
	}
}

// awaitAnswer waits for the answer to a release of ours that may tell that others
// wait. It would be too late once we have the lock again. But it may be one that
// hangs: no longer than for another poll.
func (t *tenure) awaitAnswer() {
	t.mu.Lock()
	landed := t.queue.landed
	t.queue.landed = nil
	t.mu.Unlock()
	if landed != nil {
		t.restUntil(landed, t.cfg.Poll.Max)
	}
}

// rest waits for d, but not when nobody waits any more, nor when the Store is closed.
// Whoever joins the line meanwhile waits as well: he is no reason to poll.
func (t *tenure) rest(d time.Duration) { t.restUntil(nil, d) }

func (t *tenure) restUntil(over <-chan struct{}, d time.Duration) {
	t.setClock(d)
	defer t.clock.Stop()
	for t.head() != nil {
		select {
		case <-t.clock.C:
			return
		case <-over:
			return
		case <-t.gate.Closing:
			return
		case <-t.poked:
		}
	}
}

// head returns the update whose turn is next, or nil.
func (t *tenure) head() *update {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.first
}
