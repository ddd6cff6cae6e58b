package main

import (
	"fmt"
	"net/http"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRoomNeverExceedsCapacity(t *testing.T) {
	a := start(t)
	a.room("7", 11) // ada is in
	got := each(20, func(i int) int {
		status, _ := a.do("PUT", fmt.Sprintf("/rooms/7/members/m%d", i), "")
		return status
	})
	require.Equal(t, map[int]int{http.StatusOK: 10, http.StatusConflict: 10}, got)
	room := a.get("/rooms/7")
	require.Len(t, field[map[string]any](t, room, "members"), 11)
	require.EqualValues(t, 12, field[int64](t, room, "seq"))
}

func TestEveryMessageCounts(t *testing.T) {
	a := start(t)
	a.room("7", 2)
	const writers, messages = 20, 4
	got := each(writers, func(i int) int {
		for n := range messages {
			body := fmt.Sprintf(`{"from":"ada","text":"%d/%d"}`, i, n)
			if status, _ := a.do("POST", "/rooms/7/messages", body); status != http.StatusCreated {
				return status
			}
		}
		return http.StatusCreated
	})
	require.Equal(t, map[int]int{http.StatusCreated: writers}, got)
	require.EqualValues(t, 2+writers*messages, field[int64](t, a.get("/rooms/7"), "seq"))
	events := field[[]happening](t, a.get("/rooms/7/history?after=2"), "events")
	require.Len(t, events, writers*messages)
	texts := map[string]bool{}
	for i, e := range events {
		require.EqualValues(t, 3+i, e.Seq)
		texts[e.Text] = true
	}
	require.Len(t, texts, writers*messages, "each once")
}

func TestNoAgentServesMoreThanTheyCan(t *testing.T) {
	a := start(t)
	a.online("ben", 3)
	waiting := make([]string, 20)
	for i := range waiting {
		waiting[i] = a.queued()
	}
	got := each(20, func(i int) int {
		status, _ := a.do("POST", waiting[i]+"/assign", `{"agent":"ben"}`)
		return status
	})
	require.Equal(t, map[int]int{http.StatusOK: 3, http.StatusConflict: 17}, got)
	require.Len(t, field[[]string](t, a.get("/agents/ben"), "sessions"), 3)
	require.Equal(t, "busy", field[string](t, a.get("/agents/ben"), "status"))
	require.Len(t, field[[]string](t, a.get("/queues/help"), "sessions"), 17)
	require.Equal(t, 17, field[int](t, a.get("/queues/help"), "length"))
	a.consistent(waiting, "ben")
}

func TestSessionGoesToOneAgent(t *testing.T) {
	a := start(t)
	const n = 10
	waiting, team := make([]string, n), make([]string, n)
	for i := range n {
		waiting[i], team[i] = a.queued(), fmt.Sprintf("agent%d", i)
		a.online(team[i], 1)
	}
	got := each(n, func(i int) int {
		status, _ := a.do("POST", "/agents/"+team[i]+"/next", `{"queues":["vip","help"]}`)
		return status
	})
	require.Equal(t, map[int]int{http.StatusOK: n}, got)
	require.Empty(t, field[[]string](t, a.get("/queues/help"), "sessions"))
	a.consistent(waiting, team...)
}

// Every session that an agent loses at once is lost once.
func TestHandsGetFree(t *testing.T) {
	a := start(t)
	const n = 20
	a.online("ben", n)
	all, team := make([]string, n), []string{"ben"}
	for i := range all {
		all[i] = a.queued()
		a.want(http.StatusOK, "POST", all[i]+"/assign", `{"agent":"ben"}`)
		team = append(team, fmt.Sprintf("agent%d", i))
		a.online(team[i+1], 1)
	}
	got := each(n, func(i int) int {
		path, body := "/close", `{"reason":"x"}`
		if i%2 == 0 {
			path, body = "/transfer", fmt.Sprintf(`{"agent":%q}`, team[i+1])
		}
		status, _ := a.do("POST", all[i]+path, body)
		return status
	})
	require.Equal(t, map[int]int{http.StatusOK: n}, got)
	require.Empty(t, field[[]string](t, a.get("/agents/ben"), "sessions"))
	a.consistent(all, team...)
}

// Whatever happens to sessions at once, an agent has those that say so.
func TestAgentsAndSessionsAgree(t *testing.T) {
	a := start(t)
	team := []string{"ben", "cleo"}
	a.online("ben", 4)
	a.online("cleo", 4)
	all := make([]string, 8)
	for i := range all {
		all[i] = a.queued()
	}
	steps := []struct{ path, body string }{
		{"/assign", `{"agent":"ben"}`},
		{"/assign", `{"agent":"cleo"}`},
		{"/transfer", `{"agent":"ben"}`},
		{"/transfer", `{"agent":"cleo"}`},
		{"/close", `{"reason":"x"}`},
	}
	got := each(len(all)*3, func(i int) int {
		for n := range steps {
			if i%2 == 0 && n == len(steps)-1 {
				break // every other is left open
			}
			step := steps[(n+i/len(all))%len(steps)]
			if status, _ := a.do("POST", all[i%len(all)]+step.path, step.body); status >= 500 {
				return status
			}
		}
		return http.StatusOK
	})
	require.Equal(t, map[int]int{http.StatusOK: len(all) * 3}, got)
	a.consistent(all, team...)
}

// consistent wants each agent to have exactly the open sessions that name them.
func (a *api) consistent(sessions []string, team ...string) {
	a.t.Helper()
	want := map[string][]string{}
	var waiting []string
	for _, path := range sessions {
		s := a.get(path)
		switch field[string](a.t, s, "status") {
		case "queued":
			waiting = append(waiting, id(path))
		case "assigned", "active", "on_hold":
			who := field[string](a.t, s, "agent")
			want[who] = append(want[who], id(path))
		}
	}
	for _, who := range team {
		agent := a.get("/agents/" + who)
		has := field[[]string](a.t, agent, "sessions")
		require.ElementsMatch(a.t, want[who], has, who)
		require.LessOrEqual(a.t, len(has), field[int](a.t, agent, "max"))
	}
	queue := field[[]string](a.t, a.get("/queues/help"), "sessions")
	slices.Sort(queue)
	slices.Sort(waiting)
	require.ElementsMatch(a.t, waiting, queue)
}
