package chat_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/domains/chat"
	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/rmwtest"
)

// generic is a JSON object with its numbers as they are written.
func generic(t require.TestingT, document string) map[string]any {
	dec := json.NewDecoder(strings.NewReader(document))
	dec.UseNumber()
	var m map[string]any
	require.NoError(t, dec.Decode(&m))
	return m
}

// asHash makes a hash of any bytes: fields end with a 0x1e, names with the first '='.
func asHash(data []byte) rmw.Value {
	fields := map[string]string{}
	for part := range bytes.SplitSeq(data, []byte{0x1e}) {
		name, value, _ := strings.Cut(string(part), "=")
		fields[name] = value
	}
	return rmw.Hash(fields)
}

// plain is the room with what is not known in one spelling, and its members in one
// form of none.
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

// FuzzDecode: whatever lies under a key is a room that keeps the rules, survives being
// written and goes on from there, or an error that says undecodable.
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
		layout := layouts()[int(which)%len(layouts())]
		v := rmw.Bytes(data)
		if layout != domains.JSON {
			v = asHash(data)
		}
		decodes(t, layout, v)
	})
}

// decodes reports whether there is a room in v.
func decodes(t require.TestingT, layout domains.Layout, v rmw.Value) bool {
	memory := rmwtest.NewMemory()
	require.NoError(t, memory.Set(context.Background(), "chat:room:7", v, rmw.NoTTL))
	rooms := chat.New(memory, chat.Config{Layout: layout})
	room, err := rooms.Get(context.Background(), "7")
	if err != nil {
		require.ErrorIs(t, err, rmw.ErrUndecodable)
		require.NotErrorIs(t, err, rmw.ErrInvalid)
		require.Nil(t, domains.RefusalOf(err))
		require.Equal(t, chat.Room{}, room)
		return false
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
	strangersStay(t, layout, v, once)
	goesOn(t, rooms, room)
	return true
}

// Rooms of other services: the fields that there are, with what may be in them.
func TestOddRooms(t *testing.T) {
	ids := []string{`"ann"`, `"bob"`, `""`, `"7"`, "null"}
	numbers := []string{"0", "1", "2", "3", "7", "-1", "253402300799999", "18446744073709551615", "null", "1.5"}
	people := []string{"null", "{}", `{"joined_at":6,"y":1}`, `{"read_seq":2}`, `{"role":""}`}
	times := []string{"0", "5", "6", "6", "7", "null"}
	values := map[string][]string{
		"format": {"0", "1", "1", "2"}, "version": numbers, "applied": {"[]", "null", `[{"id":"a"}]`, `[{"id":"a"},{"id":"a"}]`},
		"tenant_id": ids, "name": ids, "cap": {"0", "1", "2", "-1"}, "stay_open": {"true", "false", "null"}, "owner_id": ids,
		"seq": numbers, "created_at": times, "active_at": times, "closed_at": times, "x": {`"<"`, "[1e400]", "{}", "null"},
	}
	names := slices.Sorted(maps.Keys(values))
	eachLayout(t, func(t *testing.T, layout domains.Layout) {
		accepted, all := 0, 0
		rapid.Check(t, func(rt *rapid.T) {
			fields := map[string]string{"id": `"7"`, "status": rapid.SampledFrom([]string{`"open"`, `"closed"`}).Draw(rt, "status")}
			for _, name := range rapid.SliceOfN(rapid.SampledFrom(names), 0, 5).Draw(rt, "names") {
				fields[name] = rapid.SampledFrom(values[name]).Draw(rt, name)
			}
			members := map[string]string{}
			for _, id := range rapid.SliceOfN(rapid.SampledFrom(ids[:3]), 0, 2).Draw(rt, "members") {
				members[id] = rapid.SampledFrom(people).Draw(rt, id)
				fields["owner_id"] = id
			}
			all++
			if decodes(rt, layout, laidOut(layout, fields, members)) {
				accepted++
			}
		})
		assert.Greater(t, accepted, all/20, "or it proves nothing about rooms")
		assert.Less(t, accepted, all)
	})
}

// laidOut is a room of fields in JSON as it lies in a layout.
func laidOut(layout domains.Layout, fields, members map[string]string) rmw.Value {
	object := func(fields map[string]string) string {
		var parts []string
		for name, value := range fields {
			parts = append(parts, strconv.Quote(strings.Trim(name, `"`))+":"+value)
		}
		return "{" + strings.Join(parts, ",") + "}"
	}
	if layout == domains.JSON {
		fields = maps.Clone(fields)
		if len(members) > 0 {
			fields["members"] = object(members)
		}
		return rmw.String(object(fields))
	}
	hash := map[string]string{}
	for name, value := range fields {
		hash[name] = strings.Trim(value, `"`)
	}
	for id, value := range members {
		hash["member:"+strings.Trim(id, `"`)] = value
	}
	return rmw.Hash(hash)
}

// strangersStay compares what no field of a Room takes.
func strangersStay(t require.TestingT, layout domains.Layout, before, after rmw.Value) {
	known := []string{
		"format", "version", "applied", "id", "tenant_id", "name", "topic", "status", "cap", "stay_open", "owner_id", "seq",
		"created_at", "active_at", "closed_at",
	}
	if layout != domains.JSON {
		a, b := before.Fields(), after.Fields()
		for _, fields := range []map[string]string{a, b} {
			maps.DeleteFunc(fields, func(name, _ string) bool { return strings.HasPrefix(name, "member:") })
			for _, name := range known {
				delete(fields, name)
			}
		}
		require.Equal(t, a, b)
		return
	}
	a, b := generic(t, before.Text()), generic(t, after.Text())
	for _, name := range append(known, "members") {
		delete(a, name)
		delete(b, name)
	}
	require.Equal(t, a, b)
}

// goesOn fails if a room that could be read cannot be used: an operation changes it,
// keeps it or is refused by a rule.
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
