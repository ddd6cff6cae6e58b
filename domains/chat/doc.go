// Package chat stores chat rooms: who is in, who owns the room, how many may be in,
// and how far everybody has read.
//
//	rooms := chat.New(store, chat.Config{})
//	room, err := rooms.Join(ctx, "7", domains.NewOp(now), "ann", chat.Member{})
//	if errors.Is(err, chat.ErrRoomFull) { ... }
//
// store is any [rmw.Store]: cas.New on the legacy path, lockupdate.New behind a
// proxy.
//
// # Rules
//
// They hold after every operation, whoever else is writing:
//
//   - A room has at most Cap members. The place is taken in the step that counts.
//   - A room with members has an owner, who is one of them. When the owner leaves,
//     the member who has been in longest is the next; among several, the one
//     whose id comes first.
//   - The last one to leave closes the room, unless it is made to stay.
//   - A closed room stays as it is: nobody joins, nothing is posted.
//   - Seq, the number of messages, only grows, and nobody has read more than that.
//   - Times do not run backwards.
//
// Joining where one is, leaving where one is not, and closing what is closed succeed and change
// nothing. The messages themselves are not here: Post gives one its number, and
// whatever keeps messages keeps it under that.
//
// Whether somebody is connected at this moment is not here, either. That changes
// all the time and matters for seconds: a key of its own, with a TTL.
package chat
