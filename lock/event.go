package lock

import (
	"context"
	"fmt"
	"time"
)

// EventKind is the kind of an [Event].
type EventKind uint8

// The kinds of events.
const (
	// EventAcquired: the lock was taken from the lock service. Took is the time from the
	// call to the grant.
	EventAcquired EventKind = iota
	// EventRefused: a call ended without the lock. Took is the time it waited, Err why
	// it ended.
	EventRefused
	// EventJeopardy: the lock's state changed from Safe to Jeopardy. Err is why.
	EventJeopardy
	// EventSafe: the lock's state changed from Jeopardy to Safe. Took is the time in
	// jeopardy.
	EventSafe
	// EventWanted: another process waits for the lock. It is sent once per holding, by
	// services that know.
	EventWanted
	// EventLost: the lock was lost. Took is the time it was held, Err why it was lost.
	EventLost
	// EventReleased: the lock was unlocked by its holder before it was lost. Took is the
	// time it was held.
	EventReleased

	eventKinds
)

// String returns the kind's name.
func (k EventKind) String() string {
	names := [eventKinds]string{"acquired", "refused", "jeopardy", "safe", "wanted", "lost", "released"}
	if k < eventKinds {
		return names[k]
	}
	return fmt.Sprintf("EventKind(%d)", uint8(k))
}

// Event is something that happened to a lock. Exactly one of EventLost and EventReleased
// ends each EventAcquired.
type Event struct {
	Kind    EventKind
	Service string // the lock service: "redis", "redlock", "etcd", "sql", "zookeeper"
	Lock    string // the lock's name
	Took    time.Duration
	Err     error
}

// Observer is told of the events of a Locker. ctx is that of the call that took the lock,
// or was refused it. An Observer must be quick and must not use the Locker. It is called
// from several goroutines, in the order of events for one holding. A panic in it is
// contained.
type Observer func(ctx context.Context, e Event)
