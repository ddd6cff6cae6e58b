// Package model explores every order of events while one key moves between two stores: each
// message is executed arbitrarily late, also after its sender has stopped waiting for it, and
// processes stop anywhere. It is a breadth-first search over the states of both registers, the
// processes and the messages in flight, so that a counterexample is a shortest one.
//
// The model adds a ghost, the truth: the value of the last commit that a store has executed. In
// every state:
//
//   - I1: a commit is executed over the truth only, so no acknowledged update is lost.
//   - I2: at most one store is open once the key has moved.
//   - I3: an open old store holds the truth; an open new store does too, if it has a value or the
//     old store is away.
//   - I4: whenever nothing is in flight, a process that knows nothing finds a home within 12
//     commands, and the truth there, whichever processes have stopped.
//   - I5: a read returns the truth of a moment within the call.
//   - I6: a move makes the value live no longer than by the delay of one command, and no shorter.
//   - I7: whenever nothing is in flight, one process alone moves the key to either store within 12
//     commands, and the truth is there.
//   - I8: whenever nothing is in flight, a sweep over the names of both stores leaves no marker in the
//     new store, so that the key can be used without the old one.
//
// A failover loses the writes that the replica lacks. A partition leaves two primaries: each look
// and each command reaches either primary, until the old one is demoted.
//
// A process looks and sends in one step of the model. That loses no behaviour: a message waits for
// its execution as long as a process could have waited before sending it.
//
// The visited set keeps 64-bit hashes of states, as TLC does. With 10 million states the
// probability that the search misses one is 3 in a million.
package model
