package chat_test

import (
	"fmt"
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

// The prefix of the key, a codec instead of the layout and the expiry, and the table as a copy.
func TestConfig(t *testing.T) {
	m := rmwtest.NewMemory()
	rooms := chat.New(m, chat.Config{Prefix: "own:", Codec: rmw.JSON[chat.Room](), Layout: domains.Hash, ClosedTTL: time.Hour})
	_, err := rooms.Create(t.Context(), "7", op("a", 0), chat.Room{})
	require.NoError(t, err)
	_, err = rooms.Close(t.Context(), "7", op("b", 1), chat.System)
	require.NoError(t, err)
	v, ttl, err := m.Get(t.Context(), "own:7")
	require.NoError(t, err)
	assert.Equal(t, rmw.KindString, v.Kind())
	assert.Equal(t, rmw.NoTTL, ttl)

	table := chat.Transitions()
	table.Rows[0].To, table.Rows[1].From[0] = "x", "y"
	assert.Equal(t, []string{"open", "closed"}, chat.Transitions().States())
}

// Many processes use one room on every path: a place is given once, and every message has its own number.
func TestConcurrentProcesses(t *testing.T) {
	const many, places = 6, 4
	paths.Each(t, func(t *testing.T, target rmwtest.Target) {
		ctx, cfg := t.Context(), chat.Config{Layout: domains.HashByVersion}
		_, err := chat.New(target.Open(), cfg).Create(ctx, "7", op("create", 0), chat.Room{Cap: places})
		require.NoError(t, err)
		var wg sync.WaitGroup
		numbers := make([]uint64, many)
		for i := range many {
			rooms, who := chat.New(target.Open(), cfg), fmt.Sprint("m", i)
			wg.Go(func() {
				_, err := rooms.Join(ctx, "7", op(who, 1), who, chat.Member{})
				if err != nil {
					assert.ErrorIs(t, err, chat.ErrRoomFull)
					return
				}
				numbers[i], _, err = rooms.Post(ctx, "7", op("post "+who, 2), who)
				assert.NoError(t, err)
			})
		}
		wg.Wait()
		room, err := chat.New(target.Open(), cfg).Get(ctx, "7")
		require.NoError(t, err)
		assert.Len(t, room.Members, places)
		assert.ElementsMatch(t, []uint64{0, 0, 1, 2, 3, 4}, numbers)
		assert.Equal(t, uint64(1+2*places), room.Version)
	})
}
