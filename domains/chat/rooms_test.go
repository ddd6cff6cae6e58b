package chat_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/domains/chat"
	"github.com/unwatch/unwatch/internal/paths"
	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/rmwtest"
)

func TestCreate(t *testing.T) {
	everywhere(t, func(t *testing.T, w world) {
		room, err := w.Create(t.Context(), "7", op("create", 0), chat.Room{
			TenantID: "acme", Name: "n", Topic: "t", Cap: 2, StayOpen: true,
			// The rest is not the caller's to say.
			Header: domains.Header{Format: 9, Version: 9, Applied: []domains.Applied{{ID: "x"}}}, ID: "8", Status: chat.Closed,
			OwnerID: "ann", Members: map[string]chat.Member{"ann": {}}, Seq: 9, CreatedAt: 1, ActiveAt: 2, ClosedAt: 3,
		})
		require.NoError(t, err)
		want := chat.Room{
			Header: domains.Header{Format: 1, Version: 1, Applied: []domains.Applied{{ID: "create", Op: "Create"}}},
			ID:     "7", TenantID: "acme", Name: "n", Topic: "t", Cap: 2, StayOpen: true,
			Status: chat.Open, CreatedAt: sec(0), ActiveAt: sec(0),
		}
		assert.Equal(t, want, room)
		got, err := w.Get(t.Context(), "7")
		require.NoError(t, err)
		assert.Equal(t, want, got)
	})
}

func TestCreateOfWhatIsNoRoom(t *testing.T) {
	memory := rmwtest.NewMemory()
	rooms := chat.New(memory, chat.Config{})
	for says, info := range map[string]chat.Room{"cap is negative": {Cap: -1}, "the name is not UTF-8": {Name: "\xff"}} {
		_, err := rooms.Create(t.Context(), "7", op("a", 0), info)
		require.ErrorIs(t, err, rmw.ErrInvalid)
		assert.ErrorContains(t, err, says)
	}
	_, err := rooms.Create(t.Context(), "", op("a", 0), chat.Room{})
	require.ErrorIs(t, err, rmw.ErrInvalid)
	v, _, err := memory.Get(t.Context(), "chat:room:7")
	require.NoError(t, err)
	assert.False(t, v.Exists())
}

// A room lives as long as its state says, from each change on.
func TestExpiry(t *testing.T) {
	for name, test := range map[string]struct {
		cfg          chat.Config
		open, closed time.Duration
	}{
		"none":                   {chat.Config{}, rmw.NoTTL, rmw.NoTTL},
		"an open room's":         {chat.Config{TTL: time.Hour}, time.Hour, time.Hour},
		"a closed room's":        {chat.Config{ClosedTTL: time.Minute}, rmw.NoTTL, time.Minute},
		"both":                   {chat.Config{TTL: time.Hour, ClosedTTL: time.Minute}, time.Hour, time.Minute},
		"a closed room for good": {chat.Config{TTL: time.Hour, ClosedTTL: rmw.NoTTL}, time.Hour, rmw.NoTTL},
	} {
		t.Run(name, func(t *testing.T) {
			paths.Each(t, func(t *testing.T, target rmwtest.Target) {
				for _, layout := range layouts() {
					test.cfg.Layout, test.cfg.Prefix = layout, layout.String()+"/"
					rooms := chat.New(target.Open(), test.cfg)
					left := func() time.Duration {
						v, ttl, err := target.Direct.Get(t.Context(), test.cfg.Prefix+"7")
						require.NoError(t, err)
						require.True(t, v.Exists())
						return ttl
					}
					_, err := rooms.Create(t.Context(), "7", op("a", 0), chat.Room{})
					require.NoError(t, err)
					assert.Equal(t, test.open, left())
					_, err = rooms.Touch(t.Context(), "7", op("b", 1))
					require.NoError(t, err)
					assert.Equal(t, test.open, left())
					_, err = rooms.Close(t.Context(), "7", op("c", 2), chat.System)
					require.NoError(t, err)
					assert.Equal(t, test.closed, left())
				}
			})
		})
	}
}

// A codec of one's own is the layout, and decides on the expiry.
func TestOwnCodec(t *testing.T) {
	memory := rmwtest.NewMemory()
	rooms := chat.New(memory, chat.Config{
		Codec: rmw.JSON[chat.Room](), Layout: domains.Hash, ClosedTTL: time.Hour, Prefix: "own:",
	})
	_, err := rooms.Create(t.Context(), "7", op("a", 0), chat.Room{})
	require.NoError(t, err)
	_, err = rooms.Close(t.Context(), "7", op("b", 1), chat.System)
	require.NoError(t, err)
	v, ttl, err := memory.Get(t.Context(), "own:7")
	require.NoError(t, err)
	assert.Equal(t, rmw.KindString, v.Kind())
	assert.Equal(t, rmw.NoTTL, ttl)
}

// What another service has put beside, and into, a room and its members is there after
// every operation; of a member it goes with the member.
func TestStrangersStay(t *testing.T) {
	number := json.Number("9007199254740993")
	stranger := map[string]any{"n": number, "l": []any{"<é>"}}
	asks := func(v any) string {
		b, err := json.Marshal(v)
		require.NoError(t, err)
		return string(b)
	}
	v := map[domains.Layout]rmw.Value{
		domains.JSON: rmw.String(`{"id":"7","status":"open","owner_id":"ann","x":` + asks(stranger) +
			`,"members":{"ann":{"x":` + asks(stranger) + `},"bob":{"y":1}}}`),
		domains.Hash: rmw.Hash(map[string]string{
			"id": "7", "status": "open", "owner_id": "ann", "x": asks(stranger),
			"member:ann": `{"x":` + asks(stranger) + `}`, "member:bob": `{"y":1}`,
		}),
	}
	v[domains.HashByVersion] = v[domains.Hash]
	everywhere(t, func(t *testing.T, w world) {
		require.NoError(t, w.Direct.Set(t.Context(), "chat:room:7", v[w.layout], rmw.NoTTL))
		for i, do := range []call{
			join("cid", chat.Member{}), post("ann"), markRead("bob", 1), mute("ann", "ann", true), setRole("ann", "ann", "chair"),
			transfer("ann", "bob"), describe("a", "b"), setCap(5), touch, leave("bob"), closeBy(chat.System),
		} {
			_, err := do(t.Context(), w.Rooms, "7", op(string(rune('a'+i)), i+1))
			require.NoError(t, err, i)
			var room, ann any
			stored := w.stored(t, "7")
			if w.layout == domains.JSON {
				document := generic(t, stored.Text())
				room = document["x"]
				ann = document["members"].(map[string]any)["ann"].(map[string]any)["x"]
			} else {
				text, _ := stored.Field("x")
				room = generic(t, text)
				text, _ = stored.Field("member:ann")
				ann = generic(t, text)["x"]
			}
			assert.Equal(t, stranger, room, i)
			assert.Equal(t, stranger, ann, i)
		}
		room, err := w.Get(t.Context(), "7")
		require.NoError(t, err)
		assert.NotContains(t, room.Members, "bob")
		raw, ok := room.Members["ann"].Unknown.Field("x")
		assert.True(t, ok)
		assert.Equal(t, stranger, generic(t, string(raw)))
	})
}

// The table is a copy each time.
func TestTransitionsAreACopy(t *testing.T) {
	table := chat.Transitions()
	table.Rows[0].To = "x"
	table.Rows[1].From[0] = "y"
	assert.Equal(t, "open", chat.Transitions().Rows[0].To)
	assert.Equal(t, []string{"open"}, chat.Transitions().Rows[1].From)
	assert.Equal(t, []string{"open", "closed"}, chat.Transitions().States())
}
