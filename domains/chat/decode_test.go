package chat_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/domains/chat"
	"github.com/unwatch/unwatch/internal/testing/entities"
	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/rmwtest"
)

// asHash makes a hash of any bytes: fields end with a 0x1e, names with the first '='.
func asHash(data []byte) rmw.Value {
	fields := map[string]string{}
	for part := range bytes.SplitSeq(data, []byte{0x1e}) {
		name, value, _ := strings.Cut(string(part), "=")
		fields[name] = value
	}
	return rmw.Hash(fields)
}

// plain returns the room with unknown members in one spelling, and a nil map for no members.
func plain(r chat.Room) chat.Room {
	r = tidy(r)
	r.Unknown = domains.Unknown{}
	for id, m := range r.Members {
		m.Unknown = domains.Unknown{}
		r.Members[id] = m
	}
	if len(r.Applied) == 0 {
		r.Applied = nil
	}
	return r
}

// FuzzDecode: whatever lies under a key is a room that keeps the rules, survives being written and goes on from
// there, or an error that says undecodable.
func FuzzDecode(f *testing.F) {
	full := `{"format":1,"version":3,"applied":[{"id":"a","number":2}],"id":"7","tenant_id":"t","name":"n","topic":"<é>",` +
		`"status":"open","cap":2,"stay_open":true,"owner_id":"ann","members":{"ann":{"role":"agent","joined_at":5,"read_seq":2,` +
		`"muted":true,"x":[1e400]},"bob":null},"seq":2,"created_at":4,"active_at":6,"x":{"y":9007199254740993}}`
	fields := "format=1\x1eversion=3\x1eapplied=[{\"id\":\"a\"}]\x1eid=7\x1estatus=open\x1ecap=2\x1estay_open=1\x1eowner_id=ann\x1e" +
		"member:ann={\"joined_at\":5,\"x\":[1]}\x1emember:bob=null\x1eseq=2\x1ecreated_at=4\x1eactive_at=6\x1ex=y\x1e=z"
	for _, seed := range []string{
		full, strings.Replace(full, "open", "closed", 1),
		`{"id":"7","status":"closed","closed_at":1,"active_at":1}`, `{"id":"7","status":"open"}`,
		`{"id":"7","status":"open","ID":1}`, `{"id":"\ud800","status":"open","members":{"\ud800":{}},"owner_id":"\udfff"}`,
		`null`, `[]`, ``, `{`,
		`{"id":"7","status":"open","members":{},"applied":[],"version":18446744073709551615,"seq":18446744073709551615}`,
		`{"id":"7","status":"open","members":{"a":{"x":1},"a":{"y":2}},"members":{"b":{}},"owner_id":"a","x":1,"x":2}`,
		`{"id":"7","status":"open","cap":-1}`, `{"id":"7","status":"open","active_at":253402300799999}`,
	} {
		f.Add(uint8(domains.JSON), []byte(seed))
	}
	for _, seed := range []string{
		fields, strings.Replace(fields, "open", "closed", 1), "id=7\x1estatus=open", "id=7\x1estatus=open\x1emember:=", "", "=",
		"id=7\x1estatus=open\x1emember:\xff=null\x1eowner_id=\xff", "id=7\x1estatus=open\x1estay_open=T\x1eseq= 5 \x1eversion=null",
	} {
		f.Add(uint8(domains.Hash), []byte(seed))
		f.Add(uint8(domains.HashByVersion), []byte(seed))
	}
	f.Fuzz(func(t *testing.T, which uint8, data []byte) {
		layout := entities.Layouts()[int(which)%len(entities.Layouts())]
		v := rmw.Bytes(data)
		if layout != domains.JSON {
			v = asHash(data)
		}
		decodes(t, layout, v)
	})
}

// decodes reads v as a room, writes the room, and applies operations to it.
func decodes(t require.TestingT, layout domains.Layout, v rmw.Value) {
	memory := rmwtest.NewMemory()
	require.NoError(t, memory.Set(context.Background(), "chat:room:7", v, rmw.NoTTL))
	rooms := chat.New(memory, chat.Config{Layout: layout})
	room, err := rooms.Get(context.Background(), "7")
	if err != nil {
		require.ErrorIs(t, err, rmw.ErrUndecodable)
		require.NotErrorIs(t, err, rmw.ErrInvalid)
		require.Nil(t, domains.RefusalOf(err))
		require.Equal(t, chat.Room{}, room)
		return
	}
	require.NoError(t, room.Check())
	codec := domains.CodecOf[chat.Room, *chat.Room](layout, nil)
	once, err := codec.Encode(&room, v)
	require.NoError(t, err)
	var again chat.Room
	require.NoError(t, codec.Decode(once, &again))
	require.Equal(t, plain(room), plain(again))
	twice, err := codec.Encode(&again, once)
	require.NoError(t, err)
	require.True(t, once.Equal(twice), "writing finds a form that stays")
	goesOn(t, rooms, room)
}

// goesOn fails if a room that could be read cannot be used: an operation changes it, keeps it or is refused by
// a rule.
func goesOn(t require.TestingT, rooms chat.Rooms, room chat.Room) {
	o := domains.Op{ID: "go on", At: time.UnixMilli(int64(max(1, room.ActiveAt)))}
	next, err := rooms.Join(context.Background(), "7", o, "somebody", chat.Member{})
	if err != nil {
		require.True(t, errors.Is(err, chat.ErrRoomFull) || errors.Is(err, chat.ErrRoomClosed), "%v", err)
		return
	}
	if _, was := room.Members["somebody"]; !was && room.Version == next.Version {
		_, again := room.Has(o.ID)
		assert.True(t, again, "nothing has changed, and why?")
	}
}
