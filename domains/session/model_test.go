package session_test

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/domains/session"
	"github.com/unwatch/unwatch/internal/testing/entities"
	"github.com/unwatch/unwatch/rmw"
)

// model implements the package doc once more, as simply as possible: a table of checks by operation, and no table of
// transitions. It calls no method of the Session. A model without an ID is that of a session that does not exist.
type model struct {
	session.Session
	ttl time.Duration // of the key
}

// step is one operation with its arguments; not all use all.
type step struct {
	entities.Step
	agent, to string
	queue, by string
	why       string // a reason or a comment
	epoch     uint64
	number    int // a score, or a priority
	status    session.Status
	idle      session.Idle
	windows   session.Windows
}

// The outcomes of a step; the others are the codes of refusals, with details.
const changed, kept, invalid = entities.Changed, entities.Kept, entities.Invalid

type check = entities.Check

var fits = entities.Fits

// do runs a step, and returns its outcome.
func (m *model) do(s step, cfg session.Config) string {
	switch s.Op {
	case "Delete":
		*m = model{}
		return kept
	case "Expire":
		m.ttl = entities.ForeignTTL
		return kept
	}
	if s.settles() {
		s.ID = "" // the session does not remember it
	} else if s.ID == "" {
		return invalid
	}
	if s.Op == "Open" && (s.status != "bot" && s.status != "queued" || !fits(128, s.to, s.by, s.agent, s.queue)) {
		return invalid
	}
	if outcome, _ := entities.Repeated(&m.Header, s.ID, s.name()); outcome != "" {
		return outcome
	}
	next, now := *m, max(m.UpdatedAt, s.At)
	if outcome := next.change(s, now); outcome != changed {
		return outcome
	}
	if next.Epoch > maxEpoch {
		return invalid
	}
	entities.Count(&next.Header, s.ID, s.name(), 0)
	next.UpdatedAt = now
	if s.Op == "Open" {
		next.Unknown = entities.Unknown(cfg.Layout)
	}
	next.expire(s.Op, cfg)
	*m = next
	return changed
}

// settles reports whether the operation is idempotent without its id, which the session does not remember.
func (s step) settles() bool { return s.Op == "Fence" || s.Op == "Abandon" }

// name is the stored name of the operation. An operation without a method of Sessions is an Edit.
func (s step) name() string {
	if slices.Contains([]string{"Assign", "Transfer", "Requeue", "Decline", "Close", "CloseIdle", "Reopen", "Reopen+Close"}, s.Op) {
		return "Edit"
	}
	return s.Op
}

// checks returns the checks of each operation on a session that exists, in their order.
func (m *model) checks(s step, now domains.Time) map[string][]check {
	closed, held := m.Status == "closed", m.Status == "assigned" || m.Status == "active" || m.Status == "on_hold"
	notNow := fmt.Sprintf("not_now: no %s while it is %s", s.Op, m.Status)
	if closed {
		notNow = "session_closed"
	}
	isOpen := check{closed, notNow}
	moved := check{s.epoch != m.Epoch, fmt.Sprintf("moved_on: from epoch %d to %d", s.epoch, m.Epoch)}
	toAgent := check{s.to == "" || !fits(128, s.to), invalid}
	why := check{!fits(128, s.by, s.queue) || !fits(256, s.why), invalid}
	byAgent := []check{{s.agent == "" || !fits(128, s.agent), invalid}, {!held, notNow}, {s.agent != m.AgentID, "not_holder"}}
	only := func(status session.Status) check { return check{m.Status != status, notNow} }
	return map[string][]check{
		"Open":          {{true, "session_exists"}},
		"Abandon":       {{true, kept}},
		"Escalate":      {{!fits(128, s.queue), invalid}, only("bot")},
		"Assign":        {toAgent, moved, only("queued")},
		"Transfer":      {toAgent, {!fits(128, s.by) || !fits(256, s.why), invalid}, moved, {s.to == m.AgentID, "same_agent"}, {!held, notNow}},
		"Requeue":       {why, {!held, notNow}, {s.agent != "" && s.agent != m.AgentID, "not_holder"}},
		"Decline":       append(byAgent, only("assigned")),
		"Reply":         byAgent,
		"VisitorWrites": {isOpen},
		"Hold":          append(byAgent, check{m.Status == "on_hold", kept}, only("active")),
		"Resume":        append(byAgent, check{m.Status == "active", kept}, only("on_hold")),
		"SetPriority":   {isOpen, {s.number == m.Priority, kept}},
		"SetMerchant":   {{!fits(128, s.queue), invalid}, isOpen, {s.queue == m.MerchantID, kept}},
		"Fence":         {{m.Epoch > s.epoch, kept}, {s.epoch >= maxEpoch, invalid}},
		"Close":         {{closed, kept}, {s.why == "" || !fits(256, s.why), invalid}},
		"CloseIdle":     {{closed, kept}, {m.idle(s) == "", "not_idle"}},
		"Rate": {
			{!closed, "session_open"}, {s.number < 1 || s.number > 5, fmt.Sprintf("score: not %d", s.number)},
			{!fits(4096, s.why), invalid}, {m.Rating != nil, "rated"}, {m.RateUntil == 0, "rate_late: it cannot be rated"},
			{now > m.RateUntil, fmt.Sprintf("rate_late: it was until %v", m.RateUntil)},
		},
		"Reopen": {
			{!closed, "session_open"}, moved, {m.Rating != nil, "rated"}, {m.ReopenUntil == 0, "reopen_late: it cannot be reopened"},
			{now > m.ReopenUntil, fmt.Sprintf("reopen_late: it was until %v", m.ReopenUntil)},
		},
	}
}

func (m *model) change(s step, now domains.Time) string {
	if m.ID == "" {
		return m.begin(s)
	}
	if s.Op == "Reopen+Close" { // two steps of one Edit
		one, other := s, s
		one.Op, other.Op = "Reopen", "Close"
		return cmp.Or(m.unchanged(one, now), m.change(other, now))
	}
	return cmp.Or(m.unchanged(s, now), changed)
}

// unchanged follows a step whose checks succeed, and returns "". Otherwise it returns the outcome.
func (m *model) unchanged(s step, now domains.Time) string {
	outcome := entities.First(m.checks(s, now)[s.Op])
	if outcome == "" {
		m.follow(s, now)
	}
	return outcome
}

func (m *model) begin(s step) string {
	switch {
	case s.Op == "Abandon" && !fits(128, s.by):
		return invalid
	case s.Op == "Abandon":
		m.Session = session.Session{
			ID: "s", VisitorID: s.by, Status: "closed", CloseReason: "abandoned", Epoch: 1, CreatedAt: s.At, ClosedAt: s.At,
		}
	case s.Op == "Open":
		m.Session = session.Session{
			ID: "s", TenantID: s.to, VisitorID: s.by, RoomID: s.agent, QueueID: s.queue, MerchantID: s.queue, Priority: s.number,
			Status: s.status, CreatedAt: s.At,
		}
		if s.status == "queued" {
			m.QueuedAt = s.At
		}
	default:
		return "no_session"
	}
	m.ttl = rmw.NoTTL
	return changed
}

// follow changes the session by a step that is permitted.
func (m *model) follow(s step, now domains.Time) {
	agent, epoch := m.AgentID, m.Epoch+1
	switch s.Op {
	case "Escalate":
		m.Status, m.QueueID, m.QueuedAt = "queued", s.queue, now
	case "Assign":
		m.Status, m.AgentID, m.TakenAt, m.AssignedAt, m.Epoch = "assigned", s.to, now, now, epoch
	case "Transfer":
		m.transfer(session.Transfer{From: agent, To: s.to, Kind: "agent", By: s.by, At: now, Reason: s.why})
		m.Status, m.LastAgentID, m.AgentID, m.AssignedAt, m.HoldAt, m.Epoch = "assigned", agent, s.to, now, 0, epoch
	case "Requeue":
		m.QueueID = cmp.Or(s.queue, m.QueueID)
		m.transfer(session.Transfer{From: agent, To: m.QueueID, Kind: "queue", By: s.by, At: now, Reason: s.why})
		m.queue(now)
	case "Decline":
		if !slices.Contains(m.Declined, agent) {
			m.Declined = entities.LastOf(16, m.Declined, agent)
		}
		m.queue(now)
	case "Reply":
		if m.Status == "assigned" {
			m.Status = "active"
		}
		m.LastAgentAt, m.Declined, m.FirstResponseAt = now, nil, cmp.Or(m.FirstResponseAt, now)
	case "VisitorWrites":
		if m.Status == "on_hold" {
			m.Status = "active"
		}
		m.LastVisitorAt, m.HoldAt = now, 0
	case "Hold":
		m.Status, m.HoldAt = "on_hold", now
	case "Resume":
		m.Status, m.HoldAt, m.ResumedAt = "active", 0, now
	case "SetPriority":
		m.Priority = s.number
	case "SetMerchant":
		m.MerchantID = s.queue
	case "Fence":
		m.Epoch = s.epoch + 1
	case "Close":
		m.close(session.Reason(s.why), s.windows, now)
	case "CloseIdle":
		m.close(m.idle(s), s.windows, now)
	case "Rate":
		m.Rating = &session.Rating{Score: s.number, Comment: s.why, At: now}
	case "Reopen":
		m.CloseReason, m.ClosedAt, m.RateUntil, m.ReopenUntil = "", 0, 0, 0
		m.queue(now)
	}
}

func (m *model) transfer(t session.Transfer) { m.Transfers = entities.LastOf(16, m.Transfers, t) }

// queue puts the session into the queue, without an agent.
func (m *model) queue(now domains.Time) {
	m.Status, m.LastAgentID, m.AgentID = "queued", cmp.Or(m.AgentID, m.LastAgentID), ""
	m.QueuedAt, m.TakenAt, m.AssignedAt, m.HoldAt = now, 0, 0, 0
	m.Epoch++
}

func (m *model) close(reason session.Reason, windows session.Windows, now domains.Time) {
	end := func(window time.Duration) domains.Time {
		switch {
		case window == 0:
			return 0
		case now+domains.Time(window.Milliseconds()) > maxTime:
			return now
		}
		return now + domains.Time(window.Milliseconds())
	}
	m.Status, m.LastAgentID, m.AgentID, m.HoldAt = "closed", cmp.Or(m.AgentID, m.LastAgentID), "", 0
	m.CloseReason, m.ClosedAt, m.RateUntil, m.ReopenUntil = reason, now, end(windows.Rate), end(windows.Reopen)
	m.Epoch++
}

// idle returns the reason for which CloseIdle closes. It uses the clock of the closing process, which may be behind.
func (m *model) idle(s step) session.Reason {
	after := func(limit time.Duration, since ...domains.Time) bool {
		return limit > 0 && slices.Max(since) > 0 && int64(s.At-slices.Max(since)) >= limit.Milliseconds()
	}
	switch {
	case m.Status == "queued" && after(s.idle.Queue, m.QueuedAt):
		return "queue_timeout"
	case m.Status == "active" && m.LastAgentAt > m.LastVisitorAt:
		if after(s.idle.Visitor, m.LastAgentAt, m.ResumedAt) {
			return "visitor_idle"
		}
	case m.Status == "assigned" || m.Status == "active":
		if after(s.idle.Agent, m.LastVisitorAt, m.AssignedAt, m.ResumedAt) {
			return "agent_idle"
		}
	}
	return ""
}

// expire sets the expiry of the key as the comments of Config say.
func (m *model) expire(op string, cfg session.Config) {
	ttl := cfg.TTL
	switch {
	case m.Status == "closed":
		ttl = cmp.Or(cfg.ClosedTTL, cfg.TTL)
	case op == "Reopen" && cfg.ClosedTTL != 0:
		ttl = cmp.Or(cfg.TTL, rmw.NoTTL)
	}
	if m.CloseReason == "abandoned" && ttl > 0 {
		ttl = max(cfg.TTL, cfg.ClosedTTL, 24*time.Hour)
	}
	m.ttl = cmp.Or(ttl, m.ttl)
}

// durations returns what Waited, FirstResponse, Lasted and Chatted return at a time.
func (m *model) durations(now domains.Time) [4]time.Duration {
	between := func(from, to domains.Time) time.Duration {
		if from == 0 || to < from {
			return 0
		}
		return to.Time().Sub(from.Time())
	}
	return [4]time.Duration{
		between(m.QueuedAt, cmp.Or(m.TakenAt, m.ClosedAt, now)),
		between(m.CreatedAt, m.FirstResponseAt),
		between(m.CreatedAt, cmp.Or(m.ClosedAt, now)),
		between(m.FirstResponseAt, cmp.Or(m.ClosedAt, max(m.LastAgentAt, m.LastVisitorAt))),
	}
}
