package lease

import (
	"fmt"
	"time"

	"github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/lockupdate/internal/event"
	"github.com/unwatch/unwatch/rmw"
)

// note is the rare part of the state of a lease, so that a Lease stays small.
type note struct {
	jeopardy time.Duration // since when, by the keeper's clock; 0: it is safe
	wanted   bool          // EventWanted was sent
}

// State returns the state of a lock.
func (k *Keeper) State(l *Lease) lock.State {
	if k.Err(l) != nil {
		return lock.Lost
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.notes[l].jeopardy != 0 {
		return lock.Jeopardy
	}
	return lock.Safe
}

// Wanted records that another process waits for the lock.
func (k *Keeper) Wanted(l *Lease) {
	k.mu.Lock()
	defer k.unlock()
	n := k.notes[l]
	if n.wanted || !l.timer().Scheduled() {
		return
	}
	n.wanted = true
	k.notes[l] = n
	k.eventLocked(l.holderLocked(), event.Wanted, 0, cause{})
}

// jeopardyLocked records that the last renewal of a lease failed.
func (k *Keeper) jeopardyLocked(l *Lease, err error) {
	n := k.notes[l]
	if n.jeopardy != 0 {
		return
	}
	n.jeopardy = max(k.Now(), 1)
	k.notes[l] = n
	k.eventLocked(l.holderLocked(), event.Jeopardy, 0, cause{why: err})
}

func (k *Keeper) unansweredLocked() error {
	return fmt.Errorf("%w: a renewal was not answered for %v", rmw.ErrUnavailable, k.options.Lease/8)
}

// safeLocked records that a renewal of a lease succeeded.
func (k *Keeper) safeLocked(l *Lease) {
	n := k.notes[l]
	if n.jeopardy == 0 {
		return
	}
	k.eventLocked(l.holderLocked(), event.Safe, k.Now()-n.jeopardy, cause{})
	if n.jeopardy = 0; n.wanted {
		k.notes[l] = n
	} else {
		k.dropNoteLocked(l)
	}
}

// forgetLocked has the loop look at a lease no more.
func (k *Keeper) forgetLocked(l *Lease) {
	k.wheel.Cancel(l.timer())
	k.dropNoteLocked(l)
}

func (k *Keeper) dropNoteLocked(l *Lease) {
	if _, noted := k.notes[l]; !noted {
		return
	}
	if delete(k.notes, l); len(k.notes) == 0 {
		k.notes = map[*Lease]note{} // a map never shrinks
	}
}

func (k *Keeper) eventLocked(h Holder, kind event.Kind, took time.Duration, why cause) {
	ctx, name := h.Caller()
	k.log.Add(event.Event{
		Kind: kind, Lock: h.LockName(), N: 1, Took: took, Err: why.why, Ctx: ctx, Name: name, Loss: why.reason,
	})
}

// unlock tells the Sink what happened, and unlocks the mutex.
func (k *Keeper) unlock() { k.log.Unlock(&k.mu, k.emit) }
