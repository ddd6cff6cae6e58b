package session_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/domains/session"
	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/rmwtest"
)

// state is one session as a document and as a hash, and the model of it.
type state struct {
	stores []*rmwtest.Memory
	all    []session.Sessions
	stored []rmw.Value       // as it was after the last step
	last   []session.Session // the same, read
	id     string
	model  model
	now    int64
	ops    int
	past   []step         // the steps so far, to be sent again
	rows   map[string]int // how often each row of the table was followed
}

func newState(rows map[string]int, hash domains.Layout) *state {
	w := &state{rows: rows, now: int64(at(0))}
	for _, layout := range []domains.Layout{domains.JSON, hash} {
		m := rmwtest.NewMemory()
		w.stores = append(w.stores, m)
		w.stored, w.last = append(w.stored, rmw.Value{}), append(w.last, session.Session{})
		w.all = append(w.all, session.New(m, session.Config{Layout: layout}))
	}
	return w
}

func (s step) windows() session.Windows {
	return session.Windows{Rate: time.Duration(s.rate) * time.Millisecond, Reopen: time.Duration(s.reopen) * time.Millisecond}
}

func (s step) domainsOp() domains.Op { return domains.Op{ID: s.id, At: domains.Time(s.at).Time()} }

// favourites are the operations that something comes of, by state.
func favourites() map[string][]string {
	by := map[string][]string{}
	cells(func(op string, from session.Status, want string) {
		if moves(want) {
			by[string(from)] = append(by[string(from)], op)
		}
	})
	return by
}

// draw makes up a step. Clocks are sometimes behind, and mostly run on.
func (w *state) draw(t *rapid.T, likely map[string][]string) step {
	if len(w.past) > 0 && rapid.IntRange(0, 9).Draw(t, "again") == 0 {
		return rapid.SampledFrom(w.past[max(0, len(w.past)-3):]).Draw(t, "the same")
	}
	w.ops++
	w.now += rapid.Int64Range(-3, 5).Draw(t, "minutes") * 60_000
	ops := likely[w.model.status]
	switch rapid.IntRange(0, 9).Draw(t, "op is") {
	case 0, 1: // any
		ops = slices.Concat(likely["bot"], likely["assigned"], likely["on_hold"], likely["closed"])
	case 2, 3, 4: // what leads to states that are rare
		ops = map[string][]string{
			"bot": likely["bot"], "queued": {"Assign"}, "assigned": {"Reply", "CloseIdle"}, "active": {"Hold", "CloseIdle"},
			"on_hold": {"Transfer", "SetMerchant", "Requeue", "Reply"}, "closed": {"Reopen"},
		}[w.model.status]
	}
	op := rapid.SampledFrom(ops).Draw(t, "op")
	if op == "CloseIdle" { // the limit has passed
		w.now += rapid.Int64Range(0, 20).Draw(t, "patience") * 60_000
	}
	s := step{
		op: op, id: fmt.Sprint("op-", w.ops), at: w.now + rapid.Int64Range(-1, 1).Draw(t, "millisecond"),
		agent: w.model.agent, to: rapid.SampledFrom([]string{"ann", "ben", "cid", "dan"}).Draw(t, "to"),
		queue: rapid.SampledFrom([]string{"", "q1", "q2"}).Draw(t, "queue"), by: "boss", epoch: w.model.epoch,
		number: rapid.IntRange(0, 6).Draw(t, "number"), rate: 30 * 60_000, reopen: 20 * 60_000,
		idle: session.Idle{Queue: 4 * time.Minute, Visitor: 3 * time.Minute, Agent: 2 * time.Minute},
	}
	switch rapid.IntRange(0, 9).Draw(t, "odd") {
	case 0:
		s.agent = rapid.SampledFrom([]string{"ann", "ben", ""}).Draw(t, "agent")
		s.to = s.agent
	case 1:
		s.epoch = uint64(rapid.Int64Range(0, int64(w.model.epoch)+2).Draw(t, "epoch"))
	case 2:
		s.rate, s.reopen, s.idle.Queue, s.idle.Visitor, s.idle.Agent = 0, 0, 0, 0, 0
	}
	return s
}

// open begins a new session.
func (w *state) open(t *rapid.T) {
	w.ops++
	w.id, w.past = fmt.Sprint("s-", w.ops), nil
	status := rapid.SampledFrom([]string{"bot", "bot", "queued"}).Draw(t, "status")
	s := step{id: fmt.Sprint("op-", w.ops), at: w.now, queue: "q0"}
	w.model = opened(s, status)
	for _, sessions := range w.all {
		var info session.Session
		require.NoError(t, json.Unmarshal([]byte(`{"foreign":1,"status":"`+status+`","queue_id":"q0"}`), &info))
		_, err := sessions.Create(context.Background(), w.id, s.domainsOp(), info)
		require.NoError(t, err)
	}
	w.rows["Open  "+status]++
	w.compare(t)
}

// do does a step in the model and in both layouts, and looks at all that must hold.
func (w *state) do(t *rapid.T, s step) {
	from := w.model.status
	want := w.model.do(s)
	for i, sessions := range w.all {
		after, err := s.send(sessions, w.id)
		require.Equal(t, want, outcome(w.last[i], after, err), "%+v: %v", s, err)
		now, _, err := w.stores[i].Get(context.Background(), "session:"+w.id)
		require.NoError(t, err)
		require.Equal(t, want != changed, w.stored[i].Equal(now), "%+v: %s, and what is stored", s, want)
		if want == changed {
			require.Empty(t, broken(s.op, w.last[i], after), "%+v", s)
		}
	}
	w.past = append(w.past, s)
	if want == changed {
		w.rows[s.op+" "+from+" "+w.model.status]++
		w.compare(t)
	}
}

func (s step) send(sessions session.Sessions, id string) (session.Session, error) {
	ctx, op := context.Background(), s.domainsOp()
	switch s.op {
	case "Escalate":
		return sessions.Escalate(ctx, id, op, s.queue)
	case "Reply":
		return sessions.Reply(ctx, id, op, s.agent)
	case "VisitorWrites":
		return sessions.VisitorWrites(ctx, id, op)
	case "Hold":
		return sessions.Hold(ctx, id, op, s.agent)
	case "Resume":
		return sessions.Resume(ctx, id, op, s.agent)
	case "SetPriority":
		return sessions.SetPriority(ctx, id, op, s.number)
	case "SetMerchant":
		return sessions.SetMerchant(ctx, id, op, s.queue)
	case "Rate":
		return sessions.Rate(ctx, id, op, s.number, "so so")
	case "Fence":
		return sessions.Fence(ctx, id, op.At, s.epoch)
	}
	return sessions.Edit(ctx, id, op, s.run)
}

// outcome returns the outcome of an operation in the words of the model.
func outcome(before, after session.Session, err error) string {
	switch {
	case domains.RefusalOf(err) != nil:
		return domains.RefusalOf(err).Code()
	case errors.Is(err, rmw.ErrInvalid):
		return invalid
	case err != nil:
		return err.Error()
	case before.Version == after.Version:
		return kept
	}
	return changed
}

// compare compares the stored session with the model, in both layouts.
func (w *state) compare(t *rapid.T) {
	for i, sessions := range w.all {
		got, err := sessions.Get(context.Background(), w.id)
		require.NoError(t, err)
		w.last[i] = got
		w.stored[i], _, err = w.stores[i].Get(context.Background(), "session:"+w.id)
		require.NoError(t, err)
		require.Equal(t, w.model, seen(got))
		_, kept := got.Unknown.Field("foreign") // a hash keeps it only where another service has put it
		require.Equal(t, i == 0, kept)
	}
}

// Any sequence of operations, with any clocks, matches the model in both layouts. No rule is broken, a refusal
// writes nothing, and each row of the table occurs.
func TestModel(t *testing.T) {
	rows, likely := map[string]int{}, favourites()
	rapid.Check(t, func(t *rapid.T) {
		w := newState(rows, rapid.SampledFrom(layouts()[1:]).Draw(t, "hash"))
		w.open(t)
		for range rapid.IntRange(90, 130).Draw(t, "steps") {
			if w.model.status == "closed" && rapid.IntRange(0, 7).Draw(t, "a new one") == 0 {
				w.open(t)
			}
			w.do(t, w.draw(t, likely))
		}
	})
	covered(t, rows)
}

// covered compares the rows that were followed with those of the table.
func covered(t *testing.T, rows map[string]int) {
	rare, times := "", 0
	for _, row := range session.Transitions().Rows {
		if row.Op == "Abandon" {
			continue // concerns no session that exists: see TestAbandon
		}
		from := row.From
		if len(from) == 0 {
			from = []string{""}
		}
		for _, f := range from {
			to := row.To
			if to == "" {
				to = f
			}
			key := row.Op + " " + f + " " + to
			if !testing.Short() && flag.Lookup("rapid.checks").Value.String() == "100" {
				assert.NotZero(t, rows[key], "never happened: %s", key)
			}
			if rare == "" || rows[key] < times {
				rare, times = key, rows[key]
			}
			delete(rows, key)
		}
	}
	assert.Empty(t, rows, "no row of the table")
	t.Logf("the rarest, %d times: %s", times, rare)
}

// The negative controls: had the package one of these mistakes, the model would find it.
func TestModelNegativeControls(t *testing.T) {
	for name, mistake := range map[string]func(s step, n *session.Session){
		"none":                      func(step, *session.Session) {},
		"an epoch is not counted":   func(s step, n *session.Session) { n.Epoch -= min(n.Epoch, uint64(len(s.op)/8)) },
		"the first response moves":  func(s step, n *session.Session) { n.FirstResponseAt = max(n.FirstResponseAt, n.LastAgentAt) },
		"a clock runs backwards":    func(s step, n *session.Session) { n.UpdatedAt = domains.Time(s.at) },
		"an agent stays on closing": func(_ step, n *session.Session) { n.LastAgentID = "" },
	} {
		found := false
		for seed := 0; seed < 20 && !found; seed++ {
			m := rapid.Custom(func(t *rapid.T) model {
				w := newState(map[string]int{}, domains.Hash)
				w.open(t)
				likely := favourites()
				for range 40 {
					s := w.draw(t, likely)
					w.do(t, s)
					one := w.last[0]
					mistake(s, &one)
					found = found || !assert.ObjectsAreEqual(w.model, seen(one))
				}
				return w.model
			})
			m.Example(seed)
		}
		assert.Equal(t, name != "none", found, name)
	}
}

// The negative controls of broken: each change breaks one rule.
func TestCheckNamesTheRule(t *testing.T) {
	for _, c := range []struct {
		op, rule string
		from     session.Status
		change   func(before, after *session.Session)
	}{
		{"SetPriority", "", session.Closed, func(_, after *session.Session) { after.Version++ }},
		{"Requeue", "an agent if and only if it is assigned, active or on hold", session.Active, func(_, after *session.Session) {
			after.Status = session.Queued
		}},
		{"SetPriority", "the epoch grows with the agent", session.Active, func(_, after *session.Session) { after.Epoch++ }},
		{"Transfer", "the epoch grows with the agent", session.Active, func(_, after *session.Session) { after.AgentID = "ben" }},
		{"Fence", "the epoch grows with the agent", session.Active, func(_, _ *session.Session) {}},
		{"Rate", "a closed session has a reason and a time", session.Closed, func(_, after *session.Session) { after.CloseReason = "" }},
		{"SetPriority", "a closed session stays as it is", session.Closed, func(_, after *session.Session) { after.Priority++ }},
		{"Rate", "it is rated once", session.Closed, func(before, after *session.Session) {
			before.Rating, after.Rating = &session.Rating{Score: 3}, &session.Rating{Score: 5}
		}},
		{"Reply", "times do not run backwards", session.Active, func(_, after *session.Session) { after.LastAgentAt-- }},
		{"Reply", "times do not run backwards", session.Active, func(_, after *session.Session) {
			after.LastAgentAt = after.UpdatedAt + 1
		}},
	} {
		before, after := made(t, c.from), made(t, c.from)
		c.change(&before, &after)
		assert.Equal(t, c.rule, broken(c.op, before, after), c.op)
	}
}
