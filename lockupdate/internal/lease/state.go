package lease

import (
	"fmt"
	"time"

	"github.com/unwatch/unwatch/lockupdate/internal/event"
	"github.com/unwatch/unwatch/rmw"
)

// Wanted records that another process waits for the lock.
func (k *Keeper) Wanted(l *Lease) {
	k.mu.Lock()
	defer k.unlock()
	n := k.notes[l]
	if n.wanted || !l.timer().Scheduled() {
		return
	}
	n.wanted = true
	k.noteLocked(l, n)
	k.eventLocked(l, event.Wanted, 0, cause{})
}

// jeopardyLocked records that the last renewal of a lease failed.
func (k *Keeper) jeopardyLocked(l *Lease, err error) {
	n := k.notes[l]
	if n.jeopardy != 0 {
		return
	}
	n.jeopardy = max(k.Now(), 1)
	k.noteLocked(l, n)
	k.eventLocked(l, event.Jeopardy, 0, cause{why: err})
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
	k.eventLocked(l, event.Safe, k.Now()-n.jeopardy, cause{})
	n.jeopardy = 0
	k.noteLocked(l, n)
}

// beginLocked tells that a call has got the lock, which it has waited for since asked. Updates in a
// row share the events of the first one.
func (k *Keeper) beginLocked(l *Lease, c event.Call, section bool, asked time.Time) {
	if !k.options.Observed || k.notes[l].call.Ctx != nil && !section {
		return
	}
	k.endLocked(l)
	n := k.notes[l]
	n.call, n.began = c, k.Now()
	k.noteLocked(l, n)
	k.eventLocked(l, event.Acquired, k.Now()-k.At(asked), cause{})
}

// endLocked tells that the call no longer has the lock, if there is one.
func (k *Keeper) endLocked(l *Lease) {
	n := k.notes[l]
	if n.call.Ctx == nil {
		return
	}
	k.eventLocked(l, event.Released, k.Now()-n.began, cause{})
	n.call, n.began = event.Call{}, 0
	k.noteLocked(l, n)
}

// forgetLocked has the loop look at a lease no more.
func (k *Keeper) forgetLocked(l *Lease) {
	k.wheel.Cancel(l.timer())
	k.noteLocked(l, note{})
}

// maxNotes is how many notes may have been in the map that is kept: it never shrinks.
const maxNotes = 64

func (k *Keeper) noteLocked(l *Lease, n note) {
	if n != (note{}) {
		k.notes[l] = n
		k.noted = max(k.noted, len(k.notes))
		return
	}
	if delete(k.notes, l); len(k.notes) == 0 && k.noted > maxNotes {
		k.notes, k.noted = map[*Lease]note{}, 0
	}
}

func (k *Keeper) eventLocked(l *Lease, kind event.Kind, took time.Duration, why cause) {
	k.log.Add(event.Event{
		Kind: kind, Lock: l.holderLocked().LockName(), N: 1, Took: took, Err: why.why, Loss: why.reason, Call: k.notes[l].call,
	})
}

// unlock passes pending events to the Sink, and unlocks the mutex.
func (k *Keeper) unlock() { k.log.Unlock(&k.mu, k.emit) }
