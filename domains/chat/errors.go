package chat

import "github.com/unwatch/unwatch/domains"

// What the rules refuse. Nothing was written.
var (
	// ErrNoRoom: there is no room with that id.
	ErrNoRoom = domains.NewRefusal("no_room", "there is no such room")
	// ErrRoomExists: Create met a room with that id.
	ErrRoomExists = domains.NewRefusal("room_exists", "there is such a room already")
	// ErrRoomFull: the room has as many members as it may have.
	ErrRoomFull = domains.NewRefusal("room_full", "the room is full")
	// ErrRoomClosed: the room is closed, and stays as it is.
	ErrRoomClosed = domains.NewRefusal("room_closed", "the room is closed")
	// ErrNotMember: who is named is not in the room.
	ErrNotMember = domains.NewRefusal("not_member", "not a member of the room")
	// ErrNotOwner: only the owner may do that.
	ErrNotOwner = domains.NewRefusal("not_owner", "not the owner of the room")
	// ErrMayNotPost: the member is muted, or an observer.
	ErrMayNotPost = domains.NewRefusal("may_not_post", "the member may not post")
	// ErrCapTooSmall: the room has more members than that already.
	ErrCapTooSmall = domains.NewRefusal("cap_too_small", "the room has more members than that")
	// ErrUnread: nobody has read messages that do not exist yet.
	ErrUnread = domains.NewRefusal("unread", "the room has not as many messages")
)
