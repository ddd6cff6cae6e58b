package chat_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/domains/chat"
	"github.com/unwatch/unwatch/internal/testing/paths"
	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/rmwtest"
)

// run plays steps on a room and on the model, and compares them after each.
type run struct {
	layout domains.Layout
	rows   map[string]int // how often each row of the table was taken: "op from to"
	codes  map[string]int // how often each outcome occurred
	// mistake, if not nil, changes the stored room like a bug in the package. It is the negative control: the
	// run has to fail.
	mistake func(prev, next *chat.Room, s step)
}

func newRun(layout domains.Layout) *run {
	return &run{layout: layout, rows: map[string]int{}, codes: map[string]int{}}
}

// play returns the first difference.
func (q *run) play(store rmw.Store, direct rmwtest.Direct, steps []step) error {
	ctx, rooms := context.Background(), chat.New(store, chat.Config{Layout: q.layout})
	read := func() rmw.Value { v, _, _ := direct.Get(ctx, "chat:room:7"); return v }
	var m model
	var prev chat.Room
	for i, s := range steps {
		fail := func(format string, args ...any) error {
			return fmt.Errorf("step %d, %+v: %s", i, s, fmt.Sprintf(format, args...))
		}
		before := read()
		outcome, number := m.take(s)
		got, seq, err := send(rooms, s, m.unknown(q.layout))
		if q.mistake != nil && err == nil {
			got, _ = rooms.Get(ctx, "7")
			q.mistake(&prev, &got, s)
			v, _ := domains.CodecOf[chat.Room, *chat.Room](q.layout, nil).Encode(&got, rmw.Value{})
			_ = direct.Set(ctx, "chat:room:7", v, rmw.NoTTL)
		}
		if is := outcomeOf(err, got.Version != prev.Version); is != outcome || seq != number {
			return fail("%s %d (%v), the model says %s %d", is, seq, err, outcome, number)
		}
		q.codes[outcome]++
		if outcome != changed && !before.Equal(read()) {
			return fail("%s, and yet something was written", outcome)
		}
		next, err := rooms.Get(ctx, "7")
		if err != nil && !errors.Is(err, chat.ErrNoRoom) {
			return fail("%v", err)
		}
		if want := m.room("7", q.layout); !assert.ObjectsAreEqual(want, tidy(next)) {
			return fail("stored\n%+v, the model says\n%+v", next, want)
		}
		if (outcome == changed || outcome == kept) && !assert.ObjectsAreEqual(tidy(next), tidy(got)) {
			return fail("returned\n%+v, stored\n%+v", got, next)
		}
		if rule := broken(&prev, &next); rule != "" && m.exists {
			return fail("broken: %s", rule)
		}
		if outcome == changed {
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

// outcomeOf returns the outcome of a step in the words of the model.
func outcomeOf(err error, differs bool) string {
	switch refusal := domains.RefusalOf(err); {
	case refusal != nil:
		return refusal.Code()
	case errors.Is(err, rmw.ErrInvalid):
		return invalid
	case err != nil:
		return err.Error()
	case differs:
		return changed
	}
	return kept
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

// Any sequence of operations matches the model, breaks no rule and follows only rows of the table. All rows and
// all refusals occur.
func TestRoomMatchesModel(t *testing.T) {
	rows, codes := map[string]int{}, map[string]int{}
	eachLayout(t, func(t *testing.T, layout domains.Layout) {
		q := newRun(layout)
		q.rows, q.codes = rows, codes
		rapid.Check(t, func(t *rapid.T) {
			m := rmwtest.NewMemory()
			require.NoError(t, q.play(m, m, someSteps(t)))
		})
	})
	if testing.Short() || flag.Lookup("rapid.checks").Value.String() != "100" {
		return
	}
	want := []string{}
	for _, row := range chat.Transitions().Rows {
		from, to := "", row.To
		if len(row.From) > 0 {
			from = row.From[0]
		}
		if to == "" {
			to = from
		}
		want = append(want, row.Op+" "+from+" "+to)
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
		for i, layout := range layouts() {
			require.NoError(t, target.Direct.Set(t.Context(), "chat:room:7", rmw.Value{}, rmw.NoTTL))
			require.NoError(t, newRun(layout).play(target.Open(), target.Direct, example(i)))
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
		"a version is not counted": func(prev, next *chat.Room, _ step) { next.Version = prev.Version },
		"a clock runs backwards": func(_, next *chat.Room, s step) {
			if s.op == "Touch" || s.op == "Post" {
				next.ActiveAt = s.at
			}
		},
		"a number is skipped": func(prev, next *chat.Room, s step) {
			if next.Seq > prev.Seq && s.op == "Post" {
				next.Seq++
			}
		},
		"a mark is taken back": func(_, next *chat.Room, s step) {
			if s.op == "MarkRead" {
				with(next, s.who, func(m *chat.Member) { m.ReadSeq = uint64(s.number) })
			}
		},
		"a refused operation writes": func(prev, next *chat.Room, _ step) {
			if next.Version == prev.Version && next.Status == chat.Open {
				next.ActiveAt++
			}
		},
		"operations are forgotten": func(_, next *chat.Room, _ step) { next.Applied = nil },
		"31 are remembered":        func(_, next *chat.Room, _ step) { next.Applied = next.Applied[max(0, len(next.Applied)-31):] },
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
		"the unknown is lost": func(_, next *chat.Room, _ step) { next.Unknown = domains.Unknown{} },
	} {
		q := newRun(domains.JSON)
		q.mistake = mistake
		found := false
		for seed := 0; seed < 150 && !found && (name != "none" || seed < 20); seed++ {
			m := rmwtest.NewMemory()
			found = q.play(m, m, example(seed)) != nil
		}
		assert.Equal(t, name != "none", found, name)
	}
}

// The negative controls of broken: each change breaks one rule.
func TestCheckNamesTheRule(t *testing.T) {
	for rule, change := range map[string]func(prev, next *chat.Room){
		"":                                  func(_, next *chat.Room) { next.Version++ },
		"more members than Cap":             func(_, next *chat.Room) { next.Cap = 3; next.Members["dan"] = chat.Member{} },
		"no owner among the members":        func(_, next *chat.Room) { next.OwnerID = "dan" },
		"a closed room stays as it is":      func(prev, next *chat.Room) { prev.Status = chat.Closed; next.Version++ },
		"the number of messages only grows": func(_, next *chat.Room) { next.Seq-- },
		"times do not run backwards":        func(_, next *chat.Room) { next.ActiveAt-- },
		"the last one to leave closes the room": func(_, next *chat.Room) {
			next.Members, next.OwnerID, next.StayOpen, next.Status, next.ClosedAt = nil, "", true, chat.Closed, next.ActiveAt
		},
	} {
		prev, next := tidy(*sound()), tidy(*sound())
		change(&prev, &next)
		assert.Equal(t, rule, broken(&prev, &next))
	}
}
