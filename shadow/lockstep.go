package shadow

import (
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/shadow/report"
)

// lockstep applies each call to the hidden path's own key, when that holds what the call
// was computed from. All calls of a key go through the same worker.
type lockstep struct {
	*engine
	lanes []*lane
}

// lane is one worker's keys.
type lane struct {
	*lockstep
	items   chan *item
	waiting map[*track]struct{} // with calls that wait for the one before

	mu      sync.Mutex
	gaps    map[uint64]struct{} // hashes of keys of which a call is missing
	allGaps int                 // how often it was too many of them: then all keys may be
}

// firstLook is after what time a call looks again whether the one before has arrived
// from another process; it doubles while nothing arrives at all.
const firstLook = 10 * time.Millisecond

// seedWait is how long the first call of a key waits for one before it, until the hidden
// path is given what the call was computed from: calls come in the order in which their
// callers were woken, and from a fleet in any.
const seedWait = 50 * time.Millisecond

func newLockstep(e *engine) *lockstep {
	l := &lockstep{engine: e}
	for range e.book.cfg.Workers {
		l.lanes = append(l.lanes, &lane{
			lockstep: l, items: make(chan *item, e.book.cfg.QueueCalls),
			waiting: map[*track]struct{}{}, gaps: map[uint64]struct{}{},
		})
	}
	return l
}

func (l *lockstep) run() {
	for _, lane := range l.lanes {
		l.running.Go(lane.work)
	}
}

func (l *lockstep) lane(hash uint64) *lane { return l.lanes[(hash>>16)%uint64(len(l.lanes))] }

func (l *lockstep) give(it *item) { l.lane(it.hash).items <- it }

// miss notes that calls of these keys will not come.
func (l *lockstep) miss(hashes []uint64, all bool) {
	for _, hash := range hashes {
		lane := l.lane(hash)
		lane.mu.Lock()
		if lane.gaps[hash] = struct{}{}; len(lane.gaps) > maxGaps {
			lane.forget()
		}
		lane.mu.Unlock()
	}
	if all {
		for _, lane := range l.lanes {
			lane.mu.Lock()
			lane.forget()
			lane.mu.Unlock()
		}
	}
}

// forget takes all keys for incomplete, instead of many. The lock is held.
func (l *lane) forget() {
	clear(l.gaps)
	l.allGaps++
}

// missed reports, and forgets, that a call of the key is missing.
func (l *lane) missed(t *track, hash uint64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, missed := l.gaps[hash]
	delete(l.gaps, hash)
	missed = missed || t.allGaps != l.allGaps
	t.allGaps = l.allGaps
	return missed
}

// sweep counts out what is left when the workers have ended.
func (l *lockstep) sweep() {
	for _, lane := range l.lanes {
		for t := range lane.waiting {
			for _, it := range t.pending {
				l.pass(it, report.Lockstep, report.DroppedMode)
			}
			t.pending = nil
		}
		for len(lane.items) > 0 {
			l.pass(<-lane.items, report.Lockstep, report.DroppedMode)
		}
	}
}

func (l *lane) work() {
	clock := time.NewTimer(time.Hour)
	defer clock.Stop()
	for {
		clock.Reset(l.untilNext())
		select {
		case it := <-l.items:
			t := l.touched.touch(it.call)
			l.step(t, it)
		case <-clock.C:
			for _, t := range l.due() {
				l.step(t, nil)
			}
		case <-l.ctx.Done():
			return
		}
	}
}

func (l *lane) untilNext() time.Duration {
	wait := time.Hour
	for t := range l.waiting {
		wait = min(wait, time.Until(t.next))
	}
	return max(wait, 0)
}

func (l *lane) due() (tracks []*track) {
	now := time.Now()
	for t := range l.waiting {
		if !now.Before(t.next) {
			tracks = append(tracks, t)
		}
	}
	return tracks
}

// step takes in a call, if there is one, and does what can be done for its key.
func (l *lane) step(t *track, it *item) {
	t.lock()
	defer t.unlock()
	defer func() {
		if p := recover(); p != nil {
			l.panicked(t)
		}
		l.touched.worked(t, len(t.pending))
		if len(t.pending) > 0 {
			l.waiting[t] = struct{}{}
		} else {
			delete(l.waiting, t)
		}
	}()
	t.equal = t.equal && it == nil
	if it != nil && t.copied.covers(it) {
		l.pass(it, report.Lockstep, report.Superseded)
		it = nil
	}
	if it != nil {
		if len(t.pending) == 0 {
			t.wait, t.next = time.Now().Add(l.book.cfg.LockstepWait), time.Time{}
			t.moved = time.Now()
		}
		t.key, t.op, t.pending = it.key, it.op, append(t.pending, it) // its kind may change
		t.healed = 0
		it.was, it.is = it.op.compare.digest(it.old), it.op.compare.digest(it.next)
		t.remember(it.was)
		t.remember(it.is)
		t.gap = l.missed(t, it.hash) || t.gap
	}
	l.advance(t)
}

func (l *lane) panicked(t *track) {
	l.book.panicked()
	l.passAll(t, report.ShadowPanic)
}

// advance applies the calls that fit to what the hidden path holds, one after the other,
// until none does.
func (l *lane) advance(t *track) {
	for len(t.pending) > 0 {
		if l.dropAll.Load() {
			l.passAll(t, report.DroppedMode)
			return
		}
		i := l.fitting(t)
		if i >= 0 {
			l.apply(t, i)
			continue
		}
		if !t.known {
			t.next = l.seedAt(t)
			return
		}
		if !l.mayWait(t) {
			if !l.supersede(t) {
				l.resync(t)
			}
			continue
		}
		// What is known may be from before that another process was here, or from before
		// it has expired.
		now := time.Now()
		if now.Before(t.next) {
			return
		}
		if !l.look(t) {
			return
		}
		t.next = earlier(t.wait, now.Add(max(firstLook, now.Sub(t.moved))))
		if l.fitting(t) < 0 {
			return
		}
	}
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// fitting returns the first call that was computed from what the hidden path holds, or
// -1. While that is not known, it is the one that the others come from; it may yet come,
// unless it is there because it has made the key.
func (l *lane) fitting(t *track) int {
	if t.known {
		return slices.IndexFunc(t.pending, func(it *item) bool { return it.was == t.left })
	}
	made := slices.IndexFunc(t.pending, func(it *item) bool { return !it.old.Exists() })
	if made >= 0 && !slices.ContainsFunc(t.pending, func(it *item) bool { return !it.next.Exists() }) {
		return made
	}
	if !t.gap && time.Now().Before(l.seedAt(t)) {
		return -1
	}
	after := map[digest]bool{}
	for _, it := range t.pending {
		if it.was != it.is {
			after[it.is] = true
		}
	}
	return max(0, slices.IndexFunc(t.pending, func(it *item) bool { return !after[it.was] }))
}

// seedAt is when a key of which nothing is known is seeded, whatever has come until then.
func (l *lane) seedAt(t *track) time.Time {
	return t.pending[0].ended.Add(min(seedWait, l.book.cfg.LockstepWait))
}

// mayWait reports whether the call before those that wait may still come.
func (l *lane) mayWait(t *track) bool { return !t.gap && time.Now().Before(t.wait) }

// look reads what the hidden path holds. If it cannot, all that waits is given up.
func (l *lane) look(t *track) bool {
	v, err := l.read(t.key)
	if err != nil {
		l.lose(t, err)
		return false
	}
	if d := t.op.compare.digest(v); !t.known || d != t.left {
		t.holds(d)
		t.life = lifetime{}
	}
	return true
}

// lose gives up all that waits for a key, as the hidden path cannot be asked.
func (l *lane) lose(t *track, err error) {
	why := l.outage(err)
	if errors.Is(err, rmw.ErrWrongKind) { // what has changed the kind was not mirrored; the seeded comparator sees any other reason
		for _, it := range t.abandon() {
			l.settle(it, report.Lockstep, finding{class: report.DriftGap, explain: "the store in the shadow holds a value of another kind"})
		}
		return
	}
	if why == "" {
		for _, it := range t.abandon() {
			l.settle(it, report.Lockstep, refusedFinding(it.call, err, "a read"))
		}
		return
	}
	l.passAll(t, why)
}

func (l *lane) passAll(t *track, why report.Reason) {
	for _, it := range t.abandon() {
		l.pass(it, report.Lockstep, why)
	}
}

func refusedFinding(c *call, err error, doing string) finding {
	return finding{
		class: report.ErrorClass, legacy: c.outcome(), candidate: reasonName(err),
		explain: doing + ": the path in the shadow refuses what the serving one accepts (" + reasonName(err) + ")",
	}
}
