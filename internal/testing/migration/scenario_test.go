package migration

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The fields of responses that the rules concern.
type (
	seenSession struct {
		ID, Status, Agent, Queue string
	}
	seenAgent struct {
		ID       string
		Max      int
		Sessions []string
	}
	seenEvent struct {
		Seq        int64
		Kind, Text string
	}
)

// disagreements lists inconsistencies between sessions, agents and a queue.
func disagreements(sessions []seenSession, agents []seenAgent, queue []string) (wrong []string) {
	has, waiting := map[string][]string{}, []string{}
	for _, s := range sessions {
		switch s.Status {
		case "queued":
			waiting = append(waiting, s.ID)
		case "assigned", "active", "on_hold":
			has[s.Agent] = append(has[s.Agent], s.ID)
		}
	}
	sorted := func(ids []string) string { return strings.Join(slices.Sorted(slices.Values(ids)), " ") }
	for _, a := range agents {
		if sorted(a.Sessions) != sorted(has[a.ID]) {
			wrong = append(wrong, fmt.Sprintf("%s has %q, of whom say so %q", a.ID, a.Sessions, has[a.ID]))
		}
		if len(a.Sessions) > a.Max {
			wrong = append(wrong, fmt.Sprintf("%s has %d sessions, at most %d are permitted", a.ID, len(a.Sessions), a.Max))
		}
	}
	if sorted(queue) != sorted(waiting) {
		wrong = append(wrong, fmt.Sprintf("the queue has %q, of whom say so %q", queue, waiting))
	}
	return wrong
}

// holes lists missing, duplicate and misordered events.
func holes(events []seenEvent, first int64, texts int) (wrong []string) {
	said := map[string]bool{}
	for i, e := range events {
		if want := first + int64(i); e.Seq != want {
			wrong = append(wrong, fmt.Sprintf("number %d comes where %d should", e.Seq, want))
		}
		if e.Text != "" {
			said[e.Text] = true
		}
	}
	if len(said) != texts {
		wrong = append(wrong, fmt.Sprintf("%d messages of %d", len(said), texts))
	}
	return wrong
}

// Negative control: inconsistencies are found.
func TestFindings(t *testing.T) {
	s := []seenSession{{ID: "1", Status: "active", Agent: "ben"}, {ID: "2", Status: "queued"}, {ID: "3", Status: "closed", Agent: "ben"}}
	ben := func(limit int, ids ...string) []seenAgent { return []seenAgent{{ID: "ben", Max: limit, Sessions: ids}} }
	require.Empty(t, disagreements(s, ben(1, "1"), []string{"2"}))
	require.Len(t, disagreements(s, ben(1), []string{"2"}), 1)
	require.Len(t, disagreements(s, ben(3, "1", "3"), []string{"2"}), 1)
	require.Len(t, disagreements(s, ben(0, "1"), []string{"2"}), 1)
	require.Len(t, disagreements(s, ben(1, "1"), nil), 1)
	require.Len(t, disagreements(s, ben(1, "1"), []string{"1", "2"}), 1)

	e := func(seqs ...int64) (events []seenEvent) {
		for _, seq := range seqs {
			events = append(events, seenEvent{Seq: seq, Text: fmt.Sprint(seq)})
		}
		return events
	}
	require.Empty(t, holes(e(3, 4, 5), 3, 3))
	require.NotEmpty(t, holes(e(3, 5), 3, 2))
	require.NotEmpty(t, holes(e(3, 4, 4), 3, 3))
	require.NotEmpty(t, holes(e(3, 5, 4), 3, 3))
	require.NotEmpty(t, holes(e(3, 4), 3, 3))
}

// look decodes a process's response.
func look[T any](t *testing.T, p process, path string) (v T) {
	t.Helper()
	assert.NoError(t, json.Unmarshal([]byte(p.want(t, "GET", path, "")), &v))
	return v
}

const messages = 12 // of each process

// rooms makes both processes post in one room, with a subscriber at each.
func rooms(t *testing.T, fleet [2]process, room string) {
	t.Helper()
	path := "/rooms/" + room
	fleet[0].want(t, "POST", "/rooms", fmt.Sprintf(`{"id":%q,"tenant":"acme","owner":"ada"}`, room))
	fleet[1].want(t, "PUT", path+"/members/vera", "")
	var streams, writers sync.WaitGroup
	for i, p := range fleet {
		resp, err := http.Get(p.url + path + "/events")
		require.NoError(t, err)
		t.Cleanup(func() { resp.Body.Close() })
		streams.Go(func() {
			var events []seenEvent
			for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
				if raw, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
					var e seenEvent
					assert.NoError(t, json.Unmarshal([]byte(raw), &e))
					events = append(events, e)
				}
			}
			assert.Empty(t, holes(events, 4, 2*messages), "the stream of process %d", i)
		})
	}
	for i, p := range fleet {
		writers.Go(func() {
			for n := range messages {
				p.want(t, "POST", path+"/messages", fmt.Sprintf(`{"from":"ada","text":"%d of %d"}`, n, i))
			}
		})
	}
	writers.Wait()
	fleet[1].want(t, "POST", path+"/close", `{"by":"ada"}`)
	streams.Wait()
	for i, p := range fleet {
		history := look[struct{ Events []seenEvent }](t, p, path+"/history").Events
		assert.Empty(t, holes(history, 1, 2*messages), "the history of process %d", i)
	}
}

// sessions makes both processes assign sessions to the same agents concurrently.
func sessions(t *testing.T, fleet [2]process, name string) (paths []string) {
	t.Helper()
	room, queue, team := name+"s", name+"q", []string{name + "a", name + "b"}
	fleet[0].want(t, "POST", "/rooms", fmt.Sprintf(`{"id":%q,"tenant":"acme","owner":"vera"}`, room))
	for i, agent := range team {
		fleet[i].want(t, "PUT", "/agents/"+agent, `{"status":"online","max":3}`)
	}
	open := func(i int) {
		body := fmt.Sprintf(`{"tenant":"acme","visitor":"vera","room":%q,"merchant":"shoes"}`, room)
		var s seenSession
		assert.NoError(t, json.Unmarshal([]byte(fleet[i%2].want(t, "POST", "/sessions", body)), &s))
		path := "/sessions/" + s.ID
		fleet[(i/2)%2].want(t, "POST", path+"/escalate", fmt.Sprintf(`{"queue":%q}`, queue))
		paths = append(paths, path)
	}
	for i := range 12 {
		open(i)
	}
	var workers sync.WaitGroup
	for i := range 4 {
		p, agent, other := fleet[i%2], team[i/2], team[1-i/2]
		workers.Go(func() {
			for n := range 5 {
				status, next := p.do(t, "POST", "/agents/"+agent+"/next", fmt.Sprintf(`{"queues":[%q,"none"]}`, queue))
				if status != http.StatusOK {
					assert.Contains(t, []int{http.StatusNoContent, http.StatusConflict}, status, next)
					continue
				}
				var s seenSession
				assert.NoError(t, json.Unmarshal([]byte(next), &s))
				status, answer := fleet[(i+n)%2].do(t, "POST", "/sessions/"+s.ID+"/transfer", fmt.Sprintf(`{"agent":%q}`, other))
				assert.Contains(t, []int{http.StatusOK, http.StatusConflict}, status, answer)
				if n%2 == 0 {
					fleet[(i+n)%2].want(t, "POST", "/sessions/"+s.ID+"/close", `{"reason":"solved"}`)
				}
			}
		})
	}
	workers.Wait()
	for _, p := range fleet {
		var all []seenSession
		for _, path := range paths {
			all = append(all, look[seenSession](t, p, path))
		}
		var agents []seenAgent
		for _, agent := range team {
			agents = append(agents, look[seenAgent](t, p, "/agents/"+agent))
		}
		waiting := look[struct{ Sessions []string }](t, p, "/queues/"+queue).Sessions
		assert.Empty(t, disagreements(all, agents, waiting))
	}
	return append(paths, "/rooms/"+room, "/rooms/"+name, "/agents/"+team[0], "/agents/"+team[1])
}
