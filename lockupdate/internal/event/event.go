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
	Kinds
)

// Event is one event; see lock.Event and lockupdate.Event.
type Event struct {
	Kind Kind
	Lock string // the lock's name on the server
	N    int
	Took time.Duration
	Err  error

	// For the kinds of lock.EventKind, and only if there is an Observer:
	Ctx  context.Context // of the call
	Name string          // of the lock, as the call names it
	Loss lock.Loss
}

// Sink takes events. It is called without any mutex.
type Sink func(Event)
