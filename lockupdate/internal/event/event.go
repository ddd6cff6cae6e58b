// Package event names the events of locks and updates of a Store. Package
// lockupdate counts, logs and publishes the events.
package event

import "time"

// Kind is the kind of an event. The values are those of lockupdate.EventKind.
type Kind uint8

// The kinds of events.
const (
	Acquired Kind = iota
	Waited
	Polled
	Renewed
	RenewFailed
	Lost
	Conflicted
	Combined
	Unknown
	Kinds
)

// Event is one event; see lockupdate.Event.
type Event struct {
	Kind Kind
	Lock string
	N    int
	Took time.Duration
	Err  error
}

// Sink takes events. It is called without any mutex.
type Sink func(Event)
