package chat_test

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/domains/chat"
	"github.com/unwatch/unwatch/internal/testing/entities"
	"github.com/unwatch/unwatch/internal/testing/paths"
	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/rmwtest"
)

// foreignTTL is an expiry that another service sets.
const foreignTTL = 3 * time.Hour

// run plays steps on a room and on the model, and compares them after each.
type run struct {
	cfg   chat.Config
	rows  map[string]int // how often each row of the table was taken: "op from to"
	codes map[string]int // how often each outcome occurred
	// mistake, if not nil, changes the stored room like a bug in the package. It is the negative control: the
	// run has to fail.
	mistake func(prev, next *chat.Room, s step)
}

func newRun(cfg chat.Config) *run {
	return &run{cfg: cfg, rows: map[string]int{}, codes: map[string]int{}}
}

// play returns the first difference.
func (q *run) play(store rmw.Store, direct rmwtest.Direct, steps []step) error {
	ctx, rooms := context.Background(), chat.New(store, q.cfg)
	read := func() rmw.Value { v, _, _ := direct.Get(ctx, "chat:room:7"); return v }
	var m model
	var prev chat.Room
	for i, s := range steps {
		fail := func(format string, args ...any) error {
			return fmt.Errorf("step %d, %+v: %s", i, s, fmt.Sprintf(format, args...))
		}
		before := read()
		if s.op == "Expire" { // by another service
			m.ttl = foreignTTL
			_ = direct.Set(ctx, "chat:room:7", before, foreignTTL)
			continue
		}
		outcome, number := m.take(s, q.cfg)
		got, seq, err := send(rooms, s, unknown(q.cfg.Layout))
		if q.mistake != nil && err == nil {
			got, _ = rooms.Get(ctx, "7")
			q.mistake(&prev, &got, s)
			v, _ := domains.CodecOf[chat.Room, *chat.Room](q.cfg.Layout, nil).Encode(&got, rmw.Value{})
			_ = direct.Set(ctx, "chat:room:7", v, m.ttl)
		}
		if is := entities.Outcome(`room "7"`, err, got.Version != prev.Version); is != outcome || seq != number {
			return fail("%s %d (%v), the model says %s %d", is, seq, err, outcome, number)
		}
		stored, ttl, _ := direct.Get(ctx, "chat:room:7")
		if outcome != changed && !before.Equal(stored) {
			return fail("%s, and yet something was written", outcome)
		}
		if stored.Exists() && (ttl-m.ttl).Abs() > 5*time.Minute {
			return fail("the key expires in %v, the model says %v", ttl, m.ttl)
		}
		next, err := rooms.Get(ctx, "7")
		if err != nil && !errors.Is(err, chat.ErrNoRoom) {
			return fail("%v", err)
		}
		if want := tidy(m.Room); !assert.ObjectsAreEqual(want, tidy(next)) {
			return fail("stored\n%+v, the model says\n%+v", next, want)
		}
		if (outcome == changed || outcome == kept) && !assert.ObjectsAreEqual(tidy(next), tidy(got)) {
			return fail("returned\n%+v, stored\n%+v", got, next)
		}
		code, _, _ := strings.Cut(outcome, ":")
		if q.codes[code]++; outcome == changed {
			q.rows[s.op+" "+string(prev.Status)+" "+string(next.Status)]++
		}
		prev = next
	}
	return nil
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
	ctx, o := context.Background(), domains.Op{ID: s.id, At: s.at.Time()}
	switch s.op {
	case "Create":
		room, err = rooms.Create(ctx, "7", o, chat.Room{
			TenantID: s.who, Cap: s.number, StayOpen: s.flag, Name: s.text, Topic: s.topic, Unknown: unknown,
			// Create ignores these fields.
			Header: domains.Header{Format: 9, Version: 9, Applied: []domains.Applied{{ID: "x"}}}, ID: "8", OwnerID: "zoe", Seq: 9,
			Members: map[string]chat.Member{"zoe": {}}, Status: chat.Closed, CreatedAt: 1, ActiveAt: 2, ClosedAt: 3,
		})
	case "Join": // which does not take the time and the number read
		m := chat.Member{Role: chat.Role(s.role), Muted: s.flag, JoinedAt: 1, ReadSeq: 99, Unknown: foreign()}
		room, err = rooms.Join(ctx, "7", o, s.who, m)
	case "Leave":
		room, err = rooms.Leave(ctx, "7", o, s.who)
	case "Remove":
		room, err = rooms.Remove(ctx, "7", o, s.by, s.who)
	case "Describe":
		room, err = rooms.Describe(ctx, "7", o, s.text, s.topic)
	case "SetCap":
		room, err = rooms.SetCap(ctx, "7", o, s.number)
	case "SetRole":
		room, err = rooms.SetRole(ctx, "7", o, s.by, s.who, chat.Role(s.role))
	case "Mute":
		room, err = rooms.Mute(ctx, "7", o, s.by, s.who, s.flag)
	case "TransferOwner":
		room, err = rooms.TransferOwner(ctx, "7", o, s.by, s.who)
	case "Post":
		seq, room, err = rooms.Post(ctx, "7", o, s.who)
	case "MarkRead":
		room, err = rooms.MarkRead(ctx, "7", o, s.who, uint64(s.number))
	case "Touch":
		room, err = rooms.Touch(ctx, "7", o)
	case "Close":
		room, err = rooms.Close(ctx, "7", o, s.by)
	}
	return room, seq, err
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
			id: fmt.Sprint(i), op: rapid.SampledFrom(operations).Draw(t, "op"), at: clock,
			by: owner.Draw(t, "by"), who: rapid.SampledFrom(people).Draw(t, "who"), role: role.Draw(t, "role"),
			flag: rapid.IntRange(0, 3).Draw(t, "flag") == 0, text: text.Draw(t, "text"), topic: topic.Draw(t, "topic"),
		}
		switch s.number = number.Draw(t, "number"); {
		case s.op == "MarkRead":
			s.number = max(s.number, 0)
		case s.op == "Join" && rapid.IntRange(0, 20).Draw(t, "no id") == 0:
			s.who = rapid.SampledFrom([]string{"", long[:129], "\xff"}).Draw(t, "which id")
		case s.op == "Close" && rapid.IntRange(0, 7).Draw(t, "not yet") > 0:
			s.op = "Post"
		}
		switch {
		case i == 0 && rapid.IntRange(0, 9).Draw(t, "create") > 0:
			s.op, s.text, s.topic = "Create", "n", "t"
		case i > 0 && rapid.IntRange(0, 9).Draw(t, "again") == 0:
			s = steps[rapid.IntRange(0, i-1).Draw(t, "which")]
			s.at = clock
		case i > 0 && rapid.IntRange(0, 30).Draw(t, "id of another") == 17:
			s.id = steps[rapid.IntRange(0, i-1).Draw(t, "which")].id
		}
		steps = append(steps, s)
	}
	return steps
}

// example is the run with that number; it is always the same.
func example(seed int) []step { return rapid.Custom(someSteps).Example(seed) }

// withExpiries draws the expiries of a layout's Config.
func withExpiries(t *rapid.T, layout domains.Layout) chat.Config {
	ttl := func(name string, ttls ...time.Duration) time.Duration { return rapid.SampledFrom(ttls).Draw(t, name) }
	return chat.Config{
		Layout: layout, TTL: ttl("TTL", 0, time.Hour, rmw.NoTTL), ClosedTTL: ttl("ClosedTTL", 0, 30*time.Minute, rmw.NoTTL),
	}
}

// Any sequence of operations matches the model in every layout: the stored and returned room, its expiry, and the codes and
// texts of refusals. All rows of the table and all refusals occur, and no transition besides the rows.
func TestRoomMatchesModel(t *testing.T) {
	rows, codes := map[string]int{}, map[string]int{}
	for _, layout := range entities.Layouts() {
		rapid.Check(t, func(t *rapid.T) {
			q := newRun(withExpiries(t, layout))
			q.rows, q.codes = rows, codes
			m := rmwtest.NewMemory()
			require.NoError(t, q.play(m, m, someSteps(t)))
		})
	}
	if testing.Short() || flag.Lookup("rapid.checks").Value.String() != "100" {
		return
	}
	want := []string{}
	for _, row := range chat.Transitions().Rows {
		from := strings.Join(row.From, "")
		want = append(want, row.Op+" "+from+" "+cmp.Or(row.To, from))
	}
	assert.ElementsMatch(t, want, slices.Collect(maps.Keys(rows)))
	assert.ElementsMatch(t, []string{
		changed, kept, invalid, "no_room", "room_exists", "room_full", "room_closed", "not_member", "not_owner", "may_not_post",
		"cap_too_small", "unread",
	}, slices.Collect(maps.Keys(codes)))
}

// The same on every path, for a few runs that are always the same.
func TestEveryPathMatchesModel(t *testing.T) {
	paths.Each(t, func(t *testing.T, target rmwtest.Target) {
		for i, layout := range entities.Layouts() {
			require.NoError(t, target.Direct.Set(t.Context(), "chat:room:7", rmw.Value{}, rmw.NoTTL))
			steps := slices.DeleteFunc(example(i), func(s step) bool { return s.op == "Expire" }) // it does not wait for the lock
			q := newRun(chat.Config{Layout: layout, ClosedTTL: time.Hour})
			require.NoError(t, q.play(target.Open(), target.Direct, steps[:min(len(steps), 60)]))
		}
	})
}

// The negative controls: if the package made one of these mistakes, the model would find it.
func TestModelNegativeControls(t *testing.T) {
	for name, mistake := range map[string]func(prev, next *chat.Room, s step){
		"none": func(_, _ *chat.Room, _ step) {},
		"the youngest is the heir": func(prev, next *chat.Room, _ step) {
			if _, stays := next.Members[prev.OwnerID]; !stays && prev.OwnerID != "" && len(next.Members) > 0 {
				next.OwnerID = slices.MaxFunc(slices.Sorted(maps.Keys(next.Members)), func(a, b string) int {
					return int(next.Members[a].JoinedAt - next.Members[b].JoinedAt)
				})
			}
		},
		"a mark is taken back": func(_, next *chat.Room, s step) {
			if s.op == "MarkRead" {
				with(next, s.who, func(m *chat.Member) { m.ReadSeq = uint64(s.number) })
			}
		},
		"31 are remembered": func(_, next *chat.Room, _ step) { next.Applied = next.Applied[max(0, len(next.Applied)-31):] },
		"the last to leave does not close": func(_, next *chat.Room, s step) {
			if s.op == "Remove" && len(next.Members) == 0 {
				next.Status, next.ClosedAt = chat.Open, 0
			}
		},
		"a member who comes back has an old mark": func(_, next *chat.Room, s step) {
			if _, in := next.Members[s.who]; in && s.op == "Join" {
				with(next, s.who, func(m *chat.Member) { m.ReadSeq = 0 })
			}
		},
	} {
		q := newRun(chat.Config{})
		q.mistake = mistake
		found := false
		for seed := 0; seed < 150 && !found && (name != "none" || seed < 20); seed++ {
			m := rmwtest.NewMemory()
			found = q.play(m, m, example(seed)) != nil
		}
		assert.Equal(t, name != "none", found, name)
	}
}
