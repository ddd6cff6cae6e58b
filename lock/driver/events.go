package driver

import (
	"context"
	"log/slog"
	"runtime/debug"

	"github.com/unwatch/unwatch/lock"
)

// told is an event that the Observer has not yet been told.
type told struct {
	ctx   context.Context
	event lock.Event
}

func (h *Hold) eventLocked(e lock.Event) {
	l := h.locker
	if l.cfg.Observer == nil {
		return
	}
	e.Service, e.Lock = l.label, h.name
	l.events = append(l.events, told{h.caller, e})
}

// tell unlocks the Locker's mutex and sends pending events to the Observer. One goroutine at
// a time does, so that the order of events is kept.
func (l *Locker) tell() {
	defer l.mu.Unlock()
	if l.telling {
		return
	}
	l.telling = true
	for len(l.events) > 0 {
		events := l.events
		l.events = nil
		l.mu.Unlock()
		for _, t := range events {
			l.observe(t)
		}
		l.mu.Lock()
	}
	l.telling = false
}

// observe calls the Observer on a goroutine of its own: a lock must not end because of its
// Observer, which may panic, or end its goroutine as t.FailNow does.
func (l *Locker) observe(t told) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if v := recover(); v != nil {
				l.panicked.Do(func() {
					slog.Error(l.name+": Config.Observer panicked; later panics are not logged", "panic", v, "stack", string(debug.Stack()))
				})
			}
		}()
		l.cfg.Observer(t.ctx, t.event)
	}()
	<-done
}
