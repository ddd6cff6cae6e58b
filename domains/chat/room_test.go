package chat_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/domains/chat"
	"github.com/unwatch/unwatch/internal/testing/entities"
	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/rmwtest"
)

type run = entities.Run[chat.Room, *chat.Room, step]

func newRun(cfg chat.Config) *run {
	m, store, seq, number := model{}, rmwtest.NewMemory(), uint64(0), uint64(0)
	rooms := chat.New(store, cfg)
	return &run{
		Subject: `room "7"`, Key: "chat:room:7", Store: store, Layout: cfg.Layout,
		Do: func(s step) (outcome string, _ chat.Room, _ time.Duration) {
			outcome, number = m.take(s, cfg)
			return outcome, tidy(m.Room), m.ttl
		},
		Send: func(s step) (r chat.Room, err error) {
			r, seq, err = send(rooms, s, unknown(cfg.Layout))
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
	r.Members = maps.Clone(r.Members)
	if len(r.Members) == 0 {
		r.Members = nil
	}
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
		"Join":          {s.who, chat.Member{Role: chat.Role(s.role), Muted: s.flag, JoinedAt: 1, ReadSeq: 99, Unknown: foreign()}},
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
	clock := sec(0)
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
				Layout: layout, TTL: ttl("TTL", 0, time.Hour, rmw.NoTTL), ClosedTTL: ttl("ClosedTTL", 0, 30*time.Minute, rmw.NoTTL),
			})
			q.Rows, q.Outcomes = rows, outcomes
			require.NoError(t, q.Play(someSteps(t)))
		}
	})
	entities.AssertOccurred(t, entities.Rows(chat.Transitions()), rows)
	entities.AssertOccurred(t, []string{
		entities.Changed, entities.Kept, invalid, "no_room", "room_exists", "room_full", "room_closed", "not_member", "not_owner",
		"may_not_post", "cap_too_small", "unread",
	}, outcomes)
}

// The negative controls: if the package made one of these mistakes, the model would find it.
func TestModelNegativeControls(t *testing.T) {
	for name, mistake := range map[string]func(s step, prev, next *chat.Room){
		"none": func(step, *chat.Room, *chat.Room) {},
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
	} {
		found := false
		for seed := 0; seed < 150 && !found && (name != "none" || seed < 20); seed++ {
			q := newRun(chat.Config{})
			q.Mistake = mistake
			found = q.Play(rapid.Custom(someSteps).Example(seed)) != nil
		}
		assert.Equal(t, name != "none", found, name)
	}
}
