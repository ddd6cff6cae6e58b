package chat_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/domains/chat"
	"github.com/unwatch/unwatch/internal/testing/entities"
	"github.com/unwatch/unwatch/rmw"
)

// model is the package doc once more, as simple as possible: a table of checks by operation, and no table of transitions.
// It calls no method of the Room. A model without an ID is that of a room that does not exist.
type model struct {
	chat.Room
	ttl time.Duration // of the key
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
const changed, kept, invalid = entities.Changed, entities.Kept, entities.Invalid

// take does a step, and returns its outcome and the number that a Post returns. A step that is refused leaves m
// as it was.
func (m *model) take(s step, cfg chat.Config) (outcome string, number uint64) {
	for _, a := range m.Applied {
		if a.ID == s.id && a.Op != s.op {
			return invalid, 0
		}
		if a.ID == s.id {
			return kept, a.Number
		}
	}
	switch {
	case s.op == "Create" && m.ID != "":
		return "room_exists", 0
	case s.op != "Create" && m.ID == "":
		return "no_room", 0
	case m.Status == "closed" && s.op == "Close":
		return kept, 0
	case m.Status == "closed":
		return "room_closed", 0
	}
	for _, c := range m.checks(s)[s.op] {
		if c.failed {
			return c.outcome, 0
		}
	}
	m.ActiveAt = max(m.ActiveAt, s.at)
	m.follow(s, cfg.Layout)
	if s.op == "Post" {
		number = m.Seq
	}
	m.Format, m.Version = 1, m.Version+1
	m.Applied = append(slices.Clone(m.Applied), domains.Applied{ID: s.id, Op: s.op, Number: number})
	m.Applied = m.Applied[max(0, len(m.Applied)-32):]
	ttl := cfg.TTL
	if m.Status == "closed" {
		m.ClosedAt = m.ActiveAt
		ttl = cmp.Or(cfg.ClosedTTL, cfg.TTL)
	}
	m.ttl = cmp.Or(ttl, m.ttl)
	return changed, number
}

// check is a check of an operation, and the outcome if it fails.
type check struct {
	failed  bool
	outcome string
}

// checks returns the checks of each operation, in their order.
func (m *model) checks(s step) map[string][]check {
	p, in := m.Members[s.who]
	owner := check{s.by != "" && s.by != m.OwnerID, "not_owner"}
	member := check{!in, "not_member"}
	texts := check{!fits(s.text, 256) || !fits(s.topic, 4096), invalid}
	role := check{!fits(s.role, 64), invalid}
	return map[string][]check{
		"Create": {texts, {s.number < 0 || !fits(s.who, 128), invalid}},
		"Join": {
			{s.who == "" || !fits(s.who, 128), invalid}, {in, kept},
			{m.Cap > 0 && len(m.Members) == m.Cap, fmt.Sprintf("room_full: %d of %d are in", m.Cap, m.Cap)}, role,
		},
		"Leave":    {{!in, kept}},
		"Remove":   {owner, {!in, kept}},
		"Describe": {{m.Name == s.text && m.Topic == s.topic, kept}, texts},
		"SetCap": {
			{s.number < 0, invalid}, {s.number == m.Cap, kept},
			{s.number > 0 && s.number < len(m.Members), fmt.Sprintf("cap_too_small: %d are in", len(m.Members))},
		},
		"SetRole":       {owner, member, role, {string(p.Role) == s.role, kept}},
		"Mute":          {owner, member, {p.Muted == s.flag, kept}},
		"TransferOwner": {owner, member, {m.OwnerID == s.who, kept}},
		"Post":          {member, {p.Muted || p.Role == "observer", "may_not_post"}},
		"MarkRead": {
			member, {uint64(s.number) > m.Seq, fmt.Sprintf("unread: %d of %d", s.number, m.Seq)}, {uint64(s.number) <= p.ReadSeq, kept},
		},
		"Touch": {{s.at <= m.ActiveAt, kept}},
		"Close": {owner},
	}
}

func fits(text string, limit int) bool { return len(text) <= limit && utf8.ValidString(text) }

// follow changes the room by a step that is permitted.
func (m *model) follow(s step, layout domains.Layout) {
	if m.Members = maps.Clone(m.Members); m.Members == nil {
		m.Members = map[string]chat.Member{}
	}
	p := m.Members[s.who]
	switch s.op {
	case "Create":
		*m = model{ttl: rmw.NoTTL, Room: chat.Room{
			ID: "7", TenantID: s.who, Name: s.text, Topic: s.topic, Status: "open", Cap: s.number, StayOpen: s.flag,
			CreatedAt: s.at, ActiveAt: s.at, Unknown: unknown(layout),
		}}
	case "Join":
		m.OwnerID = cmp.Or(m.OwnerID, s.who)
		m.Members[s.who] = chat.Member{
			Role: chat.Role(s.role), JoinedAt: m.ActiveAt, ReadSeq: m.Seq, Muted: s.flag, Unknown: foreign(),
		}
	case "Leave", "Remove":
		m.out(s.who)
	case "Describe":
		m.Name, m.Topic = s.text, s.topic
	case "SetCap":
		m.Cap = s.number
	case "SetRole":
		p.Role = chat.Role(s.role)
		m.Members[s.who] = p
	case "Mute":
		p.Muted = s.flag
		m.Members[s.who] = p
	case "TransferOwner":
		m.OwnerID = s.who
	case "Post":
		m.Seq++
		p.ReadSeq = m.Seq
		m.Members[s.who] = p
	case "MarkRead":
		p.ReadSeq = uint64(s.number)
		m.Members[s.who] = p
	case "Close":
		m.Status = "closed"
	}
}

// out removes a member. The member with the earliest JoinedAt, then with the first id, inherits the room.
func (m *model) out(who string) {
	delete(m.Members, who)
	heir := ""
	for _, id := range slices.Sorted(maps.Keys(m.Members)) {
		if heir == "" || m.Members[id].JoinedAt < m.Members[heir].JoinedAt {
			heir = id
		}
	}
	if m.OwnerID == who {
		m.OwnerID = heir
	}
	if heir == "" && !m.StayOpen {
		m.Status = "closed"
	}
}

// unknown returns the unknown fields that Create keeps. A hash keeps them only where another service stored
// them.
func unknown(layout domains.Layout) domains.Unknown {
	if layout == domains.JSON {
		return foreign()
	}
	return domains.Unknown{}
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
