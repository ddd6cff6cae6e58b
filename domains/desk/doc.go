// Package desk does what concerns a session and an agent, or a session and its
// visitor: give a session to an agent, transfer it, close it, take an agent off duty.
//
//	d := desk.New(sessions, agents, desk.Config{})
//	s, err := d.Assign(ctx, domains.NewOp(now), "session-42", "agent-7")
//	if errors.Is(err, mcc.ErrFull) { ... } // ask the next one
//
// Behind a proxy there is no transaction over two keys. Two updates are two steps, and
// whoever does them may crash, or stall for minutes, in between. Here is why nothing
// comes of it.
//
// # The protocol
//
// The session is the only place where something is decided. The slots of an agent
// are an index that errs on one side: a slot is taken before the session is given, and
// released after it is taken away.
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
// The slot itself is the record of what was intended, so there is no log that could
// be lost. A crash after any step leaves a slot too many, never one too few. [Desk.Reap]
// clears it up, and so does whoever meets a full agent:
//
//   - the session is the agent's: the slot is confirmed;
//   - the session has a later epoch than the slot: nobody can commit by that slot any more,
//     and it is released;
//   - otherwise somebody may still be about to commit. So the session's epoch is raised
//     first, which makes that commit fail, and then the slot is released.
//
// The epoch, not the clock, makes this safe. A clock decides only how long a
// reservation is left alone, so that nobody is disturbed without need.
//
// # What always holds
//
//	M1  An agent's slots, but for the forced ones, never exceed the limit.
//	M2  Who has a session has a slot for it.
//	M3  At rest, an agent has a slot for a session only if the agent has the session.
//	M4  A session is with one agent at most.
//	M5  Nothing is reserved with an agent who is not online, or not accepting.
//	V1  A visitor has one open session at most, and it is the one their entry names.
//
// "At rest" is after a Reap, with nothing under way. All others hold at every instant, in
// every state the store goes through; the tests look at each of them, with crashes at
// every step and at every command.
//
// # What it rests on
//
// The ids of sessions are not used again, and the keys of agents are not removed and do
// not expire while they have sessions: an entity that is made anew begins at epoch zero,
// and knows nothing of before. A session that was given up while it was being opened stays
// on record, closed, for [session.AbandonedTTL] at least; who stalls for longer could open
// it after all.
//
// # Many slots
//
// A Reap reads each session that the agent has a slot for, raises the epoch of those that
// could still come, and then writes the agent: once for all slots that are wrong. A SignOff
// does the same with the sessions that it takes. All are looked at one after the other, so
// with 500 slots that takes 500 round trips and more; ctx bounds it, and what was decided
// until then is settled.
//
// Between the look at a session and the update of the agent, the session may come back.
// Then its slot is one for the epoch that the session had when it was looked at, or a later
// one: who gives it has seen it after the look. That is how the update tells the slots that
// it must not release. A slot for an earlier epoch is released whatever else has happened
// to it, also if a late confirmation has changed it: nobody can come by it.
//
// This package takes no lock over two keys. The guard of each update is enough, and
// the Store below keeps writers of one key in line.
package desk
