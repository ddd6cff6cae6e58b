// Package holder takes a lock for the calls of one process that contend for it. Its parts:
//
//   - A wait queue per lock: the calls of this process, first come, first served.
//   - A holder per queue: it acquires the lock, dispatches the calls, commits what their
//     functions return, and releases the lock.
//   - A batch: the calls that one commit writes. Each fn is given the value of the fn before
//     it. While a commit is in flight, the next batch forms on top of it. If the
//     commit is refused, all that was built on it runs again.
//
// Functions run on their callers' goroutines, one after the other. All commands are sent by
// the holder's goroutine, without the ctx of a caller: a caller can leave at any moment,
// and leaves nothing in doubt but its own commit.
//
// The mutex of the wait queue guards the queue, its holder and the state of its calls. A
// method that needs it ends in Locked.
package holder

import (
	"context"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/lockupdate/internal/driver"
	"github.com/unwatch/unwatch/lockupdate/internal/event"
	"github.com/unwatch/unwatch/lockupdate/internal/lease"
	"github.com/unwatch/unwatch/lockupdate/internal/poll"
	"github.com/unwatch/unwatch/lockupdate/internal/transport"
	"github.com/unwatch/unwatch/lockupdate/internal/values"
	"github.com/unwatch/unwatch/rmw"
)

// state is how far a call has come.
type state uint8

const (
	queued   state = iota
	unlocked       // its fn is being called without the lock
	running        // its fn is being called, or it has the critical section
	returned       // its fn has returned, and the commit follows
	orphaned       // the lock was lost while it ran
	answered       // result and err are the answer
	left           // its caller no longer waits
)

// transitions lists every change of state, and what causes it.
var transitions = map[state][]state{
	queued: {
		running,  // dispatched
		answered, // refused: the lock, the store or the value cannot be had
		left,     // ctx, Config.MaxWait or Close ended the wait
	},
	unlocked: {
		queued, // another process holds the lock, or the commit was refused
	},
	running: {
		returned, // fn returned
		queued,   // the value that fn was given was never stored
		answered, // the same, after Config.MaxAttempts
		orphaned, // the lease was lost
		left,     // fn panicked, or the caller left before fn was called
	},
	returned: {
		answered, // the commit was answered
		queued,   // the commit was refused
		left,     // ctx ended, or Close gave up, before the commit was answered
	},
	orphaned: {
		queued, // its own commit was refused
		left,   // ctx ended before the caller knew of its turn
	},
}

// Attempt is the latest call of an UpdateFunc, with its argument and its results.
type Attempt struct {
	key      rmw.Key
	fn       rmw.UpdateFunc
	attempts int
	given    rmw.Value
	after    rmw.Value // the result of fn
	wrote    bool      // after must be written
	ttl      time.Duration
	reads    driver.ReadSet // of given
	token    uint64         // if fn asked for one
	err      error          // of fn, or of its value
}

// Call is one call of Update or Lock. Only its own goroutine calls fn and reads the answer;
// a holder dispatches it and answers it.
type Call struct {
	Attempt
	queues  *Queues
	ctx     context.Context
	lock    string
	section bool // a call of Lock, without fn
	noWait  bool
	arrived time.Time
	seq     uint64    // of its arrival: see Queues.seq
	asked   time.Time // when it last began to wait for the lock
	entered bool      // a function of it has run under the lock
	queue   *waitQueue
	wake    chan struct{} // of size one: the state has become running or answered

	// Guarded by queue.mu. While the state is running or answered, they belong to the
	// caller's goroutine, as does the Attempt.
	state        state
	prev, next   *Call
	taken        bool          // the lock was seen taken while it waited
	blockedSince time.Time     // since when it waits for others; zero: it does not
	waited       time.Duration // before that
	lease        *lease.Lease
	held         *lease.Context // under which fn ran
	result       rmw.Result
}

// waitQueue is the calls of this process that wait for one lock. In front of them at most
// one holder asks for the lock or holds it: however many calls wait, one polls.
type waitQueue struct {
	queues *Queues
	lock   string

	mu           sync.Mutex
	first, last  *Call
	unlocked     *Call         // its fn runs without the lock
	holder       *holder       // nil: the lock is not held, and not asked for
	releasing    *holder       // its release is in flight; nil: none
	backoffUntil time.Duration // other processes wait: do not ask for the lock before
	usualWait    micros        // for the lock, while other processes wait as well; 0: unknown
	unpipelined  uint8         // so many more commits are not overlapped by a slow fn
	removed      bool          // from Queues
}

// micros is a duration in microseconds. With a time.Duration instead, a waitQueue would take
// 112 bytes of memory, and not 96.
type micros uint32

func microsOf(d time.Duration) micros { return micros(min(d.Microseconds(), math.MaxUint32)) }

func (m micros) duration() time.Duration { return time.Duration(m) * time.Microsecond }

// holder takes the lock for a wait queue, dispatches its calls, commits their results,
// and releases the lock.
type holder struct {
	*holderState // nil while a critical section runs, so that 100,000 held locks stay small
	queue        *waitQueue
	queues       *Queues
	owner        int64
	lease        *lease.Lease
	began        time.Duration          // when the lock was taken, by the keeper's clock
	lateUntil    time.Duration          // until when an acquire without a reply may run; 0: there is none
	hinted       *driver.AcquireRequest // that left a hint; or nil

	asideInFlight atomic.Bool // see sendAside
	givenBack     atomic.Bool // the release follows: no hint of ours may stay

	// Guarded by queue.mu.
	running   *Call         // its fn runs, or it is about to learn that it has the critical section
	checked   time.Duration // when the holder last asked whether other processes wait
	turns     uint32        // commits and critical sections
	yield     bool          // other processes wait: end after the current batch
	contended bool          // another process held the lock before, so that others may wait
	lost      bool          // the lease is
	over      bool          // no more calls are dispatched
}

// holderState is the state of a holder with a goroutine.
type holderState struct {
	acquiring
	label string        // of the first key; "" after a critical section
	woken chan struct{} // of size one

	lateEnded <-chan struct{} // closed when the flush of an acquire that was sent again has ended; or nil

	// Guarded by queue.mu.
	polling    bool    // another process holds the lock
	outage     error   // why the store cannot be reached
	key        rmw.Key // the batch builds on its value; no Name: none
	asOf       uint64  // the sequence number of the read of that value; 0: unknown
	batch      batch
	inFlight   bool      // the commit of an earlier batch
	dispatched time.Time // when the last call was
	invalid    bool      // the running fn was given a value that was never stored
	unbatched  bool      // a batch was too large to commit
	idleSince  time.Time
	released   chan struct{} // closed at the reply to the release; nil: no call waits for it
}

// acquiring is the state of a holder before it has the lock. Only its goroutine uses it.
type acquiring struct {
	previous int64     // the owner before, of this Store, while its release is in flight; 0: none
	largest  int       // bytes of the largest value read
	sent     time.Time // the last acquire
}

// batch is calls of one key that one commit writes: each fn was given the value of the fn before
// it, the first one base.
type batch struct {
	calls  []*Call
	writes int       // how many calls want to write
	began  time.Time // when the first call joined
	base   rmw.Value
	value  rmw.Value      // of the last fn
	reads  driver.ReadSet // of base
	ttl    time.Duration  // what all of them together leave, as in rmw.Key.TTL
}

// Options are those fields of lockupdate.Config that concern contention.
type Options struct {
	Expiry                  time.Duration // after which the server ends a lease: Lease and LockDelay
	LockDelay               time.Duration
	MaxWait, Linger         time.Duration
	MaxAttempts             int
	Poll                    rmw.Backoff
	NoCombining, SoleWriter bool
	Observed                bool // there is an Observer or a Logger of waits
}

// Queues are the wait queues of one Store, by the name of the lock.
type Queues struct {
	options   Options
	transport *transport.Transport
	values    *values.Values
	keeper    *lease.Keeper
	gate      *redisx.Gate
	emit      event.Sink
	ownerIDs  *driver.OwnerIDs
	estimates poll.HoldEstimator
	timers    sync.Pool     // of *time.Timer
	seq       atomic.Uint64 // the last sequence number of a call or a read; a clock may tell one time for both

	mu         sync.Mutex
	byLock     map[string]*waitQueue
	contended  map[string]time.Time // by the lock: until when updates take it
	unreleased error                // of releases that failed while closing
}
