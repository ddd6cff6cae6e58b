package chat_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/domains/chat"
	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/rmwtest"
)

// A service has always closed rooms without noting when, and let owners leave. With Mend
// these rooms can be read; the next change of each stores them as they should be.
func ExampleConfig_mend() {
	ctx, store := context.Background(), rmwtest.NewMemory()
	_ = store.Set(ctx, "chat:room:7", rmw.String(
		`{"id":"7","status":"open","owner_id":"zoe","members":{"ann":{"joined_at":1},"bob":{}},"active_at":2}`), rmw.NoTTL)

	_, err := chat.New(store, chat.Config{}).Get(ctx, "7")
	fmt.Println(err)

	rooms := chat.New(store, chat.Config{Mend: func(r *chat.Room) {
		if r.Status == chat.Closed && r.ClosedAt == 0 {
			r.ClosedAt = max(r.ActiveAt, r.CreatedAt, 1)
		}
		if _, in := r.Members[r.OwnerID]; !in {
			r.OwnerID = ""
			for id := range r.Members { // the first by name: it has to be the same each time
				if r.OwnerID == "" || id < r.OwnerID {
					r.OwnerID = id
				}
			}
		}
	}})
	room, err := rooms.Get(ctx, "7")
	fmt.Println(room.OwnerID, err)

	room, err = rooms.Remove(ctx, "7", op("a", 1), "ann", "bob")
	fmt.Println(room.OwnerID, err)
	room, err = chat.New(store, chat.Config{}).Get(ctx, "7") // Mend has done what it can for this one
	fmt.Println(room.OwnerID, err)
	// Output:
	// rmw: decode "chat:room:7": the stored value cannot be decoded: string(100 bytes): the owner is not one of the members
	// ann <nil>
	// ann <nil>
	// ann <nil>
}

// Members are mended as well, and taken out, in every layout: also those that the
// operation is not about. What others have put into a room stays.
func TestMendMembers(t *testing.T) {
	members := map[string]string{
		"ann": `{"joined_at":1,"x":[1]}`, "bob": `{"read_seq":9,"joined_at":1,"x":[2]}`, "": `{"joined_at":1}`,
	}
	hash := map[string]string{"id": "7", "status": "open", "owner_id": "ann", "active_at": "2", "seq": "3", "x": "[0]"}
	text := `{"id":"7","status":"open","owner_id":"ann","active_at":2,"seq":3,"x":[0],"members":{`
	for id, m := range members {
		hash["member:"+id] = m
		text += `"` + id + `":` + m + `,`
	}
	text = text[:len(text)-1] + "}}"
	mend := func(r *chat.Room) {
		delete(r.Members, "")
		for id := range r.Members {
			with(r, id, func(m *chat.Member) { m.ReadSeq = min(m.ReadSeq, r.Seq) })
		}
	}
	everywhere(t, func(t *testing.T, w world) {
		v := rmw.String(text)
		if w.layout != domains.JSON {
			v = rmw.Hash(hash)
		}
		require.NoError(t, w.Direct.Set(t.Context(), "chat:room:7", v, rmw.NoTTL))
		_, err := w.Get(t.Context(), "7")
		require.ErrorIs(t, err, rmw.ErrUndecodable)
		rooms := chat.New(w.Open(), chat.Config{Layout: w.layout, Mend: mend})
		_, err = rooms.Touch(t.Context(), "7", op("a", 1))
		require.NoError(t, err)
		room, err := w.Get(t.Context(), "7")
		require.NoError(t, err)
		assert.Len(t, room.Members, 2)
		assert.Equal(t, uint64(3), room.Members["bob"].ReadSeq)
		raw, _ := room.Members["bob"].Unknown.Field("x")
		assert.Equal(t, "[2]", string(raw))
		if stored := w.stored(t, "7"); w.layout == domains.JSON {
			assert.Contains(t, stored.Text(), `"x":[0]`)
		} else {
			x, _ := stored.Field("x")
			assert.Equal(t, "[0]", x)
			_, there := stored.Field("member:")
			assert.False(t, there)
		}
	})
}
