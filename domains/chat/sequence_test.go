package chat_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/domains/chat"
	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/rmwtest"
)

// sequence lets steps happen in a room and beside it in a model, and compares.
type sequence struct {
	layout domains.Layout
	rows   map[int]int // how often each row of the table was gone
	codes  map[string]int
	// mischief, if any, is what a mistake in the package would do with what it has just
	// stored: the sequence has to find it.
	mischief func(prev, next *chat.Room, s step)
}

func newSequence(layout domains.Layout) *sequence {
	return &sequence{layout: layout, rows: map[int]int{}, codes: map[string]int{}}
}

// run returns the first difference.
func (q *sequence) run(steps []step) error {
	memory := rmwtest.NewMemory()
	rooms := chat.New(memory, chat.Config{Layout: q.layout})
	var m model
	var prev chat.Room
	for i, s := range steps {
		fail := func(format string, args ...any) error {
			return fmt.Errorf("step %d, %+v: %s", i, s, fmt.Sprintf(format, args...))
		}
		before := read(memory)
		outcome, number := m.take(s)
		got, seq, err := send(rooms, s)
		if q.mischief != nil && err == nil {
			now, _ := rooms.Get(context.Background(), "7")
			q.mischief(&prev, &now, s)
			v, _ := domains.CodecOf[chat.Room, *chat.Room](q.layout, nil).Encode(&now, rmw.Value{})
			_ = memory.Set(context.Background(), "chat:room:7", v, rmw.NoTTL)
			got = now
		}
		if is := outcomeOf(err, got.Version != prev.Version); is != outcome {
			return fail("%s (%v), the model says %s", is, err, outcome)
		}
		if seq != number {
			return fail("number %d, the model says %d", seq, number)
		}
		q.codes[outcome]++
		if outcome != changed && !before.Equal(read(memory)) {
			return fail("%s, and yet something was written", outcome)
		}
		next, err := rooms.Get(context.Background(), "7")
		if err != nil && !errors.Is(err, chat.ErrNoRoom) {
			return fail("%v", err)
		}
		if want := m.room("7"); !assert.ObjectsAreEqual(want, tidy(next)) {
			return fail("stored\n%+v, the model says\n%+v", next, want)
		}
		if outcome == changed || outcome == kept {
			if !assert.ObjectsAreEqual(tidy(next), tidy(got)) {
				return fail("returned\n%+v, stored\n%+v", got, next)
			}
		}
		if m.exists {
			if broken := append(brokenState(&next), brokenChange(&prev, &next, s.op)...); len(broken) > 0 {
				return fail("broken: %q", broken)
			}
		}
		if outcome == changed {
			q.rows[rowOf(&prev, &next, s.op)]++
		}
		prev = next
	}
	return nil
}

func read(memory *rmwtest.Memory) rmw.Value {
	v, _, _ := memory.Get(context.Background(), "chat:room:7")
	return v
}

// outcomeOf puts what has come of a step in the words of the model.
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
func send(rooms chat.Rooms, s step) (room chat.Room, seq uint64, err error) {
	ctx, o := context.Background(), domains.Op{ID: s.id, At: s.at.Time()}
	switch s.op {
	case "Create":
		room, err = rooms.Create(ctx, "7", o, chat.Room{
			TenantID: s.who, Cap: s.number, StayOpen: s.flag, Name: s.text, Topic: s.text,
			// What Create does not take.
			ID: "8", OwnerID: "zoe", Seq: 9, Members: map[string]chat.Member{"zoe": {}}, Status: chat.Closed, ClosedAt: 1, CreatedAt: 1,
		})
	case "Join":
		// The times and the number read are not the caller's to say.
		m := chat.Member{Role: chat.Role(s.role), Muted: s.flag, JoinedAt: 1, ReadSeq: 99}
		room, err = rooms.Join(ctx, "7", o, s.who, m)
	case "Leave":
		room, err = rooms.Leave(ctx, "7", o, s.who)
	case "Remove":
		room, err = rooms.Remove(ctx, "7", o, s.by, s.who)
	case "Describe":
		room, err = rooms.Describe(ctx, "7", o, s.text, s.text)
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

// Any sequence of operations does what the model does, keeps every rule, and goes only
// where the table leads.
func TestSequences(t *testing.T) {
	eachLayout(t, func(t *testing.T, layout domains.Layout) {
		q := newSequence(layout)
		rapid.Check(t, func(t *rapid.T) { require.NoError(t, q.run(someSteps(t))) })
		assert.NotContains(t, q.rows, -1)
	})
}

// The same over sequences that are always the same ones: they go every row of the
// table, and meet every refusal.
func TestSequencesGoEveryWay(t *testing.T) {
	q := newSequence(domains.JSON)
	for seed := range 150 {
		require.NoError(t, q.run(rapid.Custom(someSteps).Example(seed)))
	}
	for i, row := range chat.Transitions().Rows {
		assert.Positive(t, q.rows[i], "%+v", row)
	}
	assert.Len(t, q.rows, len(chat.Transitions().Rows))
	for _, outcome := range []string{
		changed, kept, invalid, "no_room", "room_exists", "room_full", "room_closed", "not_member", "not_owner", "may_not_post",
		"cap_too_small", "unread",
	} {
		assert.Positive(t, q.codes[outcome], outcome)
	}
	assert.Len(t, q.codes, 12)
}
