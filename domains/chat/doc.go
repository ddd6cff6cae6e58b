// Package chat stores chat rooms: the members, the owner, the limit of members, and how far each member has read.
//
//	rooms := chat.New(store, chat.Config{})
//	room, err := rooms.Join(ctx, "7", domains.NewOp(now), "ann", chat.Member{})
//	if errors.Is(err, chat.ErrRoomFull) { ... }
//
// store is any [rmw.Store]: cas.New on the legacy path, lockupdate.New behind a proxy.
//
// # Rules
//
// They hold after every operation, also with concurrent writers:
//
//   - A room has at most Cap members. Join counts the members and adds one in the same update.
//   - A room with members has an owner, one of the members. When the owner leaves, the member with the earliest
//     JoinedAt is the next owner; if several joined at that time, the one with the first id.
//   - The room closes when the last member leaves, unless StayOpen is set.
//   - A closed room does not change: no member joins, and no message is posted.
//   - Seq, the number of messages, only grows, and ReadSeq of a member is at most Seq.
//   - Times do not run backwards.
//
// A Join of a member, a Leave of any other user, and a Close of a closed room succeed and change nothing.
// The messages are stored elsewhere, under the number that Post returns.
//
// The connections of members are not stored here. They change often and matter for seconds: use a key of its own
// per member, with a TTL.
package chat
