package chat_test

import (
	"slices"
	"unicode/utf8"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/domains/chat"
)

// model is a chat room as the package doc tells of it, in the plainest way: people
// stand in a line, and whoever came first stands in front. It shares no code with the
// package.
type model struct {
	exists, over, stay  bool
	limit               int
	name, topic, tenant string
	messages            uint64
	made, latest, ended domains.Time
	owner               string
	line                []person
	changes             uint64
	done                []deed
}

type person struct {
	id    string
	role  string
	since domains.Time
	read  uint64
	muted bool
}

type deed struct {
	id, op string
	number uint64
}

// step is one operation with all that any of them takes.
type step struct {
	op      string
	id      string // of the operation
	at      domains.Time
	by, who string
	role    string
	flag    bool
	number  int
	text    string
}

// What comes of a step, if not the code of a refusal.
const (
	changed = "changed"
	kept    = "kept"
	invalid = "invalid"
)

// take lets a step happen and returns what comes of it, with the number that a Post
// returns. What is refused leaves m as it was.
func (m *model) take(s step) (outcome string, number uint64) {
	for _, d := range m.done {
		if d.id == s.id && d.op != s.op {
			return invalid, 0
		}
		if d.id == s.id {
			return kept, d.number
		}
	}
	if s.op == "Create" && m.exists {
		return "room_exists", 0
	}
	if s.op != "Create" && !m.exists {
		return "no_room", 0
	}
	if m.over {
		if s.op == "Close" {
			return kept, 0
		}
		return "room_closed", 0
	}
	outcome, number = m.happen(s)
	if outcome != changed {
		return outcome, 0
	}
	m.changes++
	m.latest = max(m.latest, s.at)
	if m.over {
		m.ended = m.latest
	}
	m.done = append(m.done, deed{s.id, s.op, number})
	if len(m.done) > 32 {
		m.done = m.done[1:]
	}
	return outcome, number
}

func (m *model) happen(s step) (outcome string, number uint64) {
	owns := s.by == "" || s.by == m.owner
	place := slices.IndexFunc(m.line, func(p person) bool { return p.id == s.who })
	if slices.Contains([]string{"Remove", "SetRole", "Mute", "TransferOwner", "Close"}, s.op) && !owns {
		return "not_owner", 0
	}
	if slices.Contains([]string{"SetRole", "Mute", "TransferOwner", "Post", "MarkRead"}, s.op) && place < 0 {
		return "not_member", 0
	}
	switch s.op {
	case "Create":
		return m.create(s), 0
	case "Join":
		return m.join(s, place), 0
	case "Leave", "Remove":
		return m.out(place), 0
	case "Describe":
		return m.describe(s), 0
	case "SetCap":
		return m.setLimit(s.number), 0
	case "SetRole":
		if len(s.role) > 64 || !utf8.ValidString(s.role) {
			return invalid, 0
		}
		return set(&m.line[place].role, s.role), 0
	case "Mute":
		return set(&m.line[place].muted, s.flag), 0
	case "TransferOwner":
		return set(&m.owner, s.who), 0
	case "Post":
		if p := m.line[place]; p.muted || p.role == "observer" {
			return "may_not_post", 0
		}
		m.messages++
		m.line[place].read = m.messages
		return changed, m.messages
	case "MarkRead":
		if uint64(s.number) > m.messages {
			return "unread", 0
		}
		return set(&m.line[place].read, max(m.line[place].read, uint64(s.number))), 0
	case "Touch":
		return set(&m.latest, max(m.latest, s.at)), 0
	case "Close":
		m.over = true
		return changed, 0
	}
	panic("no such operation: " + s.op)
}

func set[T comparable](what *T, to T) string {
	if *what == to {
		return kept
	}
	*what = to
	return changed
}

func (m *model) create(s step) string {
	if s.number < 0 || len(s.text) > 256 {
		return invalid
	}
	*m = model{exists: true, limit: s.number, stay: s.flag, name: s.text, topic: s.text, tenant: s.who, made: s.at}
	return changed
}

func (m *model) join(s step, place int) string {
	switch {
	case s.who == "":
		return invalid
	case place >= 0:
		return kept
	case m.limit > 0 && len(m.line) == m.limit:
		return "room_full"
	case len(s.role) > 64 || !utf8.ValidString(s.role):
		return invalid
	}
	if len(m.line) == 0 {
		m.owner = s.who
	}
	p := person{id: s.who, role: s.role, since: max(m.latest, s.at), read: m.messages, muted: s.flag}
	// Behind all who came before, and by id among those who come at once.
	i := len(m.line)
	for i > 0 && m.line[i-1].since == p.since && m.line[i-1].id > p.id {
		i--
	}
	m.line = slices.Insert(m.line, i, p)
	return changed
}

func (m *model) out(place int) string {
	if place < 0 {
		return kept
	}
	left := m.line[place].id
	m.line = slices.Delete(slices.Clone(m.line), place, place+1)
	if len(m.line) == 0 {
		m.owner, m.over = "", !m.stay
	} else if left == m.owner {
		m.owner = m.line[0].id
	}
	return changed
}

func (m *model) describe(s step) string {
	if len(s.text) > 256 || !utf8.ValidString(s.text) {
		return invalid
	}
	if set(&m.name, s.text) == kept { // the steps give both the same text
		return kept
	}
	return set(&m.topic, s.text)
}

func (m *model) setLimit(limit int) string {
	switch {
	case limit < 0:
		return invalid
	case limit == m.limit:
		return kept
	case limit > 0 && limit < len(m.line):
		return "cap_too_small"
	}
	m.limit = limit
	return changed
}

// room is the model as the package shows it.
func (m *model) room(id string) chat.Room {
	if !m.exists {
		return chat.Room{}
	}
	r := chat.Room{
		ID: id, TenantID: m.tenant, Name: m.name, Topic: m.topic, Status: chat.Open, Cap: m.limit, StayOpen: m.stay,
		OwnerID: m.owner, Seq: m.messages, CreatedAt: m.made, ActiveAt: m.latest, ClosedAt: m.ended,
	}
	r.Format, r.Version = 1, m.changes
	for _, d := range m.done {
		r.Applied = append(r.Applied, domains.Applied{ID: d.id, Op: d.op, Number: d.number})
	}
	if m.over {
		r.Status = chat.Closed
	}
	for _, p := range m.line {
		if r.Members == nil {
			r.Members = map[string]chat.Member{}
		}
		r.Members[p.id] = chat.Member{Role: chat.Role(p.role), JoinedAt: p.since, ReadSeq: p.read, Muted: p.muted}
	}
	return r
}
