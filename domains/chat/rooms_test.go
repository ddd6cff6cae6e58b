package chat_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/domains/chat"
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
