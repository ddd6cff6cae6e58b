package chat

import "github.com/unwatch/unwatch/domains"

// Refusals of the rules. After each of them, nothing was written.
var (
	// ErrNoRoom: there is no room with that id.
	ErrNoRoom = domains.NewRefusal("no_room", "there is no such room")
	// ErrRoomExists: Create found a room with that id.
	ErrRoomExists = domains.NewRefusal("room_exists", "the room already exists")
	// ErrRoomFull: the room has as many members as it may have.
	ErrRoomFull = domains.NewRefusal("room_full", "the room is full")
	// ErrRoomClosed: the room is closed, and cannot change.
	ErrRoomClosed = domains.NewRefusal("room_closed", "the room is closed")
	// ErrNotMember: the given id is no member of the room.
	ErrNotMember = domains.NewRefusal("not_member", "not a member of the room")
	// ErrNotOwner: the operation needs the owner or System.
	ErrNotOwner = domains.NewRefusal("not_owner", "not the owner of the room")
	// ErrMayNotPost: the member is muted, or an observer.
	ErrMayNotPost = domains.NewRefusal("may_not_post", "the member may not post")
	// ErrCapTooSmall: the room has more members than the new cap.
	ErrCapTooSmall = domains.NewRefusal("cap_too_small", "the room has more members than that")
	// ErrUnread: the message to mark as read does not exist.
	ErrUnread = domains.NewRefusal("unread", "the room has not as many messages")
)
