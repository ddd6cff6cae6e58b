// Package event names the events of locks and updates of a Store. Package
// lockupdate counts, logs and publishes the events.
package event

import (
	"context"
	"time"

	"github.com/unwatch/unwatch/lock"
)

// Kind is the kind of an event.
type Kind uint8

// The kinds of events: those of lock.EventKind, then those of lockupdate.EventKind, in
// their order.
const (
	Acquired Kind = iota
	Refused
	Jeopardy
	Safe
	Wanted
	Lost
	Released
	Waiting
	WaitEnded

	Waited
	Polled
	Renewed
	RenewFailed
	Conflicted
	Combined
	Unknown
	CircuitOpened
	Sealed
	Kinds
)

// Event is one event; see lock.Event and lockupdate.Event.
type Event struct {
	Kind Kind
	Lock string // the lock's name on the server
	N    int    // how many to count
	Took time.Duration
	Err  error
	Loss lock.Loss

	// Call is the call that the event is about, if it is one. A kind of lock.EventKind
	// without a call is only counted.
	Call
}

// Call is a call of a Store.
type Call struct {
	Ctx   context.Context // nil: none
	Name  string          // of the key, or of the lock as the call names it
	Label string          // rmw.Key.Label
}

// Sink takes events. It is called without any mutex.
type Sink func(Event)
