// Package model explores the protocol of an update of several keys by commands of one key each, as packages several and
// seal have it.
//
// # Protocol
//
// An attempt has an id. Its commands:
//
//   - take: each key, in one flush. The value is replaced by a seal, and returned. The nonce of the seal is the id and
//     the number of the take. A key that has another mark is refused.
//   - decide: HSETNX of a record with all new values. This is the moment of the update, and the caller is answered. An
//     update that writes nothing decides that it is aborted: if that is the first decision, no key was opened before.
//   - open: each key with a seal of this nonce gets its new value, or its base again.
//   - forget: the decision is deleted, once every open is answered.
//
// A refused attempt opens the keys behind the least one that was refused, waits for that one, and takes the rest with
// the next number. After a lost reply to a take it opens all keys and never decides: a late take has no decision. After
// a lost reply to the decision it decides that it is aborted, and the reply tells which decision was first. Such a
// tombstone stays, since the decision may be late. So does each decision whose process may be alive: it may ask again.
//
// A process that meets a seal waits until it is gone, or decides that its update is aborted, and opens the key as
// decided. A read of one key returns the new value if the decision is there. Without one, and after a tombstone, it
// looks again, and returns the base if the seal is the same: a decision may be forgotten between the look and the
// question, and another process may make a tombstone after that.
//
// # Invariants
//
// [Explore] visits every order of commands, with commands that run late, twice or never, and processes that end after
// any step. In every state:
//
//   - each key shows, by its value or by its seal and the decision, the value by the order of the decisions and commits
//   - a decision or a commit was computed from the values before it, and none is made for a call twice or after its failure
//   - a read of several keys returns the values of one moment; a read of one key, a value of a moment within the call
//   - a key that moves to another store has one home
//   - a process can go on, if not all have ended
//
// When all calls have ended without a loss, no seal and no decision is left.
//
// A process sends in the same step in which it gets a reply: a message that is late stands for a process that sends
// late. Commands without effect that have no process waiting are dropped, and processes with the same work are
// exchanged, so that states which differ only by those count once.
//
// # Configurations
//
// Updates have 1 or 2 attempts and 1 or 2 takes with one id (rounds). "go test -v" prints the table with times.
//
//	 39,135 states  2 updates, a lost reply
//	110,891         2 updates, a lost reply, a death
//	  7,577         2 updates, 2 lost replies, a death
//	 71,997         2 updates, 2 rounds, a repeated open
//	 73,250         2 updates, 2 rounds, 2 deaths
//	 78,242         2 updates, write skew, a lost reply
//	519,080         3 updates of pairs
//	 55,816         3 updates of pairs, 2 rounds
//	127,774         3 updates of pairs, a lost reply, a death
//	 12,377         3 updates of 3 keys
//	 13,955         3 updates of pairs that wait, and never abort another one
//	 77,702         an update, a read of both, a lost reply
//	 12,591         2 updates, a read of 3 keys
//	 37,870         an update, a read of 1, a commit, a lost reply
//	 12,689         2 updates, a read of 1, a death
//	 45,746         an update, a commit, a WATCH, a death
//	 27,647         an update, a WATCH, a lost reply, a death
//	 23,366         an update, a move, a commit, a death
//	 31,252         an update, a move, a lost reply, a death
//	  2,459         an update over two homes, a move, a death
//	  9,086         an update over two homes, a move, a commit
//	123,221         an update over two homes, an old one, a move
//	184,841         2 updates over two homes, a move
//
// An update over two homes is that of package cutover: if one of its keys has moved, it gives its seals back, brings all keys
// to their second homes, and takes them there. Its decision is known there only.
//
// Five configurations of up to 3,100,751 states are long tests. Twenty-four negative controls ([Flaw]) leave one rule out each;
// each breaks an invariant within 12 steps.
//
// A failover that forgets an acknowledged write breaks the protocol, after four steps: no protocol of single commands
// survives that.
package model
