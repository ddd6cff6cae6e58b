package session_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/domains/session"
	"github.com/unwatch/unwatch/internal/testing/entities"
	"github.com/unwatch/unwatch/internal/testing/paths"
	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/rmwtest"
)

// foreignTTL is an expiry that another service sets.
const foreignTTL = 3 * time.Hour

// run plays steps on a session and on the model, and compares them after each.
type run struct {
	cfg            session.Config
	rows, outcomes map[string]int // how often each row of the table, "op from to", and each outcome occurred
	// mistake, if not nil, changes the stored session like a bug in the package. It is the negative control: the run
	// has to fail.
	mistake func(s step, next *session.Session)
}

func newRun(cfg session.Config) *run {
	return &run{cfg: cfg, rows: map[string]int{}, outcomes: map[string]int{}}
}

// play returns the first difference.
func (q *run) play(store rmw.Store, direct rmwtest.Direct, steps []step) error {
	ctx, sessions := context.Background(), session.New(store, q.cfg)
	var m model
	var prev session.Session
	for i, s := range steps {
		fail := func(format string, args ...any) error {
			return fmt.Errorf("step %d, %+v: %s", i, s, fmt.Sprintf(format, args...))
		}
		before, _, _ := direct.Get(ctx, "session:s")
		switch s.op { // of another service
		case "Delete":
			before = rmw.Value{}
			fallthrough
		case "Expire":
			m.do(s, q.cfg)
			prev = m.Session
			_ = direct.Set(ctx, "session:s", before, foreignTTL)
			continue
		}
		want := m.do(s, q.cfg)
		got, err := s.send(sessions, q.cfg.Layout)
		if q.mistake != nil && err == nil {
			q.mistake(s, &got)
			v, _ := domains.CodecOf[session.Session, *session.Session](q.cfg.Layout, nil).Encode(&got, rmw.Value{})
			_ = direct.Set(ctx, "session:s", v, max(m.ttl, rmw.NoTTL))
		}
		if outcome := entities.Outcome(`session "s"`, err, got.Version != prev.Version); outcome != want {
			return fail("%s (%v), the model says %s", outcome, err, want)
		}
		if n := prev; s.op != "Reopen+Close" && s.run(&n) != nil && !assert.ObjectsAreEqual(prev, n) {
			return fail("an operation that returns an error has changed the session")
		}
		stored, ttl, _ := direct.Get(ctx, "session:s")
		if want != changed && !stored.Equal(before) {
			return fail("%s, and yet something was written", want)
		}
		next, err := sessions.Get(ctx, "s")
		switch {
		case err != nil && !errors.Is(err, session.ErrNoSession):
			return fail("%v", err)
		case !assert.ObjectsAreEqual(m.Session, next):
			return fail("stored\n%+v, the model says\n%+v", next, m.Session)
		case (want == changed || want == kept) && !assert.ObjectsAreEqual(next, got):
			return fail("returned\n%+v, stored\n%+v", got, next)
		case stored.Exists() && (ttl-m.ttl).Abs() > 5*time.Minute:
			return fail("the key expires in %v, the model says %v", ttl, m.ttl)
		}
		now := s.at.Time()
		durations := [4]time.Duration{next.Waited(now), next.FirstResponse(), next.Lasted(now), next.Chatted()}
		if durations != m.durations(s.at) {
			return fail("durations %v, the model says %v", durations, m.durations(s.at))
		}
		code, _, _ := strings.Cut(want, ":")
		if q.outcomes[code]++; want == changed {
			q.rows[s.op+" "+string(prev.Status)+" "+string(next.Status)]++
		}
		prev = next
	}
	return nil
}

// send makes the call that a step stands for.
func (s step) send(sessions session.Sessions, layout domains.Layout) (session.Session, error) {
	ctx, op := context.Background(), domains.Op{ID: s.id, At: s.at.Time()}
	switch s.op {
	case "Open":
		return sessions.Create(ctx, "s", op, session.Session{
			TenantID: s.to, VisitorID: s.by, RoomID: s.agent, QueueID: s.queue, MerchantID: s.queue, Priority: s.number,
			Status: s.status, Unknown: unknown(layout),
			// Create ignores these fields.
			Header: domains.Header{Format: 9, Version: 9, Applied: []domains.Applied{{ID: "x"}}}, ID: "other", AgentID: "ann",
			LastAgentID: "ben", Epoch: 7, CreatedAt: 1, QueuedAt: 2, AssignedAt: 3, Rating: &session.Rating{Score: 1},
		})
	case "Abandon":
		return sessions.Abandon(ctx, "s", op.At, s.by)
	case "Escalate":
		return sessions.Escalate(ctx, "s", op, s.queue)
	case "Reply":
		return sessions.Reply(ctx, "s", op, s.agent)
	case "VisitorWrites":
		return sessions.VisitorWrites(ctx, "s", op)
	case "Hold":
		return sessions.Hold(ctx, "s", op, s.agent)
	case "Resume":
		return sessions.Resume(ctx, "s", op, s.agent)
	case "SetPriority":
		return sessions.SetPriority(ctx, "s", op, s.number)
	case "SetMerchant":
		return sessions.SetMerchant(ctx, "s", op, s.queue)
	case "Rate":
		return sessions.Rate(ctx, "s", op, s.number, s.why)
	case "Fence":
		return sessions.Fence(ctx, "s", op.At, s.epoch)
	}
	return sessions.Edit(ctx, "s", op, s.run)
}

// run runs an operation on the session.
func (s step) run(n *session.Session) error {
	switch s.op {
	case "Escalate":
		return n.Escalate(s.at, s.queue)
	case "Assign":
		return n.Assign(s.at, s.to, s.epoch)
	case "Transfer":
		return n.Transfer(s.at, s.to, s.epoch, s.by, s.why)
	case "Requeue":
		return n.Requeue(s.at, s.agent, s.queue, s.by, s.why)
	case "Decline":
		return n.Decline(s.at, s.agent)
	case "Reply":
		return n.Reply(s.at, s.agent)
	case "VisitorWrites":
		return n.VisitorWrites(s.at)
	case "Hold":
		return n.Hold(s.at, s.agent)
	case "Resume":
		return n.Resume(s.at, s.agent)
	case "SetPriority":
		return n.SetPriority(s.at, s.number)
	case "SetMerchant":
		return n.SetMerchant(s.at, s.queue)
	case "Close":
		return n.Close(s.at, session.Reason(s.why), s.windows)
	case "CloseIdle":
		return n.CloseIdle(s.at, s.idle, s.windows)
	case "Rate":
		return n.Rate(s.at, session.Rating{Score: s.number, Comment: s.why})
	case "Reopen":
		return n.Reopen(s.at, s.epoch)
	case "Reopen+Close":
		reopen, end := s, s
		reopen.op, end.op = "Reopen", "Close"
		return domains.Steps(func() error { return reopen.run(n) }, func() error { return end.run(n) })
	}
	return n.Fence(s.at, s.epoch)
}

// operations returns the operations of the table that may happen in a state.
func operations(status session.Status) []string {
	var ops []string
	for _, row := range session.Transitions().Rows {
		if slices.Contains(row.From, string(status)) {
			ops = append(ops, row.Op)
		}
	}
	return ops
}

// allOperations returns the operations on a session that exists.
func allOperations() []string {
	ops := map[string]bool{}
	for _, status := range session.Transitions().States() {
		for _, op := range operations(session.Status(status)) {
			ops[op] = true
		}
	}
	return slices.Sorted(maps.Keys(ops))
}

// usual is an operation by the session's agent, at its epoch, so that only the state decides.
func usual(op string, n session.Session) step {
	const limit = 4 * time.Minute
	return step{
		op: op, id: "it", at: at(10), agent: cmp.Or(n.AgentID, "ann"), to: "dan", queue: "q2", by: "boss", why: "why",
		epoch: n.Epoch, number: 3, status: session.Queued,
		idle:    session.Idle{Queue: limit, Visitor: limit - time.Minute, Agent: limit / 2},
		windows: session.Windows{Rate: 30 * time.Minute, Reopen: 20 * time.Minute},
	}
}

// someSteps draws steps that suit the state of the model. Most runs begin with an Open. Clocks are sometimes behind,
// sometimes just before or after the end of a window or of a limit, and mostly run on. Now and then, a step comes
// again, or with the id of another.
func someSteps(t *rapid.T, cfg session.Config) []step {
	var m model
	var steps []step
	clock := at(0)
	for i := range rapid.SampledFrom([]int{30, 150}).Draw(t, "steps") {
		if i > 0 && rapid.IntRange(0, 9).Draw(t, "again") == 0 {
			steps = append(steps, rapid.SampledFrom(steps[max(0, i-3):]).Draw(t, "the same"))
			m.do(steps[i], cfg)
			continue
		}
		clock += domains.Time(rapid.Int64Range(-3, 5).Draw(t, "minutes") * 60_000)
		s := usual(aStepName(t, m, i), m.Session)
		s.id, s.at = fmt.Sprint("op-", i), clock
		s.to = rapid.SampledFrom([]string{"ann", "ben", "cid", "dan"}).Draw(t, "to")
		s.queue = rapid.SampledFrom([]string{"", "q1", "q2"}).Draw(t, "queue")
		s.number = rapid.IntRange(0, 6).Draw(t, "number")
		if s.op == "Open" {
			s.status = rapid.SampledFrom([]session.Status{"bot", "bot", "queued", "queued", "closed", ""}).Draw(t, "status")
		}
		unusual(t, &s, m)
		if i > 0 && rapid.IntRange(0, 30).Draw(t, "id of another") == 17 {
			s.id = rapid.SampledFrom(steps).Draw(t, "whose").id
		}
		m.do(s, cfg)
		steps = append(steps, s)
	}
	return steps
}

// aStepName draws an operation that the state permits, mostly.
func aStepName(t *rapid.T, m model, i int) string {
	from := map[session.Status][]string{ // the way to states that are rare
		"":         {"Open"},
		"bot":      {"Escalate", "Close"},
		"queued":   {"Assign"},
		"assigned": {"Reply", "CloseIdle"},
		"active":   {"Hold", "Transfer", "CloseIdle"},
		"on_hold":  {"Transfer", "Requeue", "Reply", "Close", "Close"},
		"closed":   {"Reopen", "Reopen", "Reopen+Close", "Rate", "Delete", "Delete", "Delete"},
	}[m.Status]
	switch n := rapid.IntRange(0, 9).Draw(t, "op is"); {
	case i == 0 && n > 0:
		from = []string{"Open", "Open", "Abandon"}
	case n == 0:
		from = append(allOperations(), "Open", "Abandon", "Expire", "Expire", "Delete")
	case n < 6 && m.ID != "":
		from = operations(m.Status)
	}
	if m.Status != "closed" { // a closed session has few operations: do not close too early
		from = slices.DeleteFunc(slices.Clone(from), func(op string) bool {
			return op == "Close" && len(from) > 1 && rapid.IntRange(0, 2).Draw(t, "close") > 0
		})
	}
	return rapid.SampledFrom(from).Draw(t, "op")
}

// unusual makes one argument unusual, now and then.
func unusual(t *rapid.T, s *step, m model) {
	var text *string
	switch rapid.IntRange(0, 19).Draw(t, "unusual") {
	case 0:
		s.agent = rapid.SampledFrom([]string{"ann", "ben", ""}).Draw(t, "agent")
		s.to = s.agent
	case 1:
		s.epoch = uint64(rapid.Int64Range(0, int64(min(m.Epoch, 1000))+2).Draw(t, "epoch"))
		if s.op == "Fence" && rapid.Bool().Draw(t, "the last epoch") {
			s.epoch = rapid.SampledFrom([]uint64{maxEpoch - 2, maxEpoch - 1, maxEpoch, 1<<64 - 1}).Draw(t, "epoch")
		}
	case 2:
		s.windows, s.idle = session.Windows{}, session.Idle{}
	case 3:
		text = rapid.SampledFrom([]*string{&s.agent, &s.to, &s.queue, &s.by, &s.why}).Draw(t, "argument")
	case 4:
		text = &s.why
	case 5:
		if rapid.IntRange(0, 9).Draw(t, "far") == 0 {
			s.at = maxTime - 1000 // within a window of the last time
		} else if rapid.Bool().Draw(t, "no id") {
			s.id = ""
		}
	}
	ends := map[string]domains.Time{
		"Rate": m.RateUntil, "Reopen": m.ReopenUntil, "Reopen+Close": m.ReopenUntil,
		"CloseIdle": max(m.LastVisitorAt, m.AssignedAt, m.ResumedAt).Add(s.idle.Agent),
	}
	switch {
	case m.Status == "queued":
		ends["CloseIdle"] = m.QueuedAt.Add(s.idle.Queue)
	case m.LastAgentAt > m.LastVisitorAt:
		ends["CloseIdle"] = max(m.LastAgentAt, m.ResumedAt).Add(s.idle.Visitor)
	}
	if end, ok := ends[s.op]; ok && rapid.Bool().Draw(t, "at the end of a window or limit") {
		s.at = max(at(0), min(maxTime, end+domains.Time(rapid.Int64Range(-1, 1).Draw(t, "millisecond"))))
	}
	if text != nil {
		*text = rapid.SampledFrom([]string{long[:128], long[:129], long[:256], long[:257], long[:4096], long[:4097], "\xff", ""}).
			Draw(t, "text")
	}
}

// aConfig draws a layout and expiries.
func aConfig(t *rapid.T) session.Config {
	ttl := func(name string, ttls ...time.Duration) time.Duration { return rapid.SampledFrom(ttls).Draw(t, name) }
	return session.Config{
		Layout: rapid.SampledFrom(entities.Layouts()).Draw(t, "layout"),
		TTL:    ttl("TTL", 0, time.Hour, 72*time.Hour, rmw.NoTTL), ClosedTTL: ttl("ClosedTTL", 0, 30*time.Minute, 48*time.Hour, rmw.NoTTL),
	}
}

// Any sequence of operations, with any clocks, matches the model in every layout: the stored and returned session, its
// expiry, its durations, and the codes and texts of refusals. A refusal writes nothing. Each row of the table and each
// refusal occurs, and no transition besides the rows.
func TestSessionMatchesModel(t *testing.T) {
	rows, outcomes := map[string]int{}, map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		q := newRun(aConfig(t))
		q.rows, q.outcomes = rows, outcomes
		m := rmwtest.NewMemory()
		require.NoError(t, q.play(m, m, someSteps(t, q.cfg)))
	})
	want := map[string]int{"Reopen+Close closed closed": 0}
	for _, row := range session.Transitions().Rows {
		for _, from := range append(row.From, "")[:max(1, len(row.From))] {
			want[row.Op+" "+from+" "+cmp.Or(row.To, from)] = 0
		}
	}
	assert.Subset(t, want, slices.Collect(maps.Keys(rows)))
	if testing.Short() || flag.Lookup("rapid.checks").Value.String() != "100" {
		return
	}
	assert.Subset(t, rows, slices.Collect(maps.Keys(want)))
	assert.ElementsMatch(t, []string{
		changed, kept, invalid, "no_session", "session_exists", "session_closed", "not_now", "not_holder", "moved_on", "same_agent",
		"not_idle", "session_open", "rated", "rate_late", "score", "reopen_late",
	}, slices.Collect(maps.Keys(outcomes)))
}

// example returns the steps with that number; they are always the same.
func example(seed int, cfg session.Config) []step {
	return rapid.Custom(func(t *rapid.T) []step { return someSteps(t, cfg) }).Example(seed)
}

// The same on every path, for a few runs that are always the same.
func TestEveryPathMatchesModel(t *testing.T) {
	paths.Each(t, func(t *testing.T, target rmwtest.Target) {
		for i, layout := range entities.Layouts() {
			cfg := session.Config{Layout: layout, ClosedTTL: time.Hour}
			require.NoError(t, target.Direct.Set(t.Context(), "session:s", rmw.Value{}, rmw.NoTTL))
			steps := example(i, cfg)
			require.NoError(t, newRun(cfg).play(target.Open(), target.Direct, steps[:min(len(steps), 40)]))
		}
	})
}

// The negative controls: if the package made one of these mistakes, the model would find it.
func TestModelNegativeControls(t *testing.T) {
	for name, mistake := range map[string]func(s step, n *session.Session){
		"none":                     func(step, *session.Session) {},
		"the first response moves": func(_ step, n *session.Session) { n.FirstResponseAt = max(n.FirstResponseAt, n.LastAgentAt) },
		"a clock runs backwards":   func(s step, n *session.Session) { n.UpdatedAt = s.at },
		"closing has no last agent": func(_ step, n *session.Session) {
			if n.Status == session.Closed {
				n.LastAgentID = ""
			}
		},
	} {
		q, found := newRun(session.Config{}), false
		q.mistake = mistake
		for seed := 0; seed < 20 && !found; seed++ {
			m := rmwtest.NewMemory()
			found = q.play(m, m, example(seed, q.cfg)) != nil
		}
		assert.Equal(t, name != "none", found, name)
	}
}

// unknown is what another service has stored beside the known fields. A hash keeps it only where that service stored it.
func unknown(layout domains.Layout) domains.Unknown {
	var s session.Session
	if layout == domains.JSON {
		if err := json.Unmarshal([]byte(`{"foreign":`+foreign+`}`), &s); err != nil {
			panic(err)
		}
	}
	return s.Unknown
}
