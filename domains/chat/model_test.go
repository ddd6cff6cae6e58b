package chat_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

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
	entities.Step
	by, who string
	role    string
	flag    bool
	number  int
	text    string
	topic   string
}

const kept, invalid = entities.Kept, entities.Invalid

// take does a step, and returns its outcome and the number that a Post returns. A step that is refused leaves m
// as it was.
func (m *model) take(s step, cfg chat.Config) (outcome string, number uint64) {
	if s.Op == "Expire" {
		m.ttl = entities.ForeignTTL
		return entities.Kept, 0
	}
	if outcome, number := entities.Repeated(&m.Header, s.ID, s.Op); outcome != "" {
		return outcome, number
	}
	if outcome := entities.First(append(m.always(s), m.checks(s)[s.Op]...)); outcome != "" {
		return outcome, 0
	}
	m.ActiveAt = max(m.ActiveAt, s.At)
	m.follow(s, cfg.Layout)
	if s.Op == "Post" {
		number = m.Seq
	}
	entities.Count(&m.Header, s.ID, s.Op, number)
	ttl := cfg.TTL
	if m.Status == "closed" {
		m.ClosedAt = m.ActiveAt
		ttl = cmp.Or(cfg.ClosedTTL, cfg.TTL)
	}
	m.ttl = cmp.Or(ttl, m.ttl)
	return entities.Changed, number
}

// always returns the checks of all operations, which come first.
func (m *model) always(s step) []entities.Check {
	return []entities.Check{
		{s.Op == "Create" && m.ID != "", "room_exists"},
		{s.Op != "Create" && m.ID == "", "no_room"},
		{m.Status == "closed" && s.Op == "Close", entities.Kept},
		{m.Status == "closed", "room_closed"},
	}
}

// checks returns the checks of each operation, in their order.
func (m *model) checks(s step) map[string][]entities.Check {
	p, in := m.Members[s.who]
	owner := entities.Check{s.by != "" && s.by != m.OwnerID, "not_owner"}
	member := entities.Check{!in, "not_member"}
	texts := entities.Check{!entities.Fits(256, s.text) || !entities.Fits(4096, s.topic), invalid}
	role := entities.Check{!entities.Fits(64, s.role), invalid}
	return map[string][]entities.Check{
		"Create": {texts, {s.number < 0 || !entities.Fits(128, s.who), invalid}},
		"Join": {
			{s.who == "" || !entities.Fits(128, s.who), invalid}, {in, kept},
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
		"Touch": {{s.At <= m.ActiveAt, kept}},
		"Close": {owner},
	}
}

// follow changes the room by a step that is permitted.
func (m *model) follow(s step, layout domains.Layout) {
	if m.Members = maps.Clone(m.Members); m.Members == nil {
		m.Members = map[string]chat.Member{}
	}
	p := m.Members[s.who]
	switch s.Op {
	case "Create":
		*m = model{ttl: rmw.NoTTL, Room: chat.Room{
			ID: "7", TenantID: s.who, Name: s.text, Topic: s.topic, Status: "open", Cap: s.number, StayOpen: s.flag,
			CreatedAt: s.At, ActiveAt: s.At, Unknown: unknown(layout),
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
