package session

import (
	"slices"

	"github.com/unwatch/unwatch/domains"
)

// Transitions returns the session's transition table.
func Transitions() domains.Table { return transitions.Clone() }

var (
	held    = []string{string(Assigned), string(Active), string(OnHold)}
	present = append([]string{string(Bot), string(Queued)}, held...)
	every   = append(slices.Clone(present), string(Closed))
	busy    = []string{string(Queued), string(Assigned), string(Active)}
)

var transitions = domains.Table{Entity: "session", Rows: []domains.Transition{
	{Op: "Open", To: string(Bot), When: "a bot answers first"},
	{Op: "Open", To: string(Queued)},
	{Op: "Abandon", To: string(Closed), When: "if there is no such session; epoch 1"},
	{Op: "Escalate", From: []string{string(Bot)}, To: string(Queued)},
	{Op: "Assign", From: []string{string(Queued)}, To: string(Assigned), When: "at the epoch that was seen; epoch + 1"},
	{Op: "Reply", From: []string{string(Assigned)}, To: string(Active), When: "by its agent"},
	{Op: "Reply", From: []string{string(Active), string(OnHold)}, When: "by its agent"},
	{Op: "Decline", From: []string{string(Assigned)}, To: string(Queued), When: "by its agent; epoch + 1"},
	{Op: "Hold", From: []string{string(Active)}, To: string(OnHold), When: "by its agent"},
	{Op: "Resume", From: []string{string(OnHold)}, To: string(Active), When: "by its agent"},
	{Op: "VisitorWrites", From: []string{string(OnHold)}, To: string(Active)},
	{Op: "VisitorWrites", From: []string{string(Bot), string(Queued), string(Assigned), string(Active)}},
	{Op: "Transfer", From: held, To: string(Assigned), When: "to another agent, at the epoch that was seen; epoch + 1"},
	{Op: "Requeue", From: held, To: string(Queued), When: "epoch + 1"},
	{Op: "Close", From: present, To: string(Closed), When: "epoch + 1"},
	{Op: "CloseIdle", From: busy, To: string(Closed), When: "idle for the limit; epoch + 1"},
	{Op: "Rate", From: []string{string(Closed)}, When: "once, in time, 1 to 5"},
	{Op: "Reopen", From: []string{string(Closed)}, To: string(Queued), When: "in time, not rated, at the epoch that was seen; epoch + 1"},
	{Op: "SetPriority", From: present},
	{Op: "SetMerchant", From: present},
	{Op: "Fence", From: every, When: "epoch above the given one, unless it is already"},
}}

var states = transitions.States()
