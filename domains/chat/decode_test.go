package chat_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/domains/chat"
	"github.com/unwatch/unwatch/internal/testing/entities"
	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/rmwtest"
)

// FuzzDecode: a stored room is an error that says undecodable, or it keeps the rules, has the id of its key, survives
// being written and accepts operations.
func FuzzDecode(f *testing.F) {
	const full = `{"format":1,"version":3,"applied":[{"id":"a","number":2}],"id":"7","tenant_id":"t","name":"n","topic":"<é>",` +
		`"status":"open","cap":2,"stay_open":true,"owner_id":"ann","members":{"ann":{"role":"agent","joined_at":5,"read_seq":2,` +
		`"muted":true,"x":[1e400]},"bob":null},"seq":2,"created_at":4,"active_at":6,"x":{"y":9007199254740993}}`
	entities.Seed(f, func(document string) rmw.Value { return asStored(f, domains.Hash, document) },
		full, strings.Replace(full, "open", "closed", 1), `{"id":"7","status":"open"}`, `{"id":"","status":"open"}`,
		`{"id":"8","status":"open"}`, `{"id":"7","status":"closed","closed_at":1,"active_at":1}`, `{"id":"7","status":"open","ID":1}`,
		`{"id":"\ud800","status":"open","members":{"\ud800":{}},"owner_id":"\udfff"}`,
		`{"id":"7","status":"open","members":{},"applied":[],"version":18446744073709551615,"seq":18446744073709551615}`,
		`{"id":"7","status":"open","members":{"a":{"x":1},"a":{"y":2}},"members":{"b":{}},"owner_id":"a","x":1,"x":2}`,
		`{"id":"7","status":"open","cap":-1}`, `{"id":"7","status":"open","active_at":253402300799999}`)
	f.Add(true, []byte("id\x007\x00status\x00open\x00member:\xff\x00null\x00owner_id\x00\xff\x00stay_open\x00T\x00seq\x00 5 \x00"))
	get := func(ctx context.Context, store rmw.Store, layout domains.Layout) (chat.Room, error) {
		return chat.New(store, chat.Config{Layout: layout}).Get(ctx, "7")
	}
	entities.Fuzz(f, "chat:room:7", get, func(t *testing.T, layout domains.Layout, room chat.Room, cur rmw.Value) {
		require.Equal(t, "7", room.ID)
		m := rmwtest.NewMemory()
		require.NoError(t, m.Set(t.Context(), "chat:room:7", cur, rmw.NoTTL))
		rooms := chat.New(m, chat.Config{Layout: layout})
		for _, op := range operations {
			if op == "Expire" || op == "Post" && room.Seq+1 == 0 { // there is no later number
				continue
			}
			s := step{Step: entities.Step{Op: op, ID: "go on/" + op, At: max(1, room.ActiveAt)}, who: "somebody", text: "n", number: 1}
			_, _, err := send(rooms, s, domains.Unknown{})
			require.True(t, err == nil || domains.RefusalOf(err) != nil, "%s: %v", op, err)
		}
	})
}

// asStored is a document as it lies in the store.
func asStored(t require.TestingT, layout domains.Layout, document string) rmw.Value {
	return entities.Stored(t, layout, document, "members", "member:")
}
