package chat_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/domains/chat"
	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/rmwtest"
)

// What a room remembers of an operation is its name in the table, for each that the
// table has.
func TestOperationsAreRememberedByTheirNames(t *testing.T) {
	rooms := chat.New(rmwtest.NewMemory(), chat.Config{})
	var names []string
	for i, do := range []call{
		create(chat.Room{}), join("ann", chat.Member{}), join("bob", chat.Member{}), join("cid", chat.Member{}), describe("a", "b"),
		setCap(5), setRole("ann", "bob", chat.Agent), mute("ann", "bob", true), transfer("ann", "bob"), post("ann"), markRead("bob", 1),
		touch, remove("bob", "cid"), leave("ann"), edit(func(*chat.Room) error { return nil }), closeBy(chat.System),
	} {
		room, err := do(t.Context(), rooms, "7", op(string(rune('a'+i)), i))
		require.NoError(t, err)
		names = append(names, lastOp(room.Header))
	}
	table := []string{"Edit"}
	for _, row := range chat.Transitions().Rows {
		table = append(table, row.Op)
	}
	slices.Sort(names)
	slices.Sort(table)
	assert.Equal(t, slices.Compact(table), slices.Compact(names))
}

// A request that posts under the id it has joined with is told so. It would succeed, and
// nothing would be posted.
func TestAnIDIsOfOneOperation(t *testing.T) {
	everywhere(t, func(t *testing.T, w world) {
		_, err := w.Create(t.Context(), "7", op("create", 0), chat.Room{})
		require.NoError(t, err)
		_, err = w.Join(t.Context(), "7", op("request", 1), "ann", chat.Member{})
		require.NoError(t, err)
		seq, room, err := w.Post(t.Context(), "7", op("request", 1), "ann")
		require.ErrorIs(t, err, rmw.ErrInvalid)
		require.ErrorContains(t, err, `the id "request" was used for "Join", and this is "Post"`)
		assert.Zero(t, seq)
		assert.Equal(t, chat.Room{}, room)
		for _, do := range []call{leave("ann"), touch, create(chat.Room{}), edit(func(*chat.Room) error { panic("refused before") })} {
			_, err = do(t.Context(), w.Rooms, "7", op("request", 2))
			require.ErrorIs(t, err, rmw.ErrInvalid)
		}
		_, err = w.Join(t.Context(), "7", op("request", 3), "ann", chat.Member{})
		require.NoError(t, err, "the same again")
		seq, _, err = w.Post(t.Context(), "7", op("request", 1).For("hello"), "ann")
		require.NoError(t, err)
		assert.Equal(t, uint64(1), seq)
	})
}

// A change of one's own has the name it is given, whatever the caller called the
// operation before; the room's methods have their own.
func TestNamesOfEdits(t *testing.T) {
	rooms := chat.New(rmwtest.NewMemory(), chat.Config{})
	_, err := rooms.Create(t.Context(), "7", op("a", 0).As("Mine"), chat.Room{})
	require.NoError(t, err)
	change := func(r *chat.Room) error { return r.Touch(sec(1)) }
	room, err := rooms.Edit(t.Context(), "7", op("b", 1).As("Mine"), change)
	require.NoError(t, err)
	assert.Equal(t, []domains.Applied{{ID: "a", Op: "Create"}, {ID: "b", Op: "Mine"}}, room.Applied)
	_, err = rooms.Edit(t.Context(), "7", op("b", 2).As("Yours"), change)
	require.ErrorIs(t, err, rmw.ErrInvalid)
	_, err = rooms.Edit(t.Context(), "7", op("b", 2), change)
	require.ErrorIs(t, err, rmw.ErrInvalid)
}
