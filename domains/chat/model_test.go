package chat_test

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/domains/chat"
	"github.com/unwatch/unwatch/internal/testing/entities"
	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/rmwtest"
)

// start is when the rooms of the tests are made.
var start = time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)

// op is an operation that happens some seconds after the start.
func op(id string, seconds int) domains.Op {
	return domains.Op{ID: id, At: start.Add(time.Duration(seconds) * time.Second)}
}

var long = strings.Repeat("x", 4097)

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
			CreatedAt: s.At, ActiveAt: s.At, Unknown: entities.Unknown(layout),
		}}
	case "Join":
		m.OwnerID = cmp.Or(m.OwnerID, s.who)
		m.Members[s.who] = chat.Member{
			Role: chat.Role(s.role), JoinedAt: m.ActiveAt, ReadSeq: m.Seq, Muted: s.flag, Unknown: entities.Unknown(domains.JSON),
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

type run = entities.Run[chat.Room, *chat.Room, step]

// newRun begins without a room. With codec, the rooms have the codec of cfg.Layout, which replaces the layout and the
// expiry of closed rooms.
func newRun(cfg chat.Config, codec bool) *run {
	m, store, seq, number, own := model{}, rmwtest.NewMemory(), uint64(0), uint64(0), cfg
	if codec {
		own.Layout, own.Codec = domains.Hash, domains.CodecOf[chat.Room, *chat.Room](cfg.Layout, nil)
		cfg.ClosedTTL = 0
	}
	rooms := chat.New(store, own)
	return &run{
		Subject: `room "7"`, Key: cmp.Or(cfg.Prefix, "chat:room:") + "7", Store: store, Layout: cfg.Layout,
		Do: func(s step) (outcome string, _ chat.Room, _ time.Duration) {
			outcome, number = m.take(s, cfg)
			return outcome, tidy(m.Room), m.ttl
		},
		Send: func(s step) (r chat.Room, err error) {
			r, seq, err = send(rooms, s, entities.Unknown(cfg.Layout))
			return tidy(r), err
		},
		Get: func() (chat.Room, error) {
			r, err := rooms.Get(context.Background(), "7")
			return tidy(r), err
		},
		Also: func(step, chat.Room, chat.Room) error {
			if seq != number {
				return fmt.Errorf("message %d, the model says %d", seq, number)
			}
			return nil
		},
		Status: func(r chat.Room) string { return string(r.Status) },
	}
}

// tidy is the room without the difference between no map and an empty one, and shares nothing with it.
func tidy(r chat.Room) chat.Room {
	r.Members = entities.Tidy(r.Members)
	return r
}

// send makes the call that a step stands for.
func send(rooms chat.Rooms, s step, unknown domains.Unknown) (room chat.Room, seq uint64, err error) {
	ctx, o := context.Background(), domains.Op{ID: s.ID, At: s.At.Time()}
	if s.Op == "Post" {
		seq, room, err = rooms.Post(ctx, "7", o, s.who)
		return room, seq, err
	}
	args := map[string][]any{
		"Create": {chat.Room{
			TenantID: s.who, Cap: s.number, StayOpen: s.flag, Name: s.text, Topic: s.topic, Unknown: unknown,
			// Create ignores these fields.
			Header: domains.Header{Format: 9, Version: 9, Applied: []domains.Applied{{ID: "x"}}}, ID: "8", OwnerID: "zoe", Seq: 9,
			Members: map[string]chat.Member{"zoe": {}}, Status: chat.Closed, CreatedAt: 1, ActiveAt: 2, ClosedAt: 3,
		}},
		// Join ignores the time and the number read.
		"Join": {s.who, chat.Member{
			Role: chat.Role(s.role), Muted: s.flag, JoinedAt: 1, ReadSeq: 99, Unknown: entities.Unknown(domains.JSON),
		}},
		"Leave":         {s.who},
		"Remove":        {s.by, s.who},
		"Describe":      {s.text, s.topic},
		"SetCap":        {s.number},
		"SetRole":       {s.by, s.who, chat.Role(s.role)},
		"Mute":          {s.by, s.who, s.flag},
		"TransferOwner": {s.by, s.who},
		"MarkRead":      {s.who, uint64(s.number)},
		"Close":         {s.by},
	}[s.Op]
	room, err = entities.CallFor[chat.Room](rooms, s.Op, append([]any{ctx, "7", o}, args...)...)
	return room, 0, err
}

// operations are all operations, the common ones more than once.
var operations = []string{
	"Create", "Join", "Join", "Join", "Join", "Join", "Join", "Leave", "Remove", "Remove", "Remove", "Describe", "SetCap", "SetRole",
	"Mute", "TransferOwner", "Post", "Post", "Post", "Post", "Post", "MarkRead", "MarkRead", "MarkRead", "MarkRead", "Touch", "Close",
	"Expire",
}

// someSteps draws operations by four people. Most runs begin with a Create. Clocks go on, stand still and go
// back; now and then an operation comes again, or one comes with the id of another.
func someSteps(t *rapid.T) []step {
	n := rapid.SampledFrom([]int{1, 10, 60, 120}).Draw(t, "steps")
	people := []string{"ann", "bob", "cid", "dan"}
	owner := rapid.SampledFrom([]string{"", "", "ann", "ann", "bob", "cid", "dan", "eve"})
	role := rapid.SampledFrom([]string{"", "visitor", "agent", "agent", "observer", "chair", "r\xff", long[:64], long[:65]})
	text := rapid.SampledFrom([]string{"", "a", "b", "c", long[:256], long[:257], "\xff"})
	topic := rapid.SampledFrom([]string{"", "", "a", "b", "c", long[:4096], long[:4097], "\xff"})
	number := rapid.SampledFrom([]int{0, 0, 1, 1, 2, 2, 3, 3, 4, 5, -1})
	clock := op("", 0).Time()
	var steps []step
	for i := range n {
		clock += domains.Time(rapid.SampledFrom([]int{0, 0, 1, 1000, 60_000, -1, -30_000}).Draw(t, "tick"))
		s := step{
			Step: entities.Step{Op: rapid.SampledFrom(operations).Draw(t, "op"), ID: fmt.Sprint(i), At: clock},
			by:   owner.Draw(t, "by"), who: rapid.SampledFrom(people).Draw(t, "who"), role: role.Draw(t, "role"),
			flag: rapid.IntRange(0, 3).Draw(t, "flag") == 0, text: text.Draw(t, "text"), topic: topic.Draw(t, "topic"),
		}
		switch s.number = number.Draw(t, "number"); {
		case s.Op == "MarkRead":
			s.number = max(s.number, 0)
		case s.Op == "Join" && rapid.IntRange(0, 20).Draw(t, "no id") == 0:
			s.who = rapid.SampledFrom([]string{"", long[:129], "\xff"}).Draw(t, "which id")
		case s.Op == "Close" && rapid.IntRange(0, 7).Draw(t, "not yet") > 0:
			s.Op = "Post"
		}
		switch {
		case i == 0 && rapid.IntRange(0, 9).Draw(t, "create") > 0:
			s.Op, s.text, s.topic = "Create", "n", "t"
		case i > 0 && rapid.IntRange(0, 9).Draw(t, "again") == 0:
			s = steps[rapid.IntRange(0, i-1).Draw(t, "which")]
			s.At = clock
		case i > 0 && rapid.IntRange(0, 30).Draw(t, "id of another") == 17:
			s.ID = steps[rapid.IntRange(0, i-1).Draw(t, "which")].ID
		}
		steps = append(steps, s)
	}
	return steps
}

// Any sequence of operations matches the model in every layout: the stored and returned room, its expiry, and the codes and
// texts of refusals. All rows of the table and all refusals occur, and no transition besides the rows.
func TestRoomMatchesModel(t *testing.T) {
	rows, outcomes := map[string]int{}, map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		ttl := func(name string, ttls ...time.Duration) time.Duration { return rapid.SampledFrom(ttls).Draw(t, name) }
		for _, layout := range entities.Layouts() {
			q := newRun(chat.Config{
				Prefix: rapid.SampledFrom([]string{"", "own:"}).Draw(t, "prefix"),
				Layout: layout, TTL: ttl("TTL", 0, time.Hour, rmw.NoTTL), ClosedTTL: ttl("ClosedTTL", 0, 30*time.Minute, rmw.NoTTL),
			}, rapid.IntRange(0, 9).Draw(t, "codec") == 9)
			q.Rows, q.Outcomes = rows, outcomes
			require.NoError(t, q.Play(someSteps(t)))
		}
	})
	entities.AssertOccurred(t, entities.Rows(chat.Transitions), rows)
	entities.AssertOccurred(t, []string{
		entities.Changed, entities.Kept, invalid, "no_room", "room_exists", "room_full", "room_closed", "not_member", "not_owner",
		"may_not_post", "cap_too_small", "unread",
	}, outcomes)
}

// The negative controls: if the package made one of these mistakes, the model would find it.
func TestModelNegativeControls(t *testing.T) {
	newRun := func() *run { return newRun(chat.Config{}, false) }
	entities.AssertControls(t, 150, newRun, someSteps, map[string]func(s step, prev, next *chat.Room){
		"the youngest is the heir": func(_ step, prev, next *chat.Room) {
			if _, stays := next.Members[prev.OwnerID]; !stays && prev.OwnerID != "" && len(next.Members) > 0 {
				next.OwnerID = slices.MaxFunc(slices.Sorted(maps.Keys(next.Members)), func(a, b string) int {
					return int(next.Members[a].JoinedAt - next.Members[b].JoinedAt)
				})
			}
		},
		"a mark is taken back": func(s step, _, next *chat.Room) {
			if s.Op == "MarkRead" {
				with(next, s.who, func(m *chat.Member) { m.ReadSeq = uint64(s.number) })
			}
		},
		"31 are remembered": func(_ step, _, next *chat.Room) { next.Applied = next.Applied[max(0, len(next.Applied)-31):] },
		"the last to leave does not close": func(s step, _, next *chat.Room) {
			if s.Op == "Remove" && len(next.Members) == 0 {
				next.Status, next.ClosedAt = chat.Open, 0
			}
		},
		"a member who comes back has an old mark": func(s step, _, next *chat.Room) {
			if _, in := next.Members[s.who]; in && s.Op == "Join" {
				with(next, s.who, func(m *chat.Member) { m.ReadSeq = 0 })
			}
		},
	})
}

// with changes a member.
func with(r *chat.Room, who string, change func(m *chat.Member)) {
	m := r.Members[who]
	change(&m)
	r.Members[who] = m
}
