// Package session stores customer-service sessions: where a conversation stands,
// which agent has it, when what happened, to which merchant it belongs, and how it
// was rated.
//
//	sessions := session.New(store, session.Config{})
//	s, err := sessions.Reply(ctx, "42", domains.NewOp(now), "agent-7")
//	if errors.Is(err, session.ErrNotHolder) { ... } // it has been transferred
//
// store is any [rmw.Store]: cas.New on the legacy path, lockupdate.New behind a
// proxy.
//
// # Rules
//
// They hold after every operation, whoever else is writing:
//
//   - A session has an agent if and only if it is assigned, active or on hold.
//   - Epoch grows with every change of the agent, with every closing and reopening, and by
//     Fence. Who has looked at the session at one epoch cannot give it to an agent at a
//     later one.
//   - A closed session has a reason and a time, no agent (LastAgentID says who it
//     was), and stays as it is, but for its rating and being reopened.
//   - It is rated once, while it is closed, in time, from 1 to 5. One that is rated
//     is not reopened.
//   - Times do not run backwards. How long somebody waited is computed, never
//     stored: see [Session.Waited] and its neighbours.
//
// Closing what is closed succeeds and changes nothing: the first reason stays.
//
// This package knows one session at a time. That an agent has room for it, and that
// a visitor has one open session only, concerns two keys: package desk does that, with
// [Session.Epoch] and with the [Visitor] of this package.
package session
