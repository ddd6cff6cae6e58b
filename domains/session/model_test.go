package session_test

import (
	"fmt"
	"slices"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/domains/session"
)

// model implements the package's document once more, as simply as possible: states by name, times in
// milliseconds, no table.
type model struct {
	version, epoch          uint64
	status, agent, last     string
	queue, merchant, reason string
	priority                int
	declined, transfers     []string
	rating                  string

	created, queued, taken, assigned, first, visitor, replied int64
	hold, resumed, updated, closed, rateUntil, reopenUntil    int64
	applied                                                   []string
}

// seen returns the model of a stored session.
func seen(s session.Session) model {
	m := model{
		version: s.Version, epoch: s.Epoch, status: string(s.Status), agent: s.AgentID, last: s.LastAgentID,
		queue: s.QueueID, merchant: s.MerchantID, reason: string(s.CloseReason), priority: s.Priority, declined: s.Declined,
		created: int64(s.CreatedAt), queued: int64(s.QueuedAt), taken: int64(s.TakenAt), assigned: int64(s.AssignedAt),
		first: int64(s.FirstResponseAt), visitor: int64(s.LastVisitorAt), replied: int64(s.LastAgentAt),
		hold: int64(s.HoldAt), resumed: int64(s.ResumedAt), updated: int64(s.UpdatedAt), closed: int64(s.ClosedAt),
		rateUntil: int64(s.RateUntil), reopenUntil: int64(s.ReopenUntil),
	}
	for _, t := range s.Transfers {
		m.transfers = append(m.transfers, fmt.Sprintf("%s>%s %s by %q at %d: %q", t.From, t.To, t.Kind, t.By, t.At, t.Reason))
	}
	if s.Rating != nil {
		m.rating = fmt.Sprintf("%d %q at %d", s.Rating.Score, s.Rating.Comment, s.Rating.At)
	}
	for _, a := range s.Applied {
		m.applied = append(m.applied, a.ID+" "+a.Op)
	}
	return m
}

// step is one operation with its arguments; not all use all.
type step struct {
	op, id       string
	at           int64
	agent, to    string
	queue, by    string
	epoch        uint64
	number       int // a score, or a priority
	idle         session.Idle
	rate, reopen int64 // windows, in milliseconds
}

const (
	changed = ""
	kept    = "keep"
	invalid = "invalid"
)

// do runs a step, and returns its outcome: changed, kept, invalid or a refusal's code.
func (m *model) do(s step) string {
	if s.op != "Fence" && slices.Contains(m.applied, s.remembered()) {
		return kept
	}
	next := *m
	outcome := next.change(s, max(m.updated, s.at))
	if outcome != changed {
		return outcome
	}
	next.version++
	next.updated = max(m.updated, s.at)
	if s.op != "Fence" {
		next.applied = lastOf(32, m.applied, s.remembered())
	}
	*m = next
	return changed
}

// remembered is the stored name of the step. A step without a method of Sessions is an Edit.
func (s step) remembered() string {
	if slices.Contains([]string{"Assign", "Transfer", "Requeue", "Decline", "Close", "CloseIdle", "Reopen"}, s.op) {
		return s.id + " Edit"
	}
	return s.id + " " + s.op
}

func lastOf(n int, list []string, one string) []string {
	list = append(append([]string(nil), list...), one)
	return list[max(0, len(list)-n):]
}

func (m *model) change(s step, now int64) string {
	busy := m.status == "assigned" || m.status == "active" || m.status == "on_hold"
	// The checks of all operations.
	switch s.op {
	case "Reply", "Hold", "Resume", "Decline":
		if s.agent == "" {
			return invalid
		}
		fallthrough
	case "Requeue":
		if m.status == "closed" {
			return "session_closed"
		}
		if !busy {
			return "not_now"
		}
		if s.agent != "" && s.agent != m.agent {
			return "not_holder"
		}
	case "Assign", "Transfer":
		if s.to == "" {
			return invalid
		}
		if s.epoch != m.epoch {
			return "moved_on"
		}
		if m.status == "closed" {
			return "session_closed"
		}
		if s.op == "Assign" && m.status != "queued" {
			return "not_now"
		}
		if s.op == "Transfer" && !busy {
			return "not_now"
		}
		if s.op == "Transfer" && s.to == m.agent {
			return "same_agent"
		}
	case "Escalate", "VisitorWrites", "SetPriority", "SetMerchant":
		if m.status == "closed" {
			return "session_closed"
		}
	case "Close", "CloseIdle":
		if m.status == "closed" {
			return kept
		}
	case "Rate", "Reopen":
		if m.status != "closed" {
			return "session_open"
		}
	}
	return m.follow(s, now)
}

// follow runs a step that the state permits.
func (m *model) follow(s step, now int64) string {
	switch s.op {
	case "Escalate":
		if m.status != "bot" {
			return "not_now"
		}
		m.status, m.queue, m.queued = "queued", s.queue, now
	case "Assign":
		m.status, m.agent, m.taken, m.assigned = "assigned", s.to, now, now
		m.epoch++
	case "Transfer":
		m.transfers = lastOf(16, m.transfers, fmt.Sprintf("%s>%s agent by %q at %d: %q", m.agent, s.to, s.by, now, "why"))
		m.status, m.last, m.agent, m.assigned, m.hold = "assigned", m.agent, s.to, now, 0
		m.epoch++
	case "Requeue":
		if s.queue != "" {
			m.queue = s.queue
		}
		m.transfers = lastOf(16, m.transfers, fmt.Sprintf("%s>%s queue by %q at %d: %q", m.agent, m.queue, s.by, now, "why"))
		m.leave(now)
	case "Decline":
		if m.status != "assigned" {
			return "not_now"
		}
		if !slices.Contains(m.declined, m.agent) {
			m.declined = lastOf(16, m.declined, m.agent)
		}
		m.leave(now)
	case "Reply":
		if m.status == "assigned" {
			m.status = "active"
		}
		m.replied, m.declined = now, nil
		if m.first == 0 {
			m.first = now
		}
	case "VisitorWrites":
		if m.status == "on_hold" {
			m.status = "active"
		}
		m.visitor, m.hold = now, 0
	case "Hold":
		if m.status != "active" {
			return map[string]string{"on_hold": kept, "assigned": "not_now"}[m.status]
		}
		m.status, m.hold = "on_hold", now
	case "Resume":
		if m.status != "on_hold" {
			return map[string]string{"active": kept, "assigned": "not_now"}[m.status]
		}
		m.status, m.hold, m.resumed = "active", 0, now
	case "SetPriority":
		if m.priority == s.number {
			return kept
		}
		m.priority = s.number
	case "SetMerchant":
		if m.merchant == s.queue {
			return kept
		}
		m.merchant = s.queue
	case "Fence":
		if m.epoch > s.epoch {
			return kept
		}
		m.epoch = s.epoch + 1
	default:
		return m.endOrBegin(s, now)
	}
	return changed
}

// leave is the session's way back into the queue.
func (m *model) leave(now int64) {
	m.status, m.last, m.agent = "queued", m.agent, ""
	m.queued, m.taken, m.assigned, m.hold = now, 0, 0, 0
	m.epoch++
}

func (m *model) endOrBegin(s step, now int64) string {
	reason := "visitor"
	switch s.op {
	case "CloseIdle":
		if reason = m.idle(s); reason == "" {
			return "not_idle"
		}
		fallthrough
	case "Close":
		if m.agent != "" {
			m.last, m.agent = m.agent, ""
		}
		m.status, m.reason, m.closed, m.hold = "closed", reason, now, 0
		m.epoch++
		if s.rate > 0 {
			m.rateUntil = now + s.rate
		}
		if s.reopen > 0 {
			m.reopenUntil = now + s.reopen
		}
	case "Rate":
		switch {
		case s.number < 1 || s.number > 5:
			return "score"
		case m.rating != "":
			return "rated"
		case now > m.rateUntil:
			return "rate_late"
		}
		m.rating = fmt.Sprintf("%d %q at %d", s.number, "so so", now)
	case "Reopen":
		switch {
		case s.epoch != m.epoch:
			return "moved_on"
		case m.rating != "":
			return "rated"
		case now > m.reopenUntil:
			return "reopen_late"
		}
		m.status, m.reason, m.closed, m.rateUntil, m.reopenUntil = "queued", "", 0, 0, 0
		m.queued, m.taken, m.assigned = now, 0, 0
		m.epoch++
	}
	return changed
}

// idle uses the clock of the closing process, which may be behind.
func (m *model) idle(s step) string {
	queue, visitor, agent := s.idle.Queue.Milliseconds(), s.idle.Visitor.Milliseconds(), s.idle.Agent.Milliseconds()
	switch {
	case m.status == "queued" && queue > 0 && s.at-m.queued >= queue:
		return "queue_timeout"
	case m.status == "active" && m.replied > m.visitor:
		if visitor > 0 && s.at-max(m.replied, m.resumed) >= visitor {
			return "visitor_idle"
		}
	case m.status == "assigned" || m.status == "active":
		if agent > 0 && s.at-max(m.visitor, m.assigned, m.resumed) >= agent {
			return "agent_idle"
		}
	}
	return ""
}

// opened is the model of a session that was just made.
func opened(s step, status string) model {
	m := model{version: 1, status: status, queue: s.queue, created: s.at, updated: s.at, applied: []string{s.id + " Open"}}
	if status == "queued" {
		m.queued = s.at
	}
	return m
}

// run runs the step on the stored session.
func (s step) run(n *session.Session) error {
	at, windows := domains.Time(s.at), s.windows()
	switch s.op {
	case "Escalate":
		return n.Escalate(at, s.queue)
	case "Assign":
		return n.Assign(at, s.to, s.epoch)
	case "Transfer":
		return n.Transfer(at, s.to, s.epoch, s.by, "why")
	case "Requeue":
		return n.Requeue(at, s.agent, s.queue, s.by, "why")
	case "Decline":
		return n.Decline(at, s.agent)
	case "Reply":
		return n.Reply(at, s.agent)
	case "VisitorWrites":
		return n.VisitorWrites(at)
	case "Hold":
		return n.Hold(at, s.agent)
	case "Resume":
		return n.Resume(at, s.agent)
	case "SetPriority":
		return n.SetPriority(at, s.number)
	case "SetMerchant":
		return n.SetMerchant(at, s.queue)
	case "Close":
		return n.Close(at, session.ByVisitor, windows)
	case "CloseIdle":
		return n.CloseIdle(at, s.idle, windows)
	case "Rate":
		return n.Rate(at, session.Rating{Score: s.number, Comment: "so so"})
	case "Reopen":
		return n.Reopen(at, s.epoch)
	}
	return n.Fence(at, s.epoch)
}

// broken names the first rule of the package doc that an operation breaks. It looks at two states only, and
// asks neither the model nor Session.Check.
func broken(op string, before, after session.Session) string {
	busy := after.Status == "assigned" || after.Status == "active" || after.Status == "on_hold"
	was, is := before.Status == "closed", after.Status == "closed"
	grows := before.AgentID != after.AgentID || was != is || op == "Fence"
	same := after // except the changes of a closed session
	same.Header, same.Epoch, same.Rating, same.UpdatedAt = before.Header, before.Epoch, before.Rating, before.UpdatedAt
	switch {
	case busy != (after.AgentID != ""):
		return "an agent if and only if it is assigned, active or on hold"
	case grows != (after.Epoch > before.Epoch):
		return "the epoch grows with the agent"
	case is != (after.ClosedAt != 0 && after.CloseReason != ""):
		return "a closed session has a reason and a time"
	case was && is && fmt.Sprintf("%+v", same) != fmt.Sprintf("%+v", before):
		return "a closed session stays as it is"
	case before.Rating != nil && (!is || after.Rating == nil || *after.Rating != *before.Rating):
		return "it is rated once"
	}
	for i, t := range moments(after) {
		if t < moments(before)[i] && t != 0 || t > after.UpdatedAt {
			return "times do not run backwards"
		}
	}
	return ""
}

func moments(s session.Session) []domains.Time {
	return []domains.Time{
		s.UpdatedAt, s.CreatedAt, s.QueuedAt, s.TakenAt, s.AssignedAt, s.FirstResponseAt, s.LastVisitorAt, s.LastAgentAt,
		s.HoldAt, s.ResumedAt, s.ClosedAt,
	}
}
