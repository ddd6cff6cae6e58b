package transport

import (
	"errors"
	"hash/maphash"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/lockupdate/internal/driver"
)

// bulkhead keeps a part of the store that hangs from delaying the keys of the rest. A proxy
// answers in order, so that one backend that hangs holds back all later replies of the connection, and
// the client does not know which keys are on that backend.
//
// A flush that takes long is late, and makes room for others. If others are answered that began
// after it, a part of the store hangs. Then, and for some time after, only keys that were answered
// since share flushes. The commands of any other key travel alone: first in lane trial, with a
// short timeout if the client permits one; once they have hung there, in lane suspect, with the
// timeout of the client, and from time to time in lane trial again. Each lane has a bounded share
// of the connections. A reply in time has a key share flushes again.
type bulkhead struct {
	off bool // flights make room, and keys are not told apart

	// The fields below are guarded by batcher.mu.
	since    time.Time // start of the first late flight; zero: none is late
	until    time.Time // keys are told apart at least until then
	late     int       // late flights
	inLanes  map[*call]struct{}
	answered map[uint64]struct{} // hashes of keys that were answered since
	hung     map[uint64]hungKey  // hashes of keys that have hung

	seed   maphash.Seed
	recent [256]answer // a ring
	next   int

	slots [lanes]chan struct{}
}

// answer is a key that was answered by a flight.
type answer struct {
	key   uint64
	began time.Time // of the flight
}

// hungKey is a key that has hung since it was answered.
type hungKey struct {
	times uint8     // in a row
	until time.Time // it is tried again then
}

// call is a call in a lane.
type call struct{ began time.Time }

// lane is how the commands of a key are sent.
type lane uint8

const (
	shared  lane = iota // with those of other keys
	trial               // alone, with a short timeout
	suspect             // alone
	renewal             // several renewals, with a short timeout
	lanes
)

const (
	// A flush is late after lateTrips times the usual trip, and lateSlow times the longest of the last ones, and at
	// least minLate.
	minLate   = 5 * time.Millisecond
	maxLate   = time.Second
	lateTrips = 16
	lateSlow  = 2
	// hungAfter times that it has hung, at least minHung.
	hungAfter = 2
	minHung   = 100 * time.Millisecond
	// recovery is how long keys are told apart after a flush has hung.
	recovery = 5 * time.Second
	// retrial is when a key that has hung once is tried again; then twice as late each time, up to maxRetrial.
	retrial    = time.Second
	maxRetrial = 8 * time.Second
	// maxKeys bounds the memory for keys, to 3 MB. Beyond it all of them are tried again.
	maxKeys = 1 << 16
)

// newBulkhead returns a bulkhead for a pool of connections: a fifth each is for trials and for renewals, a
// tenth for suspects.
func newBulkhead(pool int) bulkhead {
	h := bulkhead{seed: maphash.MakeSeed(), inLanes: map[*call]struct{}{}}
	h.forget()
	h.slots[trial] = make(chan struct{}, max(1, pool/5))
	h.slots[renewal] = make(chan struct{}, max(1, pool/5))
	h.slots[suspect] = make(chan struct{}, max(1, pool/10))
	return h
}

func (b *batcher) lateAfterLocked() time.Duration {
	if !b.learned {
		return maxLate
	}
	return min(max(minLate, lateTrips*b.trip, lateSlow*b.slow), maxLate)
}

func (b *batcher) hungAfter() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.hungAfterLocked()
}

func (b *batcher) hungAfterLocked() time.Duration {
	return max(minHung, hungAfter*b.lateAfterLocked())
}

// watchLocked finds late flights. They make room for others.
func (b *batcher) watchLocked(now time.Time) {
	limit := b.lateAfterLocked()
	for i := range b.flights {
		f := &b.flights[i]
		overtaken := b.newest.After(f.began)
		if !f.late && now.Sub(f.began) >= limit && (overtaken || f.counts && len(b.pending) > 0) {
			f.late = true
			if f.counts {
				b.inFlight--
			}
			if !b.bulkhead.off {
				b.doubts++
			}
		}
		if f.late && !f.told && overtaken && !b.bulkhead.off {
			f.told = true
			b.doubts--
			b.bulkhead.late++
			b.bulkhead.beginLocked(f)
			if f.onLate != nil {
				close(f.onLate)
			}
		}
	}
	b.bulkhead.endLocked(now, b.hungAfterLocked())
}

// beginLocked tells keys apart because of a late flight.
func (h *bulkhead) beginLocked(f *flight) {
	if h.since.IsZero() {
		h.since = f.began
		for _, a := range h.recent {
			if a.began.After(h.since) {
				h.answer(a.key)
			}
		}
	}
	for _, caller := range f.callers {
		for _, c := range caller.cmds {
			if k := h.hash(c.Key()); caller.ticket.State() == driver.Settled || c.HasReplied() {
				h.answer(k)
			} else {
				delete(h.answered, k)
			}
		}
	}
}

// endLocked stops to tell keys apart if nothing has hung for a while. Calls in lanes that have not hung do not count: with many keys
// there are always some.
func (h *bulkhead) endLocked(now time.Time, hungAfter time.Duration) {
	if h.since.IsZero() || h.late > 0 || !now.After(h.until) {
		return
	}
	for c := range h.inLanes {
		if now.Sub(c.began) >= hungAfter {
			return
		}
	}
	h.since = time.Time{}
	h.forget()
}

// endedLocked learns from a flight that has ended. It reports whether every command has a reply.
func (b *batcher) endedLocked(f *flight, now time.Time) (whole bool) {
	h := &b.bulkhead
	switch {
	case h.off:
	case f.told:
		h.late--
	case f.late:
		b.doubts--
	}
	hung := now.Sub(f.began) >= b.hungAfterLocked()
	whole = true
	for _, caller := range f.callers {
		for _, c := range caller.cmds {
			r := replyOf(caller, c)
			whole = whole && r != none
			if !h.off {
				h.learnLocked(c, r, f.began, now, hung)
			}
		}
	}
	return whole
}

// reply is the reply to a command in a flight that has ended.
type reply uint8

const (
	none   reply = iota // or lost
	inTime              // before the flight ended
	atEnd
)

func replyOf(k caller, c *driver.Command) reply {
	switch state := k.ticket.State(); {
	case state == driver.Settled || k.ticket != nil && c.HasReplied():
		return inTime
	case state == driver.Outstanding && answered(c.Err()):
		return atEnd
	}
	return none
}

// learnLocked learns from a command in a flight that began at began. hung says that the flight took long.
func (h *bulkhead) learnLocked(c *driver.Command, r reply, began, now time.Time, hung bool) {
	k := h.hash(c.Key())
	if r == inTime || r == atEnd && !hung {
		h.recent[h.next], h.next = answer{k, began}, (h.next+1)%len(h.recent)
		if !h.since.IsZero() && !began.Before(h.since) {
			h.answer(k)
		}
	} else if !h.since.IsZero() && hung {
		h.until = now.Add(recovery)
		delete(h.answered, k)
	}
	if len(h.answered)+len(h.hung) > maxKeys {
		h.forget()
	}
}

func (h *bulkhead) answer(k uint64) {
	h.answered[k] = struct{}{}
	delete(h.hung, k)
}

// forget gives the memory for keys back.
func (h *bulkhead) forget() { h.answered, h.hung = map[uint64]struct{}{}, map[uint64]hungKey{} }

func (h *bulkhead) hash(key string) uint64 { return maphash.String(h.seed, key) }

// laneLocked returns the lane of commands that are sent together.
func (h *bulkhead) laneLocked(cmds []*driver.Command) lane {
	if h.since.IsZero() {
		return shared
	}
	now, worst := time.Now(), shared
	for _, c := range cmds {
		k := h.hash(c.Key())
		_, known := h.answered[k]
		switch state := h.hung[k]; {
		case now.Before(state.until):
			worst = suspect
		case !known:
			worst = max(worst, trial)
		}
	}
	return worst
}

// splitLocked separates the callers that may share a flush from the others.
func (h *bulkhead) splitLocked(all []caller) (sharing, alone []caller) {
	if h.since.IsZero() {
		return all, nil
	}
	sharing = all[:0]
	for _, c := range all {
		if h.laneLocked(c.cmds) == shared {
			sharing = append(sharing, c)
		} else {
			alone = append(alone, c)
		}
	}
	return sharing, alone
}

// toldApart reports whether keys are told apart.
func (b *batcher) toldApart() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return !b.bulkhead.since.IsZero()
}

// answeredSince reports whether a flush was answered since then.
func (b *batcher) answeredSince(then time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.answered.After(then)
}

// answered reports whether a command with this error has a reply.
func answered(err error) bool { return err == nil || isReply(err) } // without the allocation of isReply

func isReply(err error) bool {
	var reply redis.Error
	return errors.As(err, &reply)
}
