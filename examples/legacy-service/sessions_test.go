package main

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestSession(t *testing.T) {
	a := start(t)
	s := a.session()
	a.online("ben", 1)
	a.online("cleo", 1)
	a.pass(time.Second)
	a.want(http.StatusCreated, "POST", s+"/messages", `{"from":"vera","text":"help!"}`)
	a.want(http.StatusOK, "POST", s+"/escalate", `{"queue":"help","priority":2}`)
	a.pass(time.Second)
	a.want(http.StatusOK, "POST", s+"/assign", `{"agent":"ben"}`)
	a.pass(time.Second)
	a.want(http.StatusCreated, "POST", s+"/messages", `{"from":"ben","text":"yes?"}`)
	a.want(http.StatusOK, "POST", s+"/hold", `{"agent":"ben"}`)
	require.Equal(t, "on_hold", field[string](t, a.get(s), "status"))
	a.want(http.StatusCreated, "POST", s+"/messages", `{"from":"vera","text":"are you there?"}`)
	require.Equal(t, "active", field[string](t, a.get(s), "status"))
	a.pass(time.Second)
	a.want(http.StatusOK, "POST", s+"/transfer", `{"agent":"cleo"}`)
	require.Equal(t, "assigned", field[string](t, a.get(s), "status"))
	a.refused("neither", "POST", s+"/messages", `{"from":"ben","text":"bye"}`)
	a.want(http.StatusCreated, "POST", s+"/messages", `{"from":"cleo","text":"hello"}`)
	a.pass(time.Second)
	a.want(http.StatusOK, "POST", s+"/close", `{"reason":"solved"}`)
	a.pass(time.Second)
	rated := a.want(http.StatusOK, "POST", s+"/rating", `{"score":5,"comment":"good"}`)
	require.JSONEq(t, `{
		"id": "`+id(s)+`", "tenant": "acme", "visitor": "vera", "room": "shop", "merchant": "shoes",
		"queue": "help", "priority": 2, "status": "closed", "agent": "cleo",
		"transfers": [{"from": "ben", "to": "cleo", "at": 1700000004000}],
		"opened_at": 1700000000000, "queued_at": 1700000001000, "assigned_at": 1700000004000,
		"first_reply_at": 1700000003000, "last_message_at": 1700000004000,
		"closed_at": 1700000005000, "close_reason": "solved",
		"rating": {"score": 5, "comment": "good", "at": 1700000006000}
	}`, rated)
	require.JSONEq(t, rated, a.get(s))

	var said []string
	for _, e := range field[[]happening](t, a.get("/rooms/shop/history"), "events") {
		if e.Kind == "message" {
			said = append(said, e.By+": "+e.Text)
		}
	}
	require.Equal(t, []string{"vera: help!", "ben: yes?", "vera: are you there?", "cleo: hello"}, said)
	for _, agent := range []string{"/agents/ben", "/agents/cleo"} {
		require.Empty(t, field[[]string](t, a.get(agent), "sessions"))
		require.Equal(t, "online", field[string](t, a.get(agent), "status"))
	}
}

// Every operation in every state, and what comes of it: the new state, or "" for a
// refusal.
func TestTransitions(t *testing.T) {
	a := start(t)
	a.online("ben", 50)
	a.online("cleo", 50)
	reach := map[string][][2]string{ // how to get there
		"bot":      {},
		"queued":   {{"/escalate", `{"queue":"help"}`}},
		"assigned": {{"/escalate", `{"queue":"help"}`}, {"/assign", `{"agent":"ben"}`}},
	}
	reach["active"] = append(slices.Clone(reach["assigned"]), [2]string{"/messages", `{"from":"ben","text":"x"}`})
	reach["on_hold"] = append(slices.Clone(reach["active"]), [2]string{"/hold", `{"agent":"ben"}`})
	reach["closed"] = append(slices.Clone(reach["active"]), [2]string{"/close", `{"reason":"x"}`})

	states := []string{"bot", "queued", "assigned", "active", "on_hold", "closed"}
	for _, tt := range []struct {
		path, body string
		to         [6]string // from each of the states
	}{
		{"/escalate", `{"queue":"vip"}`, [6]string{"queued"}},
		{"/assign", `{"agent":"ben"}`, [6]string{1: "assigned"}},
		{"/assign", `{"agent":"cleo"}`, [6]string{1: "assigned"}},
		{"/transfer", `{"agent":"ben"}`, [6]string{}},
		{"/transfer", `{"agent":"cleo"}`, [6]string{2: "assigned", 3: "assigned", 4: "assigned"}},
		{"/messages", `{"from":"vera","text":"x"}`, [6]string{"bot", "queued", "assigned", "active", "active", ""}},
		{"/messages", `{"from":"ben","text":"x"}`, [6]string{2: "active", 3: "active", 4: "active"}},
		{"/messages", `{"from":"ada","text":"x"}`, [6]string{}},
		{"/hold", `{"agent":"ben"}`, [6]string{3: "on_hold"}},
		{"/hold", `{"agent":"cleo"}`, [6]string{}},
		{"/close", `{"reason":"x"}`, [6]string{"closed", "closed", "closed", "closed", "closed", ""}},
		{"/rating", `{"score":1}`, [6]string{5: "closed"}},
	} {
		for i, from := range states {
			s := a.session()
			for _, step := range reach[from] {
				status, answer := a.do("POST", s+step[0], step[1])
				require.Less(t, status, 300, answer)
			}
			before := a.get(s)
			require.Equal(t, from, field[string](t, before, "status"))
			status, answer := a.do("POST", s+tt.path, tt.body)
			if tt.to[i] == "" {
				require.Equal(t, http.StatusConflict, status, "%s %s when %s: %s", tt.path, tt.body, from, answer)
				require.JSONEq(t, before, a.get(s), "nothing was written")
			} else {
				require.Less(t, status, 300, "%s %s when %s: %s", tt.path, tt.body, from, answer)
				require.Equal(t, tt.to[i], field[string](t, a.get(s), "status"), "%s %s when %s", tt.path, tt.body, from)
			}
			a.do("POST", s+"/close", `{"reason":"next case"}`)
		}
	}
}

func TestSessionRefuses(t *testing.T) {
	a := start(t)
	s := a.queued()
	open := func(tenant, visitor string) string {
		return `{"tenant":"` + tenant + `","visitor":"` + visitor + `","room":"shop","merchant":"shoes"}`
	}
	a.refused("another tenant", "POST", "/sessions", open("other", "vera"))
	a.refused("not a member", "POST", "/sessions", open("acme", "eve"))
	a.want(http.StatusOK, "PUT", "/agents/dan", `{"status":"online"}`)
	a.want(http.StatusOK, "POST", s+"/assign", `{"agent":"dan"}`)
	before := a.get(s)
	a.refused("not a member", "POST", s+"/messages", `{"from":"dan","text":"x"}`)
	require.JSONEq(t, before, a.get(s), "dan is not in the room, so the session is not active")
	a.want(http.StatusOK, "PUT", "/rooms/shop/members/dan", `{"role":"agent"}`)
	a.want(http.StatusCreated, "POST", s+"/messages", `{"from":"dan","text":"x"}`)

	a.want(http.StatusOK, "POST", "/rooms/shop/close", `{"by":"ada"}`)
	a.refused("closed", "POST", "/sessions", open("acme", "vera"))
	a.refused("closed", "POST", s+"/messages", `{"from":"vera","text":"x"}`)
}

// A transfer is refused if the other agent cannot take it, and changes nobody then.
func TestTransferRefuses(t *testing.T) {
	a := start(t)
	one, two := a.queued(), a.queued()
	a.online("ben", 1)
	a.online("cleo", 1)
	a.want(http.StatusOK, "POST", one+"/assign", `{"agent":"ben"}`)
	a.want(http.StatusOK, "POST", two+"/assign", `{"agent":"cleo"}`)
	session, ben, cleo := a.get(one), a.get("/agents/ben"), a.get("/agents/cleo")
	a.refused("already", "POST", one+"/transfer", `{"agent":"ben"}`)
	a.refused("as many", "POST", one+"/transfer", `{"agent":"cleo"}`)
	a.want(http.StatusNotFound, "POST", one+"/transfer", `{"agent":"x"}`)
	require.JSONEq(t, session, a.get(one))
	require.JSONEq(t, ben, a.get("/agents/ben"))
	require.JSONEq(t, cleo, a.get("/agents/cleo"))

	a.want(http.StatusOK, "POST", two+"/close", `{"reason":"solved"}`)
	a.want(http.StatusOK, "POST", one+"/transfer", `{"agent":"cleo"}`)
	require.Empty(t, field[[]string](t, a.get("/agents/ben"), "sessions"))
	require.Equal(t, []string{id(one)}, field[[]string](t, a.get("/agents/cleo"), "sessions"))
}

func TestRating(t *testing.T) {
	a := start(t)
	inTime, late := a.session(), a.session()
	a.refused("state", "POST", inTime+"/rating", `{"score":5}`)
	a.want(http.StatusOK, "POST", inTime+"/close", `{"reason":"x"}`)
	a.want(http.StatusOK, "POST", late+"/close", `{"reason":"x"}`)
	a.pass(24 * time.Hour)
	a.want(http.StatusOK, "POST", inTime+"/rating", `{"score":1}`)
	a.refused("already", "POST", inTime+"/rating", `{"score":5}`)
	a.pass(time.Millisecond)
	a.refused("too long ago", "POST", late+"/rating", `{"score":5}`)
	require.EqualValues(t, 1, field[map[string]int64](t, a.get(inTime), "rating")["score"])
}

// Who waits longest is next, over all queues that an agent serves; a level of
// priority is worth a minute.
func TestQueues(t *testing.T) {
	a := start(t)
	a.online("ben", 9)
	escalate := func(body string) string {
		s := a.session()
		a.want(http.StatusOK, "POST", s+"/escalate", body)
		a.pass(50 * time.Second)
		return s
	}
	first := escalate(`{"queue":"help"}`)
	second := escalate(`{"queue":"vip"}`)
	urgent := escalate(`{"queue":"help","priority":2}`)
	third := escalate(`{"queue":"help"}`)
	gone := escalate(`{"queue":"vip","priority":9}`)
	a.want(http.StatusOK, "POST", gone+"/close", `{"reason":"gave up"}`)

	require.Equal(t, []string{id(urgent), id(first), id(third)}, field[[]string](t, a.get("/queues/help"), "sessions"))
	require.Equal(t, []string{id(second)}, field[[]string](t, a.get("/queues/vip"), "sessions"))
	for _, s := range []string{urgent, first, second, third} {
		next := a.want(http.StatusOK, "POST", "/agents/ben/next", `{"queues":["vip","help"]}`)
		require.Equal(t, id(s), field[string](t, next, "id"))
		require.Equal(t, "ben", field[string](t, next, "agent"))
	}
	a.want(http.StatusNoContent, "POST", "/agents/ben/next", `{"queues":["vip","help"]}`)
	require.Len(t, field[[]string](t, a.get("/agents/ben"), "sessions"), 4)

	fourth := escalate(`{"queue":"help"}`)
	a.want(http.StatusOK, "PUT", "/agents/ben", `{"status":"online","max":4}`)
	a.refused("as many", "POST", "/agents/ben/next", `{"queues":["help"]}`)
	require.Equal(t, []string{id(fourth)}, field[[]string](t, a.get("/queues/help"), "sessions"), "still waits")
}

// A session is kept for 30 days, from its beginning or its end; one that expired in its
// queue is nobody's next, and one that an agent has does not expire.
func TestSessionExpires(t *testing.T) {
	const day = 24 * time.Hour
	a := start(t)
	a.online("ben", 9)
	old, served, closed := a.queued(), a.queued(), a.queued()
	a.want(http.StatusOK, "POST", served+"/assign", `{"agent":"ben"}`)
	a.want(http.StatusCreated, "POST", served+"/messages", `{"from":"ben","text":"hello"}`)
	a.pass(29 * day)
	a.want(http.StatusOK, "POST", closed+"/close", `{"reason":"x"}`)
	a.pass(2 * day)
	a.want(http.StatusNotFound, "GET", old, "")
	a.want(http.StatusNoContent, "POST", "/agents/ben/next", `{"queues":["help"]}`)
	require.JSONEq(t, `{"sessions": [], "length": 0}`, a.get("/queues/help"))

	a.pass(29 * day)
	a.want(http.StatusNotFound, "GET", closed, "")
	a.want(http.StatusOK, "POST", served+"/close", `{"reason":"x"}`)
	a.want(http.StatusOK, "POST", served+"/rating", `{"score":3}`)
	a.pass(29 * day)
	a.get(served)
	a.pass(2 * day)
	a.want(http.StatusNotFound, "GET", served, "")
}

func TestLatestSessions(t *testing.T) {
	a := start(t)
	var want []string
	for range 3 {
		want = append(want, id(a.session()))
		a.pass(10 * 24 * time.Hour)
	}
	want = append(want[1:], id(a.session())) // the first has expired
	slices.Reverse(want)
	require.Equal(t, want, field[[]string](t, a.get("/tenants/acme/sessions"), "sessions"))
}
