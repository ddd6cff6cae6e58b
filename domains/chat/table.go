package chat

import "github.com/unwatch/unwatch/domains"

// Transitions returns the room's transition table.
func Transitions() domains.Table { return transitions.Clone() }

var open = []string{string(Open)}

var transitions = domains.Table{Entity: "room", Rows: []domains.Transition{
	{Op: "Create", To: string(Open)},
	{Op: "Describe", From: open},
	{Op: "SetCap", From: open, When: "not below the number of members"},
	{Op: "Join", From: open, When: "below the cap; a member stays a member"},
	{Op: "Leave", From: open, When: "others remain, or the room stays open"},
	{Op: "Leave", From: open, To: string(Closed), When: "the last member"},
	{Op: "Remove", From: open, When: "by the owner; others remain, or the room stays open"},
	{Op: "Remove", From: open, To: string(Closed), When: "the last member"},
	{Op: "SetRole", From: open, When: "by the owner"},
	{Op: "Mute", From: open, When: "by the owner"},
	{Op: "TransferOwner", From: open, When: "by the owner, to a member"},
	{Op: "Post", From: open, When: "by a member, not muted, not an observer"},
	{Op: "MarkRead", From: open, When: "by a member, up to the latest message"},
	{Op: "Touch", From: open},
	{Op: "Close", From: open, To: string(Closed), When: "by the owner"},
}}
