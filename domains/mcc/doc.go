// Package mcc stores agents, the people who serve sessions: whether they work, how
// many sessions each may have, and which they have.
//
//	agents := mcc.New(store, mcc.Config{Max: 5})
//	a, err := agents.SetStatus(ctx, "7", domains.NewOp(now), mcc.Online)
//	fmt.Println(a.Load(), "of", agents.Limit(a))
//
// store is any [rmw.Store]: cas.New on the legacy path, lockupdate.New behind a
// proxy.
//
// # Slots
//
// An agent has a [Slot] for each session. There is no counter: the load is the number
// of slots, so nothing can count differently. A slot is reserved before the session
// is given to the agent, and released after it is taken away. So an agent may have
// a slot too many for a moment, and never one too few; package desk does it in that
// order and clears up after crashes.
//
// # Rules
//
// They hold after every operation, whoever else is writing:
//
//   - Reserve never takes an agent above the limit, which is the agent's own, or else
//     the first that one of the agent's groups has, or else the general one. The place is
//     taken in the step that counts. Slots that were forced do not count, and a limit
//     that is lowered takes nothing away.
//   - Nothing is reserved with an agent who is not online, or not accepting.
//   - A slot that was reserved for a later epoch of its session is not released, or
//     confirmed, by somebody who knows an earlier one.
//   - Times do not run backwards.
//
// Status is what the agent wants. Whether the agent is connected at this moment is not
// here: that changes all the time and matters for seconds, a key of its own, with a TTL.
package mcc
