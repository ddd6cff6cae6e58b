package lock

import (
	"context"
	"fmt"
	"time"

	"github.com/unwatch/unwatch/internal/eventtext"
)

// EventKind is the kind of an [Event].
type EventKind uint8

// The kinds of events.
const (
	// EventAcquired: a call has the lock, from the lock service or from another call of this
	// process. Took is the time from the call to that.
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
	// EventWaiting: a call has not got the lock within [WaitingAfter], and waits on: for
	// other holders, of this process or of another one, or for the lock service.
	EventWaiting
	// EventWaitEnded: the call of an EventWaiting has the lock, or ended without it. Took is
	// the time it waited, Err why it ended without.
	EventWaitEnded

	eventKinds
)

// String returns the kind's name.
func (k EventKind) String() string {
	names := [eventKinds]string{"acquired", "refused", "jeopardy", "safe", "wanted", "lost", "released", "waiting", "wait ended"}
	if k < eventKinds {
		return names[k]
	}
	return fmt.Sprintf("EventKind(%d)", uint8(k))
}

// WaitingAfter is how long a call must have waited for an EventWaiting. A lock that is granted
// at once has none.
const WaitingAfter = 10 * time.Millisecond

// Loss is the reason why a lock was lost.
type Loss string

// The reasons.
const (
	LossExpired Loss = "expired"  // the lease could not be renewed in time
	LossTaken   Loss = "taken"    // the lock is gone from the lock service, or another owner has it
	LossMaxHold Loss = "max_hold" // it was held for Config.MaxHold
	LossSession Loss = "session"  // the lock service ended the session of this process
)

// Losses returns all reasons.
func Losses() []Loss { return []Loss{LossExpired, LossTaken, LossMaxHold, LossSession} }

// Event is something that happened to a lock. Exactly one of EventLost and EventReleased
// ends each EventAcquired, and exactly one EventWaitEnded ends each EventWaiting.
type Event struct {
	Kind    EventKind
	Service string // the lock service: "redis", "redlock", "etcd", "sql", "zookeeper"
	Lock    string // the lock's name
	Label   string // rmw.Key.Label, if an Update holds the lock
	Took    time.Duration
	Err     error
	Loss    Loss // of EventLost
}

// String returns the event in one line, for logs.
func (e Event) String() string {
	return eventtext.Line("lock "+e.Kind.String(), e.Lock, e.Label, e.Err, "service", e.Service, "took", e.Took, "loss", e.Loss)
}

// Observer is told of the events of a Locker. ctx is that of the call that took the lock,
// waits for it, or was refused it. An Observer must be quick and must not use the Locker. It is
// called from several goroutines, in the order of events for one holding. A panic in it, or the
// end of its goroutine, is contained; Stats of the Locker count it, and the first one is logged.
type Observer func(ctx context.Context, e Event)
