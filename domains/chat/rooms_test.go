package chat_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/domains/chat"
	"github.com/unwatch/unwatch/internal/testing/paths"
	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/rmwtest"
)

// Every refusal has a code, which a service may show, and a text for people.
func TestRefusals(t *testing.T) {
	for code, refusal := range map[string]*domains.Refusal{
		"no_room": chat.ErrNoRoom, "room_exists": chat.ErrRoomExists, "room_full": chat.ErrRoomFull, "room_closed": chat.ErrRoomClosed,
		"not_member": chat.ErrNotMember, "not_owner": chat.ErrNotOwner, "may_not_post": chat.ErrMayNotPost,
		"cap_too_small": chat.ErrCapTooSmall, "unread": chat.ErrUnread,
	} {
		assert.Equal(t, code, refusal.Code())
	}
	ctx, rooms := t.Context(), chat.New(rmwtest.NewMemory(), chat.Config{})
	_, err := rooms.Get(ctx, "7")
	require.EqualError(t, err, `room "7": there is no such room`)
	_, err = rooms.Create(ctx, "7", op("a", 0), chat.Room{Cap: 1})
	require.NoError(t, err)
	_, err = rooms.Join(ctx, "7", op("b", 1), "ann", chat.Member{})
	require.NoError(t, err)
	for range 2 { // it is an answer like another: the operation sent again is refused again
		_, err = rooms.Join(ctx, "7", op("c", 2), "bob", chat.Member{})
		require.EqualError(t, err, `room "7": the room is full: 1 of 1 are in`)
		assert.Same(t, chat.ErrRoomFull, domains.RefusalOf(err))
		assert.False(t, rmw.Retryable(errors.Unwrap(err)))
	}
	_, err = rooms.SetCap(ctx, "7", op("d", 3), 2)
	require.NoError(t, err)
	room, err := rooms.Join(ctx, "7", op("c", 2), "bob", chat.Member{}) // until a place is free
	require.NoError(t, err)
	assert.Equal(t, sec(3), room.Members["bob"].JoinedAt, "the room has seen a later time")
	_, err = rooms.SetCap(ctx, "7", op("e", 4), 1)
	require.ErrorContains(t, err, "the room has more members than that: 2 are in")
	_, err = rooms.SetCap(ctx, "7", op("f", 4), -1)
	require.ErrorContains(t, err, "a cap of -1: 0 is no limit")
	_, err = rooms.MarkRead(ctx, "7", op("g", 4), "ann", 1)
	require.ErrorContains(t, err, "the room has not as many messages: 1 of 0")
}

// A change of one's own has the name that it is given; it may consist of several
// operations. The methods of Rooms have their own names.
func TestEditKeepsOpName(t *testing.T) {
	rooms := chat.New(rmwtest.NewMemory(), chat.Config{})
	_, err := rooms.Create(t.Context(), "7", op("a", 0).As("Mine"), chat.Room{})
	require.NoError(t, err)
	change := func(r *chat.Room) error {
		return domains.Steps(
			func() error { return r.Join(sec(1), "ann", chat.Member{}) },
			func() error { return r.Join(sec(1), "ann", chat.Member{}) },
			func() error { return r.Join(sec(1), "bob", chat.Member{}) })
	}
	room, err := rooms.Edit(t.Context(), "7", op("b", 1).As("Mine"), change)
	require.NoError(t, err)
	assert.Len(t, room.Members, 2)
	assert.Equal(t, []domains.Applied{{ID: "a", Op: "Create"}, {ID: "b", Op: "Mine"}}, room.Applied)
	_, err = rooms.Edit(t.Context(), "7", op("b", 2), change)
	require.ErrorIs(t, err, rmw.ErrInvalid)
}

// The id of another operation is no message's, also if it was stored without its name:
// there is no number that the message could have.
func TestPostWithIDOfAnotherOperation(t *testing.T) {
	m := rmwtest.NewMemory()
	rooms := chat.New(m, chat.Config{})
	require.NoError(t, m.Set(t.Context(), "chat:room:7",
		rmw.String(`{"id":"7","status":"open","owner_id":"ann","members":{"ann":{}},"applied":[{"id":"a"}]}`), rmw.NoTTL))
	seq, room, err := rooms.Post(t.Context(), "7", op("a", 1), "ann")
	require.ErrorIs(t, err, rmw.ErrInvalid)
	assert.Nil(t, domains.RefusalOf(err))
	assert.Zero(t, seq)
	assert.Equal(t, chat.Room{}, room)
	seq, _, err = rooms.Post(t.Context(), "7", op("a", 1).For("post"), "ann")
	require.NoError(t, err)
	assert.Equal(t, uint64(1), seq)
}

// A room under another's key is an error, and one without an id has that of its key.
func TestIDs(t *testing.T) {
	m := rmwtest.NewMemory()
	for id, says := range map[string]string{"8": `the key is that of the room "7"`, "": ""} {
		require.NoError(t, m.Set(t.Context(), "chat:room:7", rmw.String(`{"id":"`+id+`","status":"open"}`), rmw.NoTTL))
		room, err := chat.New(m, chat.Config{}).Touch(t.Context(), "7", op("a", 1))
		if says != "" {
			require.ErrorIs(t, err, rmw.ErrUndecodable)
			require.ErrorContains(t, err, says)
			continue
		}
		require.NoError(t, err)
		assert.Equal(t, "7", room.ID)
	}
}

// A room lives as long as its state says, from each change on.
func TestExpiry(t *testing.T) {
	for _, test := range []struct {
		cfg          chat.Config
		open, closed time.Duration
	}{
		{chat.Config{}, rmw.NoTTL, rmw.NoTTL},
		{chat.Config{TTL: time.Hour}, time.Hour, time.Hour},
		{chat.Config{ClosedTTL: time.Minute}, rmw.NoTTL, time.Minute},
		{chat.Config{TTL: time.Hour, ClosedTTL: time.Minute}, time.Hour, time.Minute},
		{chat.Config{TTL: time.Hour, ClosedTTL: rmw.NoTTL}, time.Hour, rmw.NoTTL},
		// A codec of one's own decides.
		{chat.Config{Codec: rmw.JSON[chat.Room](), Layout: domains.Hash, ClosedTTL: time.Hour}, rmw.NoTTL, rmw.NoTTL},
	} {
		m := rmwtest.NewMemory()
		test.cfg.Prefix = "own:"
		rooms := chat.New(m, test.cfg)
		left := func() time.Duration {
			v, ttl, err := m.Get(t.Context(), "own:7")
			require.NoError(t, err)
			require.Equal(t, rmw.KindString, v.Kind())
			return ttl.Round(time.Minute)
		}
		noTTL := func(d time.Duration) time.Duration { return d.Round(time.Minute) }
		_, err := rooms.Create(t.Context(), "7", op("a", 0), chat.Room{})
		require.NoError(t, err)
		assert.Equal(t, noTTL(test.open), left())
		_, err = rooms.Touch(t.Context(), "7", op("b", 1))
		require.NoError(t, err)
		assert.Equal(t, noTTL(test.open), left())
		_, err = rooms.Close(t.Context(), "7", op("c", 2), chat.System)
		require.NoError(t, err)
		assert.Equal(t, noTTL(test.closed), left())
	}
}

// The table is a copy each time.
func TestTransitionsReturnsACopy(t *testing.T) {
	table := chat.Transitions()
	table.Rows[0].To, table.Rows[1].From[0] = "x", "y"
	assert.Equal(t, []string{"open", "closed"}, chat.Transitions().States())
}

// Many processes use one room on every path: a place is given once, every message has a
// number of its own, and while owners leave and others come, one of the members owns the
// room.
func TestConcurrentProcesses(t *testing.T) {
	const many, places = 6, 4
	paths.Each(t, func(t *testing.T, target rmwtest.Target) {
		ctx := t.Context()
		together := func(do func(rooms chat.Rooms, who string)) {
			var wg sync.WaitGroup
			for i := range many {
				rooms := chat.New(target.Open(), chat.Config{Layout: domains.HashByVersion})
				wg.Go(func() { do(rooms, fmt.Sprint("m", i)) })
			}
			wg.Wait()
		}
		all := chat.New(target.Open(), chat.Config{Layout: domains.HashByVersion})
		_, err := all.Create(ctx, "7", op("create", 0), chat.Room{Cap: places, StayOpen: true})
		require.NoError(t, err)
		var mu sync.Mutex
		var in []string
		together(func(rooms chat.Rooms, who string) {
			room, err := rooms.Join(ctx, "7", op(who, 1), who, chat.Member{})
			if err != nil {
				assert.ErrorIs(t, err, chat.ErrRoomFull)
				return
			}
			assert.Contains(t, room.Members, who)
			mu.Lock()
			defer mu.Unlock()
			in = append(in, who)
		})
		room, err := all.Get(ctx, "7")
		require.NoError(t, err)
		assert.Len(t, room.Members, places)
		assert.Len(t, in, places)

		var numbers []uint64
		together(func(rooms chat.Rooms, who string) {
			seq, room, err := rooms.Post(ctx, "7", op("post "+who, 20), who)
			if !slices.Contains(in, who) {
				assert.ErrorIs(t, err, chat.ErrNotMember)
				return
			}
			assert.NoError(t, err)
			assert.Equal(t, seq, room.Seq)
			mu.Lock()
			defer mu.Unlock()
			numbers = append(numbers, seq)
		})
		assert.ElementsMatch(t, []uint64{1, 2, 3, 4}, numbers)

		_, err = all.SetCap(ctx, "7", op("cap", 30), 0)
		require.NoError(t, err)
		together(func(rooms chat.Rooms, who string) {
			var room chat.Room
			var err error
			if slices.Contains(in, who) {
				room, err = rooms.Leave(ctx, "7", op("leave "+who, 40), who)
			} else {
				room, err = rooms.Join(ctx, "7", op("again "+who, 40), who, chat.Member{})
			}
			assert.NoError(t, err)
			assert.Empty(t, broken(&room, &room))
		})
		room, err = all.Get(ctx, "7")
		require.NoError(t, err)
		assert.Len(t, room.Members, many-places)
		assert.Contains(t, room.Members, room.OwnerID)
		assert.Equal(t, uint64(1+places+places+1+many), room.Version)
	})
}
