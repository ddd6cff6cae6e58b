// Package desk performs the operations over two keys: of a session and an agent, or of a session and its visitor.
// It assigns, transfers, requeues and closes sessions, opens one session per visitor, and signs agents off.
//
//	d := desk.New(sessions, agents, desk.Config{})
//	s, err := d.Assign(ctx, domains.NewOp(now), "session-42", "agent-7")
//	if errors.Is(err, mcc.ErrFull) { ... } // try another agent
//
// Behind a proxy there is no transaction over two keys. Each operation is a sequence of updates, and its process may
// crash or stall for minutes between two of them. The protocol below keeps the rules in every such state.
//
// # The protocol
//
// The update of the session is the commit. The slots of an agent are an index that may have an entry too many: a
// slot is taken before the session is given, and released after it is taken away.
//
//	           1                      2 = commit                       3
//	Assign     a: reserve, epoch e    s: queued, e → assigned, e+1     a: confirm
//	Transfer   b: reserve, epoch e    s: a's, e → b's, e+1             b: confirm, a: release
//	Close      –                      s: closed, e+1                   a: release
//	Requeue    –                      s: queued, e+1                   a: release
//	SignOff    a: offline             each s in a's slots: queued      a: release all
//	Open       v: reserve             s: created                       v: confirm
//	Reopen     v: reserve, epoch e    s: closed, e → queued, e+1       v: confirm
//
// The slot itself records the intention, so there is no log to lose. A crash after any step leaves a slot too many,
// never a slot too few. [Desk.Reap] clears it, and so does an Assign or Transfer to a full agent:
//
//   - If the agent has the session, the slot is confirmed.
//   - If the session has a later epoch than the slot, no commit by that slot is possible, and it is released.
//   - Otherwise a commit may still come. Reap first raises the session's epoch, so that the commit fails, and then
//     releases the slot.
//
// Without the epoch, the same order loses slots: a late release takes a slot that a later operation has just reserved.
// docs/several-keys.md has the general rules for an index of entries that move.
//
// Safety depends on the epoch, not on the clock. The clock only limits how long a reservation is left alone.
//
// # Invariants
//
//	M1  An agent's slots, except the forced ones, never exceed the limit.
//	M2  An agent that has a session has a slot for it.
//	M3  At rest, an agent has a slot for a session only if the agent has the session.
//	M4  At most one agent has a session.
//	M5  A slot is reserved only with an agent that is online and accepting.
//	V1  A visitor has at most one open session, and the visitor's entry names it.
//
// "At rest" is after a Reap with no other operation running. All others hold in every state of the store. The tests
// check every state, with a crash and with an interruption at every step.
//
// # Requirements
//
// Session ids are never reused. Keys of agents are not removed and do not expire while the agents have sessions: a
// new entity under an old id starts at epoch zero. A session that was abandoned while it was being opened stays
// stored, closed, for at least 24 hours; a process that stalls for longer could open it after all.
//
// # Agents with many slots
//
// A Reap reads each session of the agent's slots, raises the epochs where a commit could still come, and updates the
// agent once for all wrong slots. A SignOff does the same after requeueing the sessions. The sessions are read one
// after the other, so 500 slots take at least 500 round trips. ctx bounds that; the slots decided until its end are
// settled.
//
// Between the read of a session and the update of the agent, the session may be given to the agent again. Its new
// slot then has the session's epoch at the read or a later one, and the update keeps such slots. It releases slots
// for earlier epochs, also after a late confirmation: no commit by them is possible.
//
// This package takes no lock over two keys. The guard of each update is enough, and the Store serializes the writers
// of one key.
package desk
