package chat_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/domains/chat"
	"github.com/unwatch/unwatch/rmw"
)

// model is the package doc once more, as simple as possible: members stand in the order in which they joined.
// It shares no code with the package.
type model struct {
	exists, over, stay  bool
	limit               int
	name, topic, tenant string
	messages            uint64
	made, latest, ended domains.Time
	owner               string
	members             []member
	changes             uint64
	applied             []domains.Applied
	ttl                 time.Duration // of the key
}

type member struct {
	id, role string
	since    domains.Time
	read     uint64
	muted    bool
}

// step is one operation with the arguments of all operations.
type step struct {
	op      string
	id      string // of the operation
	at      domains.Time
	by, who string
	role    string
	flag    bool
	number  int
	text    string
	topic   string
}

// The outcomes of a step; the others are the codes of refusals, with details.
const (
	changed = "changed"
	kept    = "kept"
	invalid = "invalid"
)

// take does a step, and returns its outcome and the number that a Post returns. A step that is refused leaves m
// as it was.
func (m *model) take(s step, cfg chat.Config) (outcome string, number uint64) {
	if s.op == "Expire" { // another service sets the expiry
		m.ttl = foreignTTL
		return kept, 0
	}
	for _, a := range m.applied {
		if a.ID == s.id && a.Op != s.op {
			return invalid, 0
		}
		if a.ID == s.id {
			return kept, a.Number
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
	if outcome, number = m.happen(s); outcome != changed {
		return outcome, 0
	}
	m.changes++
	m.latest = max(m.latest, s.at)
	ttl := cfg.TTL
	if m.over {
		m.ended = m.latest
		ttl = cmp.Or(cfg.ClosedTTL, cfg.TTL)
	}
	m.ttl = cmp.Or(ttl, m.ttl)
	m.applied = append(m.applied, domains.Applied{ID: s.id, Op: s.op, Number: number})
	m.applied = m.applied[max(0, len(m.applied)-32):]
	return outcome, number
}

func (m *model) happen(s step) (outcome string, number uint64) {
	place := slices.IndexFunc(m.members, func(p member) bool { return p.id == s.who })
	byOwner := []string{"Remove", "SetRole", "Mute", "TransferOwner", "Close"}
	ofMember := []string{"SetRole", "Mute", "TransferOwner", "Post", "MarkRead"}
	if slices.Contains(byOwner, s.op) && s.by != "" && s.by != m.owner {
		return "not_owner", 0
	}
	if slices.Contains(ofMember, s.op) && place < 0 {
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
		if !fits(s.role, 64) {
			return invalid, 0
		}
		return set(&m.members[place].role, s.role), 0
	case "Mute":
		return set(&m.members[place].muted, s.flag), 0
	case "TransferOwner":
		return set(&m.owner, s.who), 0
	case "Post":
		if p := m.members[place]; p.muted || p.role == "observer" {
			return "may_not_post", 0
		}
		m.messages++
		m.members[place].read = m.messages
		return changed, m.messages
	case "MarkRead":
		if uint64(s.number) > m.messages {
			return fmt.Sprintf("unread: %d of %d", s.number, m.messages), 0
		}
		return set(&m.members[place].read, max(m.members[place].read, uint64(s.number))), 0
	case "Touch":
		return set(&m.latest, max(m.latest, s.at)), 0
	case "Close":
		m.over = true
		return changed, 0
	}
	panic("no such operation: " + s.op)
}

func fits(text string, limit int) bool { return len(text) <= limit && utf8.ValidString(text) }

func set[T comparable](what *T, to T) string {
	if *what == to {
		return kept
	}
	*what = to
	return changed
}

func (m *model) create(s step) string {
	if s.number < 0 || !fits(s.who, 128) || !fits(s.text, 256) || !fits(s.topic, 4096) {
		return invalid
	}
	*m = model{exists: true, limit: s.number, stay: s.flag, name: s.text, topic: s.topic, tenant: s.who, made: s.at, ttl: rmw.NoTTL}
	return changed
}

func (m *model) join(s step, place int) string {
	switch {
	case s.who == "" || !fits(s.who, 128):
		return invalid
	case place >= 0:
		return kept
	case m.limit > 0 && len(m.members) == m.limit:
		return fmt.Sprintf("room_full: %d of %d are in", m.limit, m.limit)
	case !fits(s.role, 64):
		return invalid
	}
	if len(m.members) == 0 {
		m.owner = s.who
	}
	p := member{id: s.who, role: s.role, since: max(m.latest, s.at), read: m.messages, muted: s.flag}
	i := len(m.members) // after all earlier members; by id among members of the same time
	for i > 0 && m.members[i-1].since == p.since && m.members[i-1].id > p.id {
		i--
	}
	m.members = slices.Insert(m.members, i, p)
	return changed
}

func (m *model) out(place int) string {
	if place < 0 {
		return kept
	}
	left := m.members[place].id
	m.members = slices.Delete(slices.Clone(m.members), place, place+1)
	if len(m.members) == 0 {
		m.owner, m.over = "", !m.stay
	} else if left == m.owner {
		m.owner = m.members[0].id
	}
	return changed
}

func (m *model) describe(s step) string {
	switch {
	case m.name == s.text && m.topic == s.topic:
		return kept
	case !fits(s.text, 256) || !fits(s.topic, 4096):
		return invalid
	}
	m.name, m.topic = s.text, s.topic
	return changed
}

func (m *model) setLimit(limit int) string {
	switch {
	case limit < 0:
		return invalid
	case limit == m.limit:
		return kept
	case limit > 0 && limit < len(m.members):
		return fmt.Sprintf("cap_too_small: %d are in", len(m.members))
	}
	m.limit = limit
	return changed
}

// unknown returns the unknown fields that Create keeps. A hash keeps them only where another service stored
// them.
func (m *model) unknown(layout domains.Layout) domains.Unknown {
	if layout == domains.JSON {
		return foreign()
	}
	return domains.Unknown{}
}

// room is the model as the package shows it, in a layout.
func (m *model) room(id string, layout domains.Layout) chat.Room {
	if !m.exists {
		return chat.Room{}
	}
	r := chat.Room{
		ID: id, TenantID: m.tenant, Name: m.name, Topic: m.topic, Status: chat.Open, Cap: m.limit, StayOpen: m.stay,
		OwnerID: m.owner, Seq: m.messages, CreatedAt: m.made, ActiveAt: m.latest, ClosedAt: m.ended,
	}
	r.Format, r.Version, r.Applied = 1, m.changes, slices.Clone(m.applied)
	r.Unknown = m.unknown(layout)
	if m.over {
		r.Status = chat.Closed
	}
	for _, p := range m.members {
		if r.Members == nil {
			r.Members = map[string]chat.Member{}
		}
		r.Members[p.id] = chat.Member{
			Role: chat.Role(p.role), JoinedAt: p.since, ReadSeq: p.read, Muted: p.muted, Unknown: foreign(),
		}
	}
	return r
}

// foreign is what another service has stored beside the fields that are known here.
func foreign() domains.Unknown {
	var m chat.Member
	if err := json.Unmarshal([]byte(`{"x":{"n":9007199254740993,"l":["é"]}}`), &m); err != nil {
		panic(err)
	}
	return m.Unknown
}

var long = strings.Repeat("x", 4097)
