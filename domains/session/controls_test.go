package session_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/domains/session"
)

// The second opinion on changes can say no: each of these breaks one rule.
func TestBrokenBetween(t *testing.T) {
	type change = func(s *session.Session)
	rated := func(s *session.Session) { s.Rating = &session.Rating{Score: 3, At: s.ClosedAt} }
	for _, c := range []struct {
		name  string
		op    string
		from  session.Status
		first change // what was so before
		sound change // a sound change, made first
		wrong change
	}{
		{"no version", "SetPriority", session.Active, nil, nil, func(s *session.Session) { s.Version-- }},
		{"two versions", "SetPriority", session.Active, nil, nil, func(s *session.Session) { s.Version++ }},
		{"an epoch for nothing", "SetPriority", session.Active, nil, nil, func(s *session.Session) { s.Epoch++ }},
		{"a fence that does nothing", "Fence", session.Active, nil, func(s *session.Session) { s.Epoch++ },
			func(s *session.Session) { s.Epoch-- }},
		{"a fence that goes back", "Fence", session.Active, nil, func(s *session.Session) { s.Epoch++ },
			func(s *session.Session) { s.Epoch = 0 }},
		{"another agent at the same epoch", "Transfer", session.Active, nil, nil, func(s *session.Session) {
			s.LastAgentID, s.AgentID = s.AgentID, "ben"
		}},
		{"nobody had it last", "Transfer", session.Active, nil, func(s *session.Session) { s.Epoch++; s.LastAgentID, s.AgentID = "ann", "ben" },
			func(s *session.Session) { s.LastAgentID = "" }},
		{"two epochs at once", "Transfer", session.Active, nil, func(s *session.Session) { s.Epoch++; s.LastAgentID, s.AgentID = "ann", "ben" },
			func(s *session.Session) { s.Epoch++ }},
		{"reopened at the same epoch", "Reopen", session.Closed, nil, nil, func(s *session.Session) {
			s.Status, s.ClosedAt, s.CloseReason = session.Queued, 0, ""
		}},
		{"the clock runs backwards", "SetPriority", session.Active, nil, nil, func(s *session.Session) { s.UpdatedAt-- }},
		{"created again", "SetPriority", session.Active, nil, nil, func(s *session.Session) { s.CreatedAt++ }},
		{"a time runs backwards", "Reply", session.Active, nil, nil, func(s *session.Session) { s.LastAgentAt-- }},
		{"a time that is not the operation's", "Reply", session.Active, nil, func(s *session.Session) { s.UpdatedAt = at(9) },
			func(s *session.Session) { s.LastAgentAt = at(8) }},
		{"a time after the operation's", "Reply", session.Active, nil, nil, func(s *session.Session) { s.LastAgentAt = s.UpdatedAt + 1 }},
		{"a second first response", "Reply", session.Active, nil, func(s *session.Session) { s.UpdatedAt = at(9) },
			func(s *session.Session) { s.FirstResponseAt = at(9) }},
		{"on hold since never", "Reply", session.OnHold, nil, nil, func(s *session.Session) { s.HoldAt = 0 }},
		{"a second rating", "Rate", session.Closed, rated, nil, func(s *session.Session) {
			s.Rating = &session.Rating{Score: 5, At: s.ClosedAt}
		}},
		{"no rating any more", "Fence", session.Closed, rated, func(s *session.Session) { s.Epoch++ },
			func(s *session.Session) { s.Rating = nil }},
		{"closed, and changed", "SetPriority", session.Closed, nil, nil, func(s *session.Session) { s.Priority++ }},
		{"closed for another reason", "Close", session.Closed, nil, nil, func(s *session.Session) { s.CloseReason = "system" }},
	} {
		before := made(t, c.from)
		if c.first != nil {
			c.first(&before)
		}
		after := before
		after.Version++
		if c.sound != nil {
			c.sound(&after)
			require.Empty(t, brokenBetween(c.op, &before, after), c.name)
		}
		c.wrong(&after)
		assert.NotEmpty(t, brokenBetween(c.op, &before, after), c.name)
	}
	fresh := session.Session{Status: session.Queued}
	assert.NotEmpty(t, brokenBetween("Open", nil, fresh), "a new session without a version")
	fresh.Version = 1
	assert.Empty(t, brokenBetween("Open", nil, fresh))
	fresh.AssignedAt = at(0)
	assert.NotEmpty(t, brokenBetween("Open", nil, fresh), "a new session that is somebody's")
}
