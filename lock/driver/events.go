package driver

import (
	"context"

	"github.com/unwatch/unwatch/lock"
)

// Stats has counters since the Locker was made.
type Stats struct {
	ObserverPanics uint64 // calls of Config.Observer that did not return
}

// Stats returns a snapshot.
func (l *Locker) Stats() Stats { return Stats{l.observer.Panics()} }

// told is an event for the Observer.
type told struct {
	ctx   context.Context
	event lock.Event
}

func (h *Hold) eventLocked(e lock.Event) {
	if h.locker.observer != nil {
		e.Service, e.Lock = h.locker.label, h.name
		h.locker.events.Add(told{h.caller, e})
	}
}

// tell unlocks the Locker's mutex and sends pending events to the Observer.
func (l *Locker) tell() { l.events.Unlock(&l.mu, func(t told) { l.observer.Call(t) }) }
