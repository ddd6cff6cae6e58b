package session

import (
	"github.com/unwatch/unwatch/domains"
)

// Session is one customer-service session. The methods that change it are the operations; the methods of
// [Sessions] and of desk.Desk with the same names store the result.
type Session struct {
	domains.Header
	ID        string `json:"id"`
	TenantID  string `json:"tenant_id,omitempty"`
	VisitorID string `json:"visitor_id,omitempty"`
	RoomID    string `json:"room_id,omitempty"`
	QueueID   string `json:"queue_id,omitempty"`
	// MerchantID is the merchant that the conversation is about, on a market place where one group of agents
	// serves several merchants.
	MerchantID string `json:"merchant_id,omitempty"`
	Status     Status `json:"status"`
	// Priority orders a queue; higher comes first.
	Priority int `json:"priority,omitempty"`

	// AgentID is the present agent, LastAgentID the previous one.
	AgentID     string `json:"agent_id,omitempty"`
	LastAgentID string `json:"last_agent_id,omitempty"`
	// Epoch is the fencing token: it grows with every change of the agent, closing, reopening and Fence.
	Epoch uint64 `json:"epoch,omitempty"`
	// Declined holds the agents that declined since the last reply, at most 16.
	Declined []string `json:"declined,omitempty"`
	// Transfers holds the last transfers and requeues, at most 16.
	Transfers []Transfer `json:"transfers,omitempty"`

	CreatedAt domains.Time `json:"created_at,omitempty"`
	// QueuedAt is the last queueing, TakenAt the assignment from that queue, and AssignedAt the assignment to
	// the present agent, which is later after a transfer.
	QueuedAt   domains.Time `json:"queued_at,omitempty"`
	TakenAt    domains.Time `json:"taken_at,omitempty"`
	AssignedAt domains.Time `json:"assigned_at,omitempty"`
	// FirstResponseAt is the first reply of an agent; it is set once.
	FirstResponseAt domains.Time `json:"first_response_at,omitempty"`
	LastVisitorAt   domains.Time `json:"last_visitor_at,omitempty"`
	LastAgentAt     domains.Time `json:"last_agent_at,omitempty"`
	// HoldAt is the beginning of the present hold, ResumedAt the agent's last Resume.
	HoldAt    domains.Time `json:"hold_at,omitempty"`
	ResumedAt domains.Time `json:"resumed_at,omitempty"`
	// UpdatedAt is the time of the last operation of this package.
	UpdatedAt domains.Time `json:"updated_at,omitempty"`

	ClosedAt    domains.Time `json:"closed_at,omitempty"`
	CloseReason Reason       `json:"close_reason,omitempty"`
	// RateUntil and ReopenUntil end the windows of a closed session; zero means never.
	RateUntil   domains.Time `json:"rate_until,omitempty"`
	ReopenUntil domains.Time `json:"reopen_until,omitempty"`
	Rating      *Rating      `json:"rating,omitempty"`

	Unknown domains.Unknown `json:"-"`

	reopened bool // by the present update
}

// Status is the state of a session.
type Status string

// The states of a session.
const (
	Bot      Status = "bot"      // a bot answers
	Queued   Status = "queued"   // waiting for an agent
	Assigned Status = "assigned" // an agent has the session, and has not answered yet
	Active   Status = "active"   // the agent has answered
	OnHold   Status = "on_hold"  // until the visitor writes
	Closed   Status = "closed"
)

// Reason is the reason of a closing, at most 256 bytes. A service may use others than the constants.
type Reason string

// The reasons.
const (
	ByAgent      Reason = "agent"
	ByVisitor    Reason = "visitor"
	VisitorIdle  Reason = "visitor_idle"
	AgentIdle    Reason = "agent_idle"
	QueueTimeout Reason = "queue_timeout"
	Abandoned    Reason = "abandoned" // closed before it was created
	BySystem     Reason = "system"
)

// Rating is the visitor's rating of a session.
type Rating struct {
	Score   int          `json:"score"`             // 1 to 5
	Comment string       `json:"comment,omitempty"` // at most 4096 bytes
	At      domains.Time `json:"at,omitempty"`

	Unknown domains.Unknown `json:"-"`
}

// Transfer is one transfer to an agent or to a queue.
type Transfer struct {
	From string `json:"from,omitempty"`
	// To is the new agent or queue.
	To   string       `json:"to,omitempty"`
	Kind TransferKind `json:"kind,omitempty"`
	// By is the id of the requester; empty is the system.
	By     string       `json:"by,omitempty"`
	At     domains.Time `json:"at,omitempty"`
	Reason string       `json:"reason,omitempty"` // at most 256 bytes

	Unknown domains.Unknown `json:"-"`
}

// TransferKind is the kind of a transfer's destination.
type TransferKind string

// The kinds of transfer.
const (
	ToAgent TransferKind = "agent"
	ToQueue TransferKind = "queue"
)

const (
	maxComment   = 4096 // bytes
	maxReason    = 256  // bytes
	maxTransfers = 16   // older ones are dropped
	maxDeclined  = 16   // older ones are dropped
	// maxEpoch is the last epoch: the largest integer that a JSON number holds in every language.
	maxEpoch = 1<<53 - 1
)

// Held reports whether an agent has the session.
func (s *Session) Held() bool {
	return s.Status == Assigned || s.Status == Active || s.Status == OnHold
}
