package chat_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/domains/chat"
	"github.com/unwatch/unwatch/internal/testing/entities"
	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/rmwtest"
)

// A room that breaks a rule is an error that says which.
func TestCheck(t *testing.T) {
	const open = `{"id":"7","status":"open","cap":3,"owner_id":"ann","seq":5,"created_at":1,"active_at":9,"members":{
		"ann":{"role":"agent","joined_at":1,"read_seq":5},"bob":{"joined_at":2,"read_seq":3},"abe":{"joined_at":2}}}`
	entities.AssertBroken[chat.Room](t, open, map[string][]string{
		"3 members where 2 are permitted":               {`{"cap":2}`},
		"cap is negative":                               {`{"cap":-1}`},
		"the owner is not one of the members":           {`{"owner_id":"zoe"}`, `{"owner_id":null}`},
		"a room without members has an owner":           {`{"members":null}`},
		`the status of a room is "open" or "closed"`:    {`{"status":"asleep"}`, `{"status":null}`},
		"a time of closing if and only if it is closed": {`{"status":"closed"}`, `{"closed_at":9}`},
		"are not in this order":                         {`{"created_at":10}`, `{"status":"closed","closed_at":8}`},
		"a member has read 5 messages of 4":             {`{"seq":4}`},
		"a member has read 6 messages of 5":             {`{"members":{"bob":{"read_seq":6}}}`},
		"after the room was last active":                {`{"members":{"bob":{"joined_at":10}}}`, `{"members":{"bob":{"joined_at":-1}}}`},
		"a time is before 1970 or after 9999":           {`{"created_at":-1}`, `{"active_at":253402300800000}`},
		"the id of the room is empty":                   {`{"id":""}`},
		"the id of the tenant has 5000 bytes":           {`{"tenant_id":"LONG"}`},
		"the name has 5000 bytes, at most 256":          {`{"name":"LONG"}`},
		"the topic has 5000 bytes, at most 4096":        {`{"topic":"LONG"}`},
		"the id of the member is empty":                 {`{"cap":0,"members":{"":{}}}`},
		"the role has 5000 bytes, at most 64":           {`{"members":{"bob":{"role":"LONG"}}}`},
	})
}

// The stored form of a room is a contract with other services.
func TestWireFormat(t *testing.T) {
	const document = `{"format":1,"version":3,"applied":[{"id":"a","op":"Post","number":5}],"id":"7","tenant_id":"t","name":"n",` +
		`"topic":"é","status":"closed","cap":3,"stay_open":true,"owner_id":"ann","members":{"ann":{"role":"agent","joined_at":4,` +
		`"read_seq":5,"muted":true,"x":[1]},"bob":{}},"seq":5,"created_at":4,"active_at":6,"closed_at":7,"x":{"y":9007199254740993}}`
	entities.WireFormat(t, document, func(r chat.Room) {
		m := r.Members["ann"]
		assert.Equal(t, chat.Member{Role: "agent", JoinedAt: 4, ReadSeq: 5, Muted: true, Unknown: m.Unknown}, m)
		r.Unknown, r.Members = domains.Unknown{}, nil
		assert.Equal(t, chat.Room{
			Header: domains.Header{Format: 1, Version: 3, Applied: []domains.Applied{{ID: "a", Op: "Post", Number: 5}}},
			ID:     "7", TenantID: "t", Name: "n", Topic: "é", Status: chat.Closed, Cap: 3, StayOpen: true, OwnerID: "ann", Seq: 5,
			CreatedAt: 4, ActiveAt: 6, ClosedAt: 7,
		}, r)
	})
}

// FuzzDecode: a stored room is an error that says undecodable, or it keeps the rules, has the id of its key, survives
// being written and accepts operations.
func FuzzDecode(f *testing.F) {
	const full = `{"format":1,"version":3,"applied":[{"id":"a","number":2}],"id":"7","tenant_id":"t","name":"n","topic":"<é>",` +
		`"status":"open","cap":2,"stay_open":true,"owner_id":"ann","members":{"ann":{"role":"agent","joined_at":5,"read_seq":2,` +
		`"muted":true,"x":[1e400]},"bob":null},"seq":2,"created_at":4,"active_at":6,"x":{"y":9007199254740993}}`
	entities.Seed[chat.Room](f,
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
