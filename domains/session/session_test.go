package session_test

import (
	"cmp"
	"context"
	"errors"
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
	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/rmwtest"
)

// The limits of a stored session, as the package documents them.
const (
	maxEpoch = 1<<53 - 1
	// maxTime is the end of the year 9999.
	maxTime domains.Time = 253402300799999
)

var long = strings.Repeat("x", 4097)

// start is the first time of these tests; later times are minutes after it.
var start = time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)

func minute(n int) time.Time { return start.Add(time.Duration(n) * time.Minute) }

func at(n int) domains.Time { return domains.At(minute(n)) }

// op is an operation that happens n minutes after the start.
func op(id string, n int) domains.Op { return domains.Op{ID: id, At: minute(n)} }

type run = entities.Run[session.Session, *session.Session, step]

// newRun begins with the stored session of the model, or with none. With codec, the sessions have the codec of cfg.Layout,
// which replaces the layout and the expiry of closed sessions.
func newRun(cfg session.Config, m model, codec bool) *run {
	store, key, own := rmwtest.NewMemory(), cmp.Or(cfg.Prefix, "session:")+"s", cfg
	if codec {
		own.Layout, own.Codec = domains.Hash, domains.CodecOf[session.Session, *session.Session](cfg.Layout, nil)
		own.TTL, cfg.TTL, cfg.ClosedTTL = 0, 0, 0
	}
	if m.ID != "" {
		v, _ := domains.CodecOf[session.Session, *session.Session](cfg.Layout, nil).Encode(&m.Session, rmw.Value{})
		_ = store.Set(context.Background(), key, v, m.ttl)
	}
	sessions := session.New(store, own)
	return &run{
		Subject: `session "s"`, Key: key, Store: store, Layout: cfg.Layout, Prev: m.Session,
		Do:   func(s step) (string, session.Session, time.Duration) { return m.do(s, cfg), m.Session, m.ttl },
		Send: func(s step) (session.Session, error) { return s.send(sessions, cfg.Layout) },
		Get:  func() (session.Session, error) { return sessions.Get(context.Background(), "s") },
		Also: func(s step, prev, next session.Session) error {
			if n := prev; s.args() != nil && s.run(&n) != nil && !assert.ObjectsAreEqual(prev, n) {
				return errors.New("an operation that returns an error has changed the session")
			}
			now := s.At.Time()
			durations := [4]time.Duration{next.Waited(now), next.FirstResponse(), next.Lasted(now), next.Chatted()}
			if durations != m.durations(s.At) {
				return fmt.Errorf("durations %v, the model says %v", durations, m.durations(s.At))
			}
			return nil
		},
		Status: func(s session.Session) string { return string(s.Status) },
	}
}

// send makes the call that a step stands for.
func (s step) send(sessions session.Sessions, layout domains.Layout) (session.Session, error) {
	ctx, op := context.Background(), domains.Op{ID: s.ID, At: s.At.Time()}
	switch s.Op {
	case "Open":
		return sessions.Create(ctx, "s", op, session.Session{
			TenantID: s.to, VisitorID: s.by, RoomID: s.agent, QueueID: s.queue, MerchantID: s.queue, Priority: s.number,
			Status: s.status, Unknown: entities.Unknown(layout),
			// Create ignores these fields.
			Header: domains.Header{Format: 9, Version: 9, Applied: []domains.Applied{{ID: "x"}}}, ID: "other", AgentID: "ann",
			LastAgentID: "ben", Epoch: 7, CreatedAt: 1, QueuedAt: 2, AssignedAt: 3, Rating: &session.Rating{Score: 1},
		})
	case "Abandon":
		return sessions.Abandon(ctx, "s", op.At, s.by)
	case "Rate":
		return sessions.Rate(ctx, "s", op, s.number, s.why)
	case "Fence":
		return sessions.Fence(ctx, "s", op.At, s.epoch)
	}
	if s.name() == "Edit" {
		return sessions.Edit(ctx, "s", op, s.run)
	}
	return entities.CallFor[session.Session](sessions, s.Op, append([]any{ctx, "s", op}, s.args()...)...)
}

// args returns the arguments of the operation on a session, after the time; nil if there is no such operation.
func (s step) args() []any {
	return map[string][]any{
		"Escalate":      {s.queue},
		"Assign":        {s.to, s.epoch},
		"Transfer":      {s.to, s.epoch, s.by, s.why},
		"Requeue":       {s.agent, s.queue, s.by, s.why},
		"Decline":       {s.agent},
		"Reply":         {s.agent},
		"VisitorWrites": {},
		"Hold":          {s.agent},
		"Resume":        {s.agent},
		"SetPriority":   {s.number},
		"SetMerchant":   {s.queue},
		"Close":         {session.Reason(s.why), s.windows},
		"CloseIdle":     {s.idle, s.windows},
		"Rate":          {session.Rating{Score: s.number, Comment: s.why}},
		"Reopen":        {s.epoch},
		"Fence":         {s.epoch},
	}[s.Op]
}

// run runs an operation on the session.
func (s step) run(n *session.Session) error {
	if s.Op == "Reopen+Close" {
		reopen, end := s, s
		reopen.Op, end.Op = "Reopen", "Close"
		return domains.Steps(func() error { return reopen.run(n) }, func() error { return end.run(n) })
	}
	err, _ := entities.Call(n, s.Op, append([]any{s.At}, s.args()...)...)[0].(error)
	return err
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
		Step: entities.Step{Op: op, ID: "it", At: at(10)}, agent: cmp.Or(n.AgentID, "ann"), to: "dan", queue: "q2", by: "boss", why: "why",
		epoch: n.Epoch, number: 3, status: session.Queued,
		idle:    session.Idle{Queue: limit, Visitor: limit - time.Minute, Agent: limit / 2},
		windows: session.Windows{Rate: 30 * time.Minute, Reopen: 20 * time.Minute},
	}
}

// someSteps draws steps that suit the state of the model. Most runs begin with an Open. Clocks are sometimes behind,
// sometimes just before or after the end of a window or of a limit, and mostly run on. Now and then, a step comes
// again, or with the id of another.
func someSteps(t *rapid.T, cfg session.Config, m model) []step {
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
		s.ID, s.At = fmt.Sprint("op-", i), clock
		s.to = rapid.SampledFrom([]string{"ann", "ben", "cid", "dan"}).Draw(t, "to")
		s.queue = rapid.SampledFrom([]string{"", "q1", "q2"}).Draw(t, "queue")
		s.number = rapid.IntRange(0, 6).Draw(t, "number")
		if s.Op == "Open" {
			s.status = rapid.SampledFrom([]session.Status{"bot", "bot", "queued", "queued", "closed", ""}).Draw(t, "status")
		}
		unusual(t, &s, m)
		if i > 0 && rapid.IntRange(0, 30).Draw(t, "id of another") == 17 {
			s.ID = rapid.SampledFrom(steps).Draw(t, "whose").ID
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
	case i == 0 && n > 0 && m.ID == "":
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
		if s.Op == "Fence" && rapid.Bool().Draw(t, "the last epoch") {
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
			s.At = maxTime - 1000 // within a window of the last time
		} else if rapid.Bool().Draw(t, "no id") {
			s.ID = ""
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
	if end, ok := ends[s.Op]; ok && rapid.Bool().Draw(t, "at the end of a window or limit") {
		s.At = max(at(0), min(maxTime, end+domains.Time(rapid.Int64Range(-1, 1).Draw(t, "millisecond"))))
	}
	if text != nil {
		*text = rapid.SampledFrom([]string{long[:128], long[:129], long[:256], long[:257], long[:4096], long[:4097], "\xff", ""}).
			Draw(t, "text")
	}
}

// Any sequence of operations, with any clocks, matches the model in every layout: the stored and returned session, its
// expiry, its durations, and the codes and texts of refusals. A refusal writes nothing. Each row of the table and each
// refusal occurs, and no transition besides the rows. The first session may be one of an older service.
func TestSessionMatchesModel(t *testing.T) {
	rows, outcomes := map[string]int{}, map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		ttl := func(name string, ttls ...time.Duration) time.Duration { return rapid.SampledFrom(ttls).Draw(t, name) }
		cfg := session.Config{
			Prefix:    rapid.SampledFrom([]string{"", "p:"}).Draw(t, "prefix"),
			Layout:    rapid.SampledFrom(entities.Layouts()).Draw(t, "layout"),
			TTL:       ttl("TTL", 0, time.Hour, 72*time.Hour, rmw.NoTTL),
			ClosedTTL: ttl("ClosedTTL", 0, 30*time.Minute, 48*time.Hour, rmw.NoTTL),
		}
		var m model
		if rapid.IntRange(0, 3).Draw(t, "older") == 0 {
			m = model{older(rapid.SampledFrom(session.Transitions().States()).Draw(t, "state")), rmw.NoTTL}
		}
		q := newRun(cfg, m, rapid.IntRange(0, 9).Draw(t, "codec") == 9)
		q.Rows, q.Outcomes = rows, outcomes
		require.NoError(t, q.Play(someSteps(t, cfg, m)))
	})
	entities.AssertOccurred(t, append(entities.Rows(session.Transitions), "Reopen+Close closed closed"), rows)
	entities.AssertOccurred(t, []string{
		changed, kept, invalid, "no_session", "session_exists", "session_closed", "not_now", "not_holder", "moved_on", "same_agent",
		"not_idle", "session_open", "rated", "rate_late", "score", "reopen_late",
	}, outcomes)
}

// The negative controls: if the package made one of these mistakes, the model would find it.
func TestModelNegativeControls(t *testing.T) {
	newRun := func() *run { return newRun(session.Config{}, model{}, false) }
	steps := func(t *rapid.T) []step { return someSteps(t, session.Config{}, model{}) }
	entities.AssertControls(t, 20, newRun, steps, map[string]func(s step, prev, next *session.Session){
		"the first response moves": func(_ step, _, n *session.Session) {
			n.FirstResponseAt = max(n.FirstResponseAt, n.LastAgentAt)
		},
		"a clock runs backwards": func(s step, _, n *session.Session) { n.UpdatedAt = s.At },
		"closing has no last agent": func(_ step, _, n *session.Session) {
			if n.Status == session.Closed {
				n.LastAgentID = ""
			}
		},
	})
}

// The latest transfers and declining agents are kept, also of more agents than the random runs have.
func TestBoundedLists(t *testing.T) {
	var m model
	var steps []step
	add := func(op string, to int) {
		s := usual(op, m.Session)
		s.ID, s.to = fmt.Sprint(len(steps)), fmt.Sprint("agent-", to)
		assert.Equal(t, changed, m.do(s, session.Config{}), op)
		steps = append(steps, s)
	}
	add("Open", 0)
	for i := range 3 * 16 {
		add("Assign", i%20)
		add("Decline", 0)
	}
	add("Assign", 0)
	for i := range 3 * 16 {
		add("Transfer", 1+i)
	}
	require.NoError(t, newRun(session.Config{}, model{}, false).Play(steps))
	assert.Len(t, m.Declined, 16, "a transfer is no answer")
	assert.Len(t, m.Transfers, 16)
}

// An operation on a copy leaves the original as it was. Package desk tries operations on copies.
func TestOperationsOnCopies(t *testing.T) {
	s := session.Session{
		ID: "s", Status: session.Assigned, AgentID: "ann",
		// Both slices have spare capacity, which an append could overwrite.
		Declined:  append(make([]string, 0, 4), "dan"),
		Transfers: append(make([]session.Transfer, 0, 4), session.Transfer{From: "dan", To: "ann"}),
	}
	one, other := s, s
	require.NoError(t, one.Transfer(at(1), "ben", 0, "", "one"))
	require.NoError(t, other.Transfer(at(2), "cid", 0, "", "other"))
	assert.Equal(t, "one", one.Transfers[1].Reason)
	one, other = s, s
	other.AgentID = "ben"
	require.NoError(t, one.Decline(at(1), "ann"))
	require.NoError(t, other.Decline(at(1), "ben"))
	assert.Equal(t, []string{"dan", "ann"}, one.Declined)
	other = s
	require.NoError(t, other.Reply(at(1), "ann"))
	assert.Equal(t, []string{"dan"}, s.Declined)
}

// The default windows, and that a negative one is never.
func TestWindows(t *testing.T) {
	for _, c := range []struct {
		rate, reopen time.Duration
		want         session.Windows
	}{
		{0, 0, session.Windows{Rate: 24 * time.Hour}},
		{-1, -1, session.Windows{}},
		{time.Hour, time.Minute, session.Windows{Rate: time.Hour, Reopen: time.Minute}},
	} {
		assert.Equal(t, c.want, session.New(nil, session.Config{RateWindow: c.rate, ReopenWindow: c.reopen}).Windows())
	}
}
