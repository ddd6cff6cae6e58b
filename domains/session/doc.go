// Package session stores customer-service sessions: the state of a conversation, its agent, its times, its
// merchant, and its rating.
//
//	sessions := session.New(store, session.Config{})
//	s, err := sessions.Reply(ctx, "42", domains.NewOp(now), "agent-7")
//	if errors.Is(err, session.ErrNotHolder) { ... } // it has been transferred
//
// store is any [rmw.Store]: cas.New on the legacy path, lockupdate.New behind a proxy.
//
// # Rules
//
// They hold after every operation, also with concurrent writers:
//
//   - A session has an agent if and only if it is assigned, active or on hold.
//   - Epoch is a fencing token. It grows with every change of the agent, every closing and reopening, and every
//     Fence. An Assign, Transfer or Reopen with an earlier epoch is refused.
//   - A closed session has a reason and a time, and no agent; LastAgentID keeps the last one. Only a rating or a
//     reopening changes it.
//   - A closed session is rated once, in time, from 1 to 5. A rated session is not reopened.
//   - Times do not run backwards. Durations are computed, never stored: see [Session.Waited].
//
// A Close of a closed session succeeds and changes nothing: the first reason stays.
//
// This package changes one session at a time. Package desk keeps the rules over two keys, with [Session.Epoch] and
// [Visitor]: the limit of an agent, and one open session per visitor.
package session
