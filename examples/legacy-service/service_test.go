package main

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestRoom(t *testing.T) {
	a := start(t)
	a.room("7", 3)
	a.pass(time.Second)
	a.want(http.StatusOK, "PUT", "/rooms/7/members/ben", `{"role":"agent"}`)
	a.pass(time.Second)
	a.want(http.StatusCreated, "POST", "/rooms/7/messages", `{"from":"ada","text":"hello"}`)
	a.want(http.StatusOK, "PUT", "/rooms/7/members/ben/read", `{"seq":4}`)
	a.want(http.StatusOK, "PUT", "/rooms/7/members/ben/read", `{"seq":1}`) // nobody unreads
	require.JSONEq(t, `{
		"id": "7", "tenant": "acme", "status": "open", "cap": 3, "owner": "ada",
		"members": {
			"ada": {"role": "member", "joined_at": 1700000000000, "read_seq": 4},
			"ben": {"role": "agent", "joined_at": 1700000001000, "read_seq": 4}
		},
		"seq": 4, "created_at": 1700000000000, "active_at": 1700000002000
	}`, a.get("/rooms/7"))

	a.want(http.StatusOK, "DELETE", "/rooms/7/members/ben", "")
	closed := a.want(http.StatusOK, "POST", "/rooms/7/close", `{"by":"ada"}`)
	require.Equal(t, "closed", field[string](t, closed, "status"))
	require.JSONEq(t, closed, a.get("/rooms/7"))
	require.JSONEq(t, `{"events": [
		{"room": "7", "seq": 3, "kind": "joined", "by": "ben", "at": 1700000001000},
		{"room": "7", "seq": 4, "kind": "message", "by": "ada", "text": "hello", "at": 1700000002000},
		{"room": "7", "seq": 5, "kind": "left", "by": "ben", "at": 1700000002000},
		{"room": "7", "seq": 6, "kind": "closed", "by": "ada", "at": 1700000002000}
	]}`, a.get("/rooms/7/history?after=2"))
}

func TestRoomRefuses(t *testing.T) {
	a := start(t)
	a.room("7", 2)
	a.member("7", "ben")
	before := a.get("/rooms/7")
	a.refused("such a room", "POST", "/rooms", `{"id":"7","tenant":"acme","owner":"eve"}`)
	a.refused("full", "PUT", "/rooms/7/members/eve", "")
	a.refused("not a member", "DELETE", "/rooms/7/members/eve", "")
	a.refused("not a member", "POST", "/rooms/7/messages", `{"from":"eve","text":"x"}`)
	a.refused("not a member", "PUT", "/rooms/7/members/eve/read", `{"seq":1}`)
	a.refused("no event", "PUT", "/rooms/7/members/ben/read", `{"seq":9}`)
	a.refused("not a member", "POST", "/rooms/7/close", `{"by":"eve"}`)
	a.refused("not the owner", "POST", "/rooms/7/close", `{"by":"ben"}`)
	a.pass(time.Second)
	a.member("7", "ben") // is in already
	require.JSONEq(t, before, a.get("/rooms/7"), "nothing was written")

	a.want(http.StatusOK, "POST", "/rooms/7/close", `{"by":"ada"}`)
	a.refused("closed", "PUT", "/rooms/7/members/ben", "")
	a.refused("closed", "DELETE", "/rooms/7/members/ben", "")
	a.refused("closed", "POST", "/rooms/7/messages", `{"from":"ada","text":"x"}`)
	a.refused("closed", "PUT", "/rooms/7/members/ben/read", `{"seq":1}`)
	a.refused("closed", "POST", "/rooms/7/close", `{"by":"ada"}`)
}

// The next owner is who has been in longest, and after the last one whoever comes.
func TestOwnerLeaves(t *testing.T) {
	a := start(t)
	a.room("7", 9)
	for _, who := range []string{"zoe", "ben", "eve"} {
		a.pass(time.Second)
		a.member("7", who)
	}
	leave := func(who, heir string) {
		t.Helper()
		room := a.want(http.StatusOK, "DELETE", "/rooms/7/members/"+who, "")
		require.Equal(t, heir, field[string](t, room, "owner"))
	}
	leave("ben", "ada")
	leave("ada", "zoe")
	a.pass(time.Second)
	a.member("7", "ada") // has been in for less than eve now
	leave("zoe", "eve")
	leave("eve", "ada")
	leave("ada", "")
	a.member("7", "ivy")
	require.Equal(t, "ivy", field[string](t, a.get("/rooms/7"), "owner"))
}

// A room is kept for 30 days, whatever happens in it, and leaves nothing behind for
// the next one of that name.
func TestRoomExpires(t *testing.T) {
	a := start(t)
	a.room("7", 9)
	for range 29 {
		a.pass(24 * time.Hour)
		a.want(http.StatusCreated, "POST", "/rooms/7/messages", `{"from":"ada","text":"still here"}`)
	}
	a.pass(25 * time.Hour)
	a.want(http.StatusNotFound, "GET", "/rooms/7", "")
	a.want(http.StatusNotFound, "GET", "/rooms/7/history", "")
	a.room("7", 9)
	require.Len(t, field[[]any](t, a.get("/rooms/7/history"), "events"), 2)
}

func TestHistoryIsLimited(t *testing.T) {
	a := start(t)
	a.room("7", 9)
	for i := range 250 {
		a.want(http.StatusCreated, "POST", "/rooms/7/messages", fmt.Sprintf(`{"from":"ada","text":"%d"}`, i))
	}
	events := field[[]happening](t, a.get("/rooms/7/history"), "events")
	require.Len(t, events, 200)
	require.Equal(t, "249", events[199].Text)
	require.EqualValues(t, 252, field[int64](t, a.get("/rooms/7"), "seq"))
}

func TestAgent(t *testing.T) {
	a := start(t)
	a.want(http.StatusNotFound, "GET", "/agents/ben", "")
	a.want(http.StatusOK, "PUT", "/agents/ben", `{"status":"online","max":1}`)
	require.JSONEq(t, `{"id": "ben", "status": "online", "max": 1, "sessions": [], "active_at": 1700000000000}`, a.get("/agents/ben"))

	one, two := a.queued(), a.queued()
	a.want(http.StatusOK, "POST", one+"/assign", `{"agent":"ben"}`)
	a.refused("as many", "POST", two+"/assign", `{"agent":"ben"}`)
	require.JSONEq(t, `{"id": "ben", "status": "busy", "max": 1, "sessions": ["`+id(one)+`"], "active_at": 1700000000000}`,
		a.get("/agents/ben"))
	a.refused("still serves", "PUT", "/agents/ben", `{"status":"offline"}`)
	agent := a.want(http.StatusOK, "PUT", "/agents/ben", `{"status":"online","max":2}`)
	require.Equal(t, "online", field[string](t, agent, "status"), "room for one more")
	a.want(http.StatusOK, "PUT", "/agents/ben", `{"status":"away","max":2}`)
	a.refused("not online", "POST", two+"/assign", `{"agent":"ben"}`)
	a.want(http.StatusOK, "POST", one+"/close", `{"reason":"solved"}`)
	require.Equal(t, "away", field[string](t, a.get("/agents/ben"), "status"))
	a.want(http.StatusOK, "PUT", "/agents/ben", `{"status":"offline"}`)
	a.refused("not online", "POST", two+"/assign", `{"agent":"ben"}`)
	require.Equal(t, "queued", field[string](t, a.get(two), "status"))
}

func TestBadRequests(t *testing.T) {
	a := start(t)
	a.room("7", 9)
	s := a.session()
	for _, r := range []struct{ method, path, body string }{
		{"POST", "/rooms", ""},
		{"POST", "/rooms", "{"},
		{"POST", "/rooms", `[]`},
		{"POST", "/rooms", `{"id":"8","tenant":"acme","owner":"ada","colour":"red"}`},
		{"POST", "/rooms", `{"id":"8:log","tenant":"acme","owner":"ada"}`},
		{"POST", "/rooms", `{"id":"8","tenant":"","owner":"ada"}`},
		{"POST", "/rooms", `{"id":"8","tenant":"acme","owner":"` + strings.Repeat("a", 65) + `"}`},
		{"POST", "/rooms", `{"id":"8","tenant":"acme","owner":"ada","cap":-1}`},
		{"POST", "/rooms", `{"id":"8","tenant":"acme","owner":"ada","cap":1001}`},
		{"GET", "/rooms/7:log", ""},
		{"GET", "/rooms/7:log/events", ""},
		{"GET", "/rooms/7/history?after=x", ""},
		{"GET", "/rooms/7/history?after=-1", ""},
		{"PUT", "/rooms/7/members/a%20b", ""},
		{"PUT", "/rooms/7/members/ben", `{"role":"king"}`},
		{"POST", "/rooms/7/messages", `{"from":"ada","text":""}`},
		{"POST", "/rooms/7/messages", `{"from":"","text":"x"}`},
		{"POST", "/rooms/7/messages", `{"from":"ada","text":"` + strings.Repeat("a", 4001) + `"}`},
		{"POST", "/rooms/7/messages", `{"from":"ada","text":"` + strings.Repeat("a", 70_000) + `"}`},
		{"POST", "/rooms/7/close", ""},
		{"POST", "/sessions", `{"tenant":"acme","visitor":"vera","room":"shop"}`},
		{"POST", s + "/escalate", `{}`},
		{"POST", s + "/escalate", `{"queue":"help","priority":10}`},
		{"POST", s + "/assign", `{}`},
		{"POST", s + "/transfer", `{"agent":"b:n"}`},
		{"POST", s + "/hold", `{}`},
		{"POST", s + "/messages", `{}`},
		{"POST", s + "/close", `{}`},
		{"POST", s + "/rating", `{"score":0}`},
		{"POST", s + "/rating", `{"score":6}`},
		{"PUT", "/agents/ben", `{"status":"busy"}`},
		{"PUT", "/agents/ben", `{"status":"online","max":-1}`},
		{"POST", "/agents/ben/next", `{}`},
		{"POST", "/agents/ben/next", `{"queues":["he:lp"]}`},
		{"GET", "/queues/he:lp", ""},
	} {
		a.want(http.StatusBadRequest, r.method, r.path, r.body)
	}
}

func TestNotFound(t *testing.T) {
	a := start(t)
	s := a.queued()
	for _, r := range []struct{ method, path, body string }{
		{"GET", "/rooms/x", ""},
		{"GET", "/rooms/x/events", ""},
		{"PUT", "/rooms/x/members/ada", ""},
		{"POST", "/sessions", `{"tenant":"acme","visitor":"vera","room":"x","merchant":"shoes"}`},
		{"GET", "/sessions/x", ""},
		{"POST", "/sessions/x/escalate", `{"queue":"help"}`},
		{"POST", "/sessions/x/assign", `{"agent":"ben"}`},
		{"POST", "/sessions/x/messages", `{"from":"vera","text":"x"}`},
		{"POST", "/sessions/x/close", `{"reason":"x"}`},
		{"POST", "/sessions/x/rating", `{"score":5}`},
		{"POST", s + "/assign", `{"agent":"x"}`},
		{"POST", "/agents/x/next", `{"queues":["help"]}`},
	} {
		a.want(http.StatusNotFound, r.method, r.path, r.body)
	}
	require.JSONEq(t, `{"sessions": []}`, a.get("/tenants/nobody/sessions"))
	require.JSONEq(t, `{"sessions": [], "length": 0}`, a.get("/queues/empty"))
}

func TestStorageDown(t *testing.T) {
	a := start(t)
	s := a.queued()
	a.online("ben", 3)
	a.breakDown()
	for _, r := range []struct{ method, path, body string }{
		{"POST", "/rooms", `{"id":"8","tenant":"acme","owner":"ada"}`},
		{"GET", "/rooms/shop", ""},
		{"GET", "/rooms/shop/events", ""},
		{"POST", "/rooms/shop/messages", `{"from":"ada","text":"x"}`},
		{"POST", s + "/assign", `{"agent":"ben"}`},
		{"POST", "/agents/ben/next", `{"queues":["help"]}`},
		{"GET", "/queues/help", ""},
	} {
		require.NotContains(t, a.want(http.StatusServiceUnavailable, r.method, r.path, r.body), "out of order",
			"what the storage said is not for the caller")
	}
}
