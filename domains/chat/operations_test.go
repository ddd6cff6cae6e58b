package chat_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/domains/chat"
	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/rmwtest"
)

// call is one operation on the room with that id, as one process makes it.
type call func(ctx context.Context, rooms chat.Rooms, id string, op domains.Op) (chat.Room, error)

func join(who string, m chat.Member) call {
	return func(ctx context.Context, rooms chat.Rooms, id string, op domains.Op) (chat.Room, error) {
		return rooms.Join(ctx, id, op, who, m)
	}
}

func leave(who string) call {
	return func(ctx context.Context, rooms chat.Rooms, id string, op domains.Op) (chat.Room, error) {
		return rooms.Leave(ctx, id, op, who)
	}
}

func remove(by, who string) call {
	return func(ctx context.Context, rooms chat.Rooms, id string, op domains.Op) (chat.Room, error) {
		return rooms.Remove(ctx, id, op, by, who)
	}
}

func describe(name, topic string) call {
	return func(ctx context.Context, rooms chat.Rooms, id string, op domains.Op) (chat.Room, error) {
		return rooms.Describe(ctx, id, op, name, topic)
	}
}

func setCap(limit int) call {
	return func(ctx context.Context, rooms chat.Rooms, id string, op domains.Op) (chat.Room, error) {
		return rooms.SetCap(ctx, id, op, limit)
	}
}

func setRole(by, who string, role chat.Role) call {
	return func(ctx context.Context, rooms chat.Rooms, id string, op domains.Op) (chat.Room, error) {
		return rooms.SetRole(ctx, id, op, by, who, role)
	}
}

func mute(by, who string, muted bool) call {
	return func(ctx context.Context, rooms chat.Rooms, id string, op domains.Op) (chat.Room, error) {
		return rooms.Mute(ctx, id, op, by, who, muted)
	}
}

func transfer(by, who string) call {
	return func(ctx context.Context, rooms chat.Rooms, id string, op domains.Op) (chat.Room, error) {
		return rooms.TransferOwner(ctx, id, op, by, who)
	}
}

func post(who string) call {
	return func(ctx context.Context, rooms chat.Rooms, id string, op domains.Op) (chat.Room, error) {
		_, room, err := rooms.Post(ctx, id, op, who)
		return room, err
	}
}

func markRead(who string, seq uint64) call {
	return func(ctx context.Context, rooms chat.Rooms, id string, op domains.Op) (chat.Room, error) {
		return rooms.MarkRead(ctx, id, op, who, seq)
	}
}

func touch(ctx context.Context, rooms chat.Rooms, id string, op domains.Op) (chat.Room, error) {
	return rooms.Touch(ctx, id, op)
}

func closeBy(by string) call {
	return func(ctx context.Context, rooms chat.Rooms, id string, op domains.Op) (chat.Room, error) {
		return rooms.Close(ctx, id, op, by)
	}
}

func create(info chat.Room) call {
	return func(ctx context.Context, rooms chat.Rooms, id string, op domains.Op) (chat.Room, error) {
		return rooms.Create(ctx, id, op, info)
	}
}

func edit(change func(*chat.Room) error) call {
	return func(ctx context.Context, rooms chat.Rooms, id string, op domains.Op) (chat.Room, error) {
		return rooms.Edit(ctx, id, op, change)
	}
}

// operationCase is an operation on a room of three places where ann, the owner, has
// been since second 1 and bob since second 2, and ann has posted once, in second 3.
// first happens before it, one a second from 4 on; it happens in second 20.
type operationCase struct {
	name  string
	first []call
	do    call
	late  int // or so much earlier
	// One of these is the outcome. What changes is all that does, but for the version
	// and the remembered operation.
	changes func(r *chat.Room)
	keeps   bool
	refused *domains.Refusal
	invalid string
}

// with changes a member.
func with(r *chat.Room, who string, change func(m *chat.Member)) {
	m := r.Members[who]
	change(&m)
	r.Members[who] = m
}

// lastOp is the name of the latest operation: which it has to be, the sequences say.
func lastOp(h domains.Header) string {
	if len(h.Applied) == 0 {
		return "none"
	}
	return h.Applied[len(h.Applied)-1].Op
}

func (test operationCase) run(t *testing.T, w world) {
	ctx, id := t.Context(), test.name
	setup := append([]call{
		create(chat.Room{Cap: 3, Name: "n", Topic: "t", TenantID: "acme"}), join("ann", chat.Member{Role: chat.Agent}),
		join("bob", chat.Member{Role: chat.Visitor}), post("ann"),
	}, test.first...)
	// How the room came about is not what is tested: that needs no path.
	memory := rmwtest.NewMemory()
	before := chat.Room{}
	for i, do := range setup {
		var err error
		before, err = do(ctx, chat.New(memory, chat.Config{Layout: w.layout}), id, op("setup "+string(rune('a'+i)), i))
		require.NoError(t, err, "%s: setup %d", test.name, i)
	}
	before = tidy(before)
	stored := world{Target: rmwtest.Target{Direct: memory}}.stored(t, id)
	require.NoError(t, w.Direct.Set(ctx, "chat:room:"+id, stored, rmw.NoTTL))

	after, err := test.do(ctx, w.Rooms, id, op("it", 20-test.late))
	if test.changes != nil {
		require.NoError(t, err, test.name)
		want := tidy(before)
		test.changes(&want)
		want.Version++
		want.Applied = append(want.Applied, domains.Applied{ID: "it", Op: lastOp(after.Header)})
		if want.Seq > before.Seq {
			want.Applied[len(want.Applied)-1].Number = want.Seq
		}
		assert.Equal(t, tidy(want), tidy(after), test.name)
		got, err := w.Get(ctx, id)
		require.NoError(t, err, test.name)
		assert.Equal(t, tidy(want), tidy(got), test.name)
		stored, before = w.stored(t, id), want
		after, err = test.do(ctx, w.Rooms, id, op("it", 30))
		require.NoError(t, err, "%s: again", test.name)
		assert.Equal(t, tidy(before), tidy(after), "%s: again", test.name)
	}
	switch {
	case test.keeps:
		require.NoError(t, err, test.name)
		assert.Equal(t, before, tidy(after), test.name)
	case test.refused != nil:
		require.ErrorIs(t, err, test.refused, test.name)
		assert.True(t, strings.HasPrefix(err.Error(), `room "`+id+`": `+test.refused.Error()), "%v", err)
		assert.Equal(t, chat.Room{}, after, test.name)
	case test.invalid != "":
		require.ErrorIs(t, err, rmw.ErrInvalid, test.name)
		require.ErrorContains(t, err, test.invalid, test.name)
		assert.Nil(t, domains.RefusalOf(err), test.name)
	}
	assert.True(t, stored.Equal(w.stored(t, id)), "%s: nothing more is written", test.name)
}

// Every operation does what it says, and nothing else, or is refused, and does nothing.
func TestOperations(t *testing.T) {
	everywhere(t, func(t *testing.T, w world) {
		for _, test := range operationCases() {
			test.run(t, w)
		}
	})
}

// Every refusal is reached.
func TestRefusalsAreReached(t *testing.T) {
	reached := map[*domains.Refusal]bool{}
	for _, test := range operationCases() {
		if test.refused != nil {
			reached[test.refused] = true
		}
	}
	codes := map[string]bool{}
	for _, refusal := range []*domains.Refusal{
		chat.ErrRoomExists, chat.ErrRoomFull, chat.ErrRoomClosed, chat.ErrNotMember, chat.ErrNotOwner,
		chat.ErrMayNotPost, chat.ErrCapTooSmall, chat.ErrUnread,
	} {
		assert.True(t, reached[refusal], refusal.Code())
		codes[refusal.Code()] = true
	}
	codes[chat.ErrNoRoom.Code()] = true // TestNoRoom
	assert.Len(t, codes, 9, "each has a code of its own")
}

// Nothing but Create can be done where there is no room.
func TestNoRoom(t *testing.T) {
	everywhere(t, func(t *testing.T, w world) {
		for i, do := range []call{
			join("ann", chat.Member{}), leave("ann"), remove(chat.System, "ann"), describe("a", "b"), setCap(1),
			setRole(chat.System, "ann", chat.Agent), mute(chat.System, "ann", true), transfer(chat.System, "ann"), post("ann"),
			markRead("ann", 0), touch, closeBy(chat.System), edit(func(*chat.Room) error { return nil }),
			func(ctx context.Context, rooms chat.Rooms, id string, _ domains.Op) (chat.Room, error) {
				return rooms.Get(ctx, id)
			},
		} {
			room, err := do(t.Context(), w.Rooms, "7", op("a", 1))
			require.ErrorIs(t, err, chat.ErrNoRoom, i)
			require.EqualError(t, err, `room "7": there is no such room`)
			assert.Equal(t, chat.Room{}, room)
			assert.False(t, w.stored(t, "7").Exists())
		}
		seq, _, err := w.Post(t.Context(), "7", op("a", 1), "ann")
		require.ErrorIs(t, err, chat.ErrNoRoom)
		assert.Zero(t, seq)
	})
}
