package chat_test

import (
	"errors"
	"strings"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/domains/chat"
	"github.com/unwatch/unwatch/rmw"
)

func operationCases() []operationCase {
	return append(append(comingAndGoing(), ruling()...), talking()...)
}

// active is a change of nothing but the time.
func active(r *chat.Room) { r.ActiveAt = sec(20) }

// closed is what the end leaves behind.
func closed(r *chat.Room) { r.Status, r.ActiveAt, r.ClosedAt = chat.Closed, sec(20), sec(20) }

// gone is active without some members.
func gone(owner string, who ...string) func(*chat.Room) {
	return func(r *chat.Room) {
		active(r)
		r.OwnerID = owner
		for _, id := range who {
			delete(r.Members, id)
		}
	}
}

func comingAndGoing() []operationCase {
	third := join("cid", chat.Member{})
	stay := edit(func(r *chat.Room) error { r.StayOpen = true; return nil })
	over := closeBy("ann")
	return []operationCase{
		{name: "create again", do: create(chat.Room{}), refused: chat.ErrRoomExists},
		{name: "create again, closed", first: []call{over}, do: create(chat.Room{}), refused: chat.ErrRoomExists},

		{name: "join", do: join("cid", chat.Member{Role: chat.Observer, Muted: true, JoinedAt: 1}), changes: func(r *chat.Room) {
			active(r)
			r.Members["cid"] = chat.Member{Role: chat.Observer, Muted: true, JoinedAt: sec(20), ReadSeq: 1}
		}},
		{name: "join late", do: join("cid", chat.Member{}), late: 19, changes: func(r *chat.Room) {
			r.Members["cid"] = chat.Member{JoinedAt: sec(3), ReadSeq: 1}
		}},
		{name: "join where one is", do: join("bob", chat.Member{Role: chat.Agent, Muted: true}), keeps: true},
		{name: "join a full room", first: []call{third}, do: join("dan", chat.Member{}), refused: chat.ErrRoomFull},
		{name: "join a full room where one is", first: []call{third}, do: join("cid", chat.Member{}), keeps: true},
		{name: "join without a limit", first: []call{setCap(0), third}, do: join("dan", chat.Member{}), changes: func(r *chat.Room) {
			active(r)
			r.Members["dan"] = chat.Member{JoinedAt: sec(20), ReadSeq: 1}
		}},
		{name: "join a closed room", first: []call{over}, do: third, refused: chat.ErrRoomClosed},
		{name: "join a closed room where one is", first: []call{over}, do: join("bob", chat.Member{}), refused: chat.ErrRoomClosed},
		{name: "join an empty room", first: []call{stay, leave("ann"), leave("bob")}, do: third, changes: func(r *chat.Room) {
			active(r)
			r.OwnerID = "cid"
			r.Members = map[string]chat.Member{"cid": {JoinedAt: sec(20), ReadSeq: 1}}
		}},
		{name: "join as nobody", do: join("", chat.Member{}), invalid: "the id of the member is empty"},
		{name: "join as too much", do: join(strings.Repeat("a", 129), chat.Member{}), invalid: "the id of the member has 129 bytes"},
		{name: "join as bytes", do: join("\xff", chat.Member{}), invalid: "the id of the member is not UTF-8"},
		{name: "join in a role of bytes", do: join("cid", chat.Member{Role: "\xff"}), invalid: "the role is not UTF-8"},
		{name: "join in a long role", do: join("cid", chat.Member{Role: chat.Role(strings.Repeat("r", chat.MaxRole+1))}),
			invalid: "the role has 65 bytes"},

		{name: "leave", do: leave("bob"), changes: gone("ann", "bob")},
		{name: "leave late", do: leave("bob"), late: 19, changes: func(r *chat.Room) { delete(r.Members, "bob") }},
		{name: "leave where one is not", do: leave("cid"), keeps: true},
		{name: "leave as the owner", first: []call{third}, do: leave("ann"), changes: gone("bob", "ann")},
		{name: "leave as the owner of two who came at once", do: leave("ann"), first: []call{
			leave("bob"),
			edit(func(r *chat.Room) error {
				return domains.Steps(
					func() error { return r.Join(sec(9), "zoe", chat.Member{}) },
					func() error { return r.Join(sec(9), "abe", chat.Member{}) })
			}),
		}, changes: gone("abe", "ann")},
		{name: "leave as the last", first: []call{leave("ann")}, do: leave("bob"), changes: func(r *chat.Room) {
			closed(r)
			r.OwnerID, r.Members = "", nil
		}},
		{name: "leave as the last of a room that stays", first: []call{stay, leave("ann")}, do: leave("bob"), changes: gone("", "bob")},
		{name: "leave a closed room", first: []call{over}, do: leave("bob"), refused: chat.ErrRoomClosed},
		{name: "leave as nobody", do: leave(""), keeps: true},

		{name: "remove", do: remove("ann", "bob"), changes: gone("ann", "bob")},
		{name: "remove by the system", do: remove(chat.System, "ann"), changes: gone("bob", "ann")},
		{name: "remove oneself", do: remove("ann", "ann"), changes: gone("bob", "ann")},
		{name: "remove the last", first: []call{leave("ann")}, do: remove("bob", "bob"), changes: func(r *chat.Room) {
			closed(r)
			r.OwnerID, r.Members = "", nil
		}},
		{name: "remove a stranger", do: remove("ann", "cid"), keeps: true},
		{name: "remove by a member", do: remove("bob", "ann"), refused: chat.ErrNotOwner},
		{name: "remove by a stranger", do: remove("cid", "cid"), refused: chat.ErrNotOwner},
		{name: "remove from a closed room", first: []call{over}, do: remove("ann", "bob"), refused: chat.ErrRoomClosed},
	}
}

func ruling() []operationCase {
	over := closeBy("ann")
	long := strings.Repeat("n", chat.MaxName+1)
	return []operationCase{
		{name: "describe", do: describe("x", "y"), changes: func(r *chat.Room) { active(r); r.Name, r.Topic = "x", "y" }},
		{name: "describe by nothing", do: describe("", ""), changes: func(r *chat.Room) { active(r); r.Name, r.Topic = "", "" }},
		{name: "describe as it is", do: describe("n", "t"), keeps: true},
		{name: "describe a closed room", first: []call{over}, do: describe("x", "y"), refused: chat.ErrRoomClosed},
		{name: "describe at length", do: describe(long, ""), invalid: "the name has 257 bytes, at most 256"},
		{name: "describe at greater length", do: describe("", strings.Repeat(long, 16)), invalid: "the topic has 4112 bytes, at most 4096"},
		{name: "describe in bytes", do: describe("\xff", ""), invalid: "the name is not UTF-8"},

		{name: "set cap", do: setCap(2), changes: func(r *chat.Room) { active(r); r.Cap = 2 }},
		{name: "set no cap", do: setCap(0), changes: func(r *chat.Room) { active(r); r.Cap = 0 }},
		{name: "set cap as it is", do: setCap(3), keeps: true},
		{name: "set cap too small", do: setCap(1), refused: chat.ErrCapTooSmall},
		{name: "set cap below nothing", do: setCap(-1), invalid: "a cap of -1: 0 is no limit"},
		{name: "set cap of a closed room", first: []call{over}, do: setCap(5), refused: chat.ErrRoomClosed},

		{name: "set role", do: setRole("ann", "bob", chat.Observer), changes: func(r *chat.Room) {
			active(r)
			with(r, "bob", func(m *chat.Member) { m.Role = chat.Observer })
		}},
		{name: "set a role of one's own", do: setRole(chat.System, "ann", "chair"), changes: func(r *chat.Room) {
			active(r)
			with(r, "ann", func(m *chat.Member) { m.Role = "chair" })
		}},
		{name: "set role as it is", do: setRole("ann", "bob", chat.Visitor), keeps: true},
		{name: "set role by a member", do: setRole("bob", "bob", chat.Agent), refused: chat.ErrNotOwner},
		{name: "set role of a stranger", do: setRole("ann", "cid", chat.Agent), refused: chat.ErrNotMember},
		{name: "set role in a closed room", first: []call{over}, do: setRole("ann", "bob", chat.Agent), refused: chat.ErrRoomClosed},
		{name: "set a role of bytes", do: setRole("ann", "bob", "\xff"), invalid: "the role is not UTF-8"},
		{name: "set a long role", do: setRole("ann", "bob", chat.Role(strings.Repeat("r", chat.MaxRole+1))),
			invalid: "the role has 65 bytes"},

		{name: "transfer owner", do: transfer("ann", "bob"), changes: func(r *chat.Room) { active(r); r.OwnerID = "bob" }},
		{name: "transfer owner by the system", do: transfer(chat.System, "bob"), changes: func(r *chat.Room) {
			active(r)
			r.OwnerID = "bob"
		}},
		{name: "transfer owner as it is", do: transfer("ann", "ann"), keeps: true},
		{name: "transfer owner by a member", do: transfer("bob", "bob"), refused: chat.ErrNotOwner},
		{name: "transfer owner to a stranger", do: transfer("ann", "cid"), refused: chat.ErrNotMember},
		{name: "transfer owner of a closed room", first: []call{over}, do: transfer("ann", "bob"), refused: chat.ErrRoomClosed},

		{name: "close", do: closeBy("ann"), changes: closed},
		{name: "close by the system", do: closeBy(chat.System), changes: closed},
		{name: "close late", do: closeBy("ann"), late: 19, changes: func(r *chat.Room) { r.Status, r.ClosedAt = chat.Closed, sec(3) }},
		{name: "close by a member", do: closeBy("bob"), refused: chat.ErrNotOwner},
		{name: "close what is closed", first: []call{over}, do: closeBy("ann"), keeps: true},
		{name: "close what is closed, by a member", first: []call{over}, do: closeBy("bob"), keeps: true},

		{name: "touch", do: touch, changes: active},
		{name: "touch late", do: touch, late: 19, keeps: true},
		{name: "touch at the same time", do: touch, late: 17, keeps: true},
		{name: "touch a closed room", first: []call{over}, do: touch, refused: chat.ErrRoomClosed},
	}
}

func talking() []operationCase {
	over := closeBy("ann")
	return []operationCase{
		{name: "mute", do: mute("ann", "bob", true), changes: func(r *chat.Room) {
			active(r)
			with(r, "bob", func(m *chat.Member) { m.Muted = true })
		}},
		{name: "unmute", first: []call{mute("ann", "bob", true)}, do: mute(chat.System, "bob", false), changes: func(r *chat.Room) {
			active(r)
			with(r, "bob", func(m *chat.Member) { m.Muted = false })
		}},
		{name: "mute as it is", first: []call{mute("ann", "bob", true)}, do: mute("ann", "bob", true), keeps: true},
		{name: "mute by a member", do: mute("bob", "ann", true), refused: chat.ErrNotOwner},
		{name: "mute a stranger", do: mute("ann", "cid", true), refused: chat.ErrNotMember},
		{name: "mute in a closed room", first: []call{over}, do: mute("ann", "bob", true), refused: chat.ErrRoomClosed},

		{name: "post", do: post("bob"), changes: func(r *chat.Room) {
			active(r)
			r.Seq = 2
			with(r, "bob", func(m *chat.Member) { m.ReadSeq = 2 })
		}},
		{name: "post late", do: post("ann"), late: 19, changes: func(r *chat.Room) {
			r.Seq = 2
			with(r, "ann", func(m *chat.Member) { m.ReadSeq = 2 })
		}},
		{name: "post when muted", first: []call{mute("ann", "bob", true)}, do: post("bob"), refused: chat.ErrMayNotPost},
		{name: "post as an observer", first: []call{setRole("ann", "bob", chat.Observer)}, do: post("bob"), refused: chat.ErrMayNotPost},
		{name: "post as the owner, muted", first: []call{mute("ann", "ann", true)}, do: post("ann"), refused: chat.ErrMayNotPost},
		{name: "post as a stranger", do: post("cid"), refused: chat.ErrNotMember},
		{name: "post as the system", do: post(chat.System), refused: chat.ErrNotMember},
		{name: "post in a closed room", first: []call{over}, do: post("ann"), refused: chat.ErrRoomClosed},

		{name: "mark read", first: []call{post("ann"), post("ann")}, do: markRead("bob", 2), changes: func(r *chat.Room) {
			active(r)
			with(r, "bob", func(m *chat.Member) { m.ReadSeq = 2 })
		}},
		{name: "mark all read", first: []call{post("ann")}, do: markRead("bob", 2), late: 19, changes: func(r *chat.Room) {
			with(r, "bob", func(m *chat.Member) { m.ReadSeq = 2 })
		}},
		{name: "mark read what is", do: markRead("ann", 1), keeps: true},
		{name: "mark read in another order", first: []call{post("ann")}, do: markRead("ann", 1), keeps: true},
		{name: "mark nothing read", do: markRead("bob", 0), keeps: true},
		{name: "mark read too far", do: markRead("bob", 2), refused: chat.ErrUnread},
		{name: "mark read as a stranger", do: markRead("cid", 1), refused: chat.ErrNotMember},
		{name: "mark read in a closed room", first: []call{over}, do: markRead("bob", 1), refused: chat.ErrRoomClosed},

		{name: "edit in steps", changes: func(r *chat.Room) {
			active(r)
			r.Members["cid"] = chat.Member{JoinedAt: sec(20), ReadSeq: 1}
			r.OwnerID = "cid"
		}, do: edit(func(r *chat.Room) error {
			return domains.Steps(
				func() error { return r.Join(sec(20), "cid", chat.Member{}) },
				func() error { return r.Join(sec(20), "cid", chat.Member{}) },
				func() error { return r.TransferOwner(sec(20), "ann", "cid") })
		})},
		{name: "edit in steps of which one fails", refused: chat.ErrNotOwner, do: edit(func(r *chat.Room) error {
			return domains.Steps(
				func() error { return r.Join(sec(20), "cid", chat.Member{}) },
				func() error { return r.TransferOwner(sec(20), "cid", "cid") })
		})},
		{name: "edit to what is no room", do: edit(func(r *chat.Room) error { r.OwnerID = "zoe"; return nil }),
			invalid: "the change breaks a rule of the entity: the owner is not one of the members"},
		{name: "edit nothing", do: edit(func(*chat.Room) error { return errors.Join(rmw.Keep) }), keeps: true},
	}
}
