package session

import (
	"github.com/unwatch/unwatch/domains"
)

// Session is one customer-service session. Its exported methods that change it are
// the operations; a [Sessions] stores what they do.
type Session struct {
	domains.Header
	ID        string `json:"id"`
	TenantID  string `json:"tenant_id,omitempty"`
	VisitorID string `json:"visitor_id,omitempty"`
	RoomID    string `json:"room_id,omitempty"`
	QueueID   string `json:"queue_id,omitempty"`
	// MerchantID is whom the conversation is about: on a market place, one of the
	// merchants that the same agents serve ("virtual merchant").
	MerchantID string `json:"merchant_id,omitempty"`
	Status     Status `json:"status"`
	// Priority orders a queue; higher comes first.
	Priority int `json:"priority,omitempty"`

	// AgentID is who has the session now, LastAgentID who had it last.
	AgentID     string `json:"agent_id,omitempty"`
	LastAgentID string `json:"last_agent_id,omitempty"`
	// Epoch is the fence: see the package's rules.
	Epoch uint64 `json:"epoch,omitempty"`
	// Declined are the agents who did not want it since it was last answered.
	Declined []string `json:"declined,omitempty"`
	// Transfers are the last changes of the agent, at most MaxTransfers.
	Transfers []Transfer `json:"transfers,omitempty"`

	CreatedAt domains.Time `json:"created_at,omitempty"`
	// QueuedAt is when it was last queued, TakenAt when an agent got it from there, and
	// AssignedAt when the present agent got it, which is later after a transfer.
	QueuedAt   domains.Time `json:"queued_at,omitempty"`
	TakenAt    domains.Time `json:"taken_at,omitempty"`
	AssignedAt domains.Time `json:"assigned_at,omitempty"`
	// FirstResponseAt is when an agent first answered; it is set once.
	FirstResponseAt domains.Time `json:"first_response_at,omitempty"`
	LastVisitorAt   domains.Time `json:"last_visitor_at,omitempty"`
	LastAgentAt     domains.Time `json:"last_agent_at,omitempty"`
	// HoldAt is since when it is on hold, ResumedAt when its agent last took it up again.
	HoldAt    domains.Time `json:"hold_at,omitempty"`
	ResumedAt domains.Time `json:"resumed_at,omitempty"`
	// UpdatedAt is the latest time that an operation of this package has seen.
	UpdatedAt domains.Time `json:"updated_at,omitempty"`

	ClosedAt    domains.Time `json:"closed_at,omitempty"`
	CloseReason Reason       `json:"close_reason,omitempty"`
	// RateUntil and ReopenUntil are set on closing; zero means never.
	RateUntil   domains.Time `json:"rate_until,omitempty"`
	ReopenUntil domains.Time `json:"reopen_until,omitempty"`
	Rating      *Rating      `json:"rating,omitempty"`

	Unknown domains.Unknown `json:"-"`

	reopened bool // just now
}

// Status says where a session stands.
type Status string

// The states of a session.
const (
	Bot      Status = "bot"      // a program answers
	Queued   Status = "queued"   // waiting for an agent
	Assigned Status = "assigned" // an agent has it and has not answered yet
	Active   Status = "active"   // the agent has answered
	OnHold   Status = "on_hold"  // set aside until the visitor writes
	Closed   Status = "closed"
)

// Reason says why a session is closed. Other texts are kept as they are.
type Reason string

// The reasons.
const (
	ByAgent      Reason = "agent"
	ByVisitor    Reason = "visitor"
	VisitorIdle  Reason = "visitor_idle"
	AgentIdle    Reason = "agent_idle"
	QueueTimeout Reason = "queue_timeout"
	Abandoned    Reason = "abandoned" // never came to be
	BySystem     Reason = "system"
)

// Rating is what the visitor thought of it.
type Rating struct {
	Score   int          `json:"score"` // 1 to 5
	Comment string       `json:"comment,omitempty"`
	At      domains.Time `json:"at,omitempty"`

	Unknown domains.Unknown `json:"-"`
}

// Transfer is one change of the agent.
type Transfer struct {
	From string `json:"from,omitempty"`
	// To is the agent, or the queue, who has it then.
	To   string       `json:"to,omitempty"`
	Kind TransferKind `json:"kind,omitempty"`
	// By is who wanted it; empty is the system.
	By     string       `json:"by,omitempty"`
	At     domains.Time `json:"at,omitempty"`
	Reason string       `json:"reason,omitempty"`

	Unknown domains.Unknown `json:"-"`
}

// TransferKind says where a session went.
type TransferKind string

// The kinds of transfer.
const (
	ToAgent TransferKind = "agent"
	ToQueue TransferKind = "queue"
)

// Limits of what a session stores.
const (
	MaxTransfers = 16   // older ones are dropped
	MaxDeclined  = 16   // older ones are dropped
	MaxComment   = 4096 // bytes
	MaxReason    = 256  // bytes
	// MaxEpoch is the last epoch there is: what every language reads as a number.
	MaxEpoch = 1<<53 - 1
)

// Held reports whether an agent has the session.
func (s *Session) Held() bool {
	return s.Status == Assigned || s.Status == Active || s.Status == OnHold
}
