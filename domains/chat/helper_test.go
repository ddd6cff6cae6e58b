package chat_test

import (
	"time"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/domains/chat"
)

// start is when the rooms of the tests are made.
var start = time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)

// op is an operation that happens some seconds after the start.
func op(id string, seconds int) domains.Op {
	return domains.Op{ID: id, At: start.Add(time.Duration(seconds) * time.Second)}
}

// sec is that moment as rooms store it.
func sec(seconds int) domains.Time { return op("", seconds).Time() }

// sound is a room that breaks no rule.
func sound() *chat.Room {
	return &chat.Room{
		ID: "7", Status: chat.Open, Cap: 3, OwnerID: "ann", Seq: 5, CreatedAt: sec(0), ActiveAt: sec(9),
		Members: map[string]chat.Member{
			"ann": {Role: chat.Agent, JoinedAt: sec(1), ReadSeq: 5}, "bob": {JoinedAt: sec(2), ReadSeq: 3}, "abe": {JoinedAt: sec(2)},
		},
	}
}

// with changes a member.
func with(r *chat.Room, who string, change func(m *chat.Member)) {
	m := r.Members[who]
	change(&m)
	r.Members[who] = m
}
