// Package mcc (multi-channel contact centre) stores the agents of a contact centre: their status, their limit of
// concurrent sessions, and a slot for each session.
//
//	agents := mcc.New(store, mcc.Config{Max: 5})
//	a, err := agents.SetStatus(ctx, "7", domains.NewOp(now), mcc.Online)
//	fmt.Println(a.Load(), "of", agents.Limit(a))
//
// store is any [rmw.Store]: cas.New on the legacy path, lockupdate.New behind a proxy.
//
// # Slots
//
// An agent has a [Slot] for each session. There is no counter: the load is the number of slots. A slot is reserved
// before the session is given to the agent, and released after it is taken away. So an agent may briefly have a
// slot too many, and never a slot too few. Package desk keeps that order, and clears up after crashes.
//
// # Rules
//
// They hold after every operation, also with concurrent writers:
//
//   - Reserve never exceeds the agent's limit: Agent.Max, else the first limit of the agent's groups, else
//     Config.Max. It counts and takes a slot in the same update. Forced slots do not count, and a lowered limit
//     releases no slot.
//   - No slot is reserved with an agent unless the agent is online and accepting.
//   - A slot that was reserved for a later epoch of its session is not released or confirmed for an earlier epoch.
//   - Times do not run backwards.
//
// Status is set by the agent. The agent's connection is not stored here. It changes often and matters for seconds:
// use a key of its own, with a TTL.
package mcc
