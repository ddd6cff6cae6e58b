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
