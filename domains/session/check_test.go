package session_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/domains/session"
)

// violation is a session that breaks one rule.
type violation struct {
	name   string
	status session.Status
	by     func(s *session.Session)
}

func brokenSessions() []violation {
	many := func(n int, id string) []string {
		list := make([]string, n)
		for i := range list {
			list[i] = fmt.Sprint(id, i)
		}
		return list
	}
	transfer := func(change func(t *session.Transfer)) func(s *session.Session) {
		return func(s *session.Session) {
			t := session.Transfer{From: "ann", To: "ben", Kind: session.ToAgent, At: s.UpdatedAt}
			change(&t)
			s.Transfers = []session.Transfer{t}
		}
	}
	rating := func(change func(r *session.Rating)) func(s *session.Session) {
		return func(s *session.Session) {
			s.Rating = &session.Rating{Score: 3, At: s.ClosedAt}
			change(s.Rating)
		}
	}
	late := maxTime + 1
	cases := []violation{
		{"no id", session.Active, func(s *session.Session) { s.ID = "" }},
		{"a long id", session.Active, func(s *session.Session) { s.ID = long }},
		{"no status", session.Active, func(s *session.Session) { s.Status = "" }},
		{"another status", session.Active, func(s *session.Session) { s.Status = "done" }},
		{"active without an agent", session.Active, func(s *session.Session) { s.AgentID = "" }},
		{"on hold without an agent", session.OnHold, func(s *session.Session) { s.AgentID = "" }},
		{"assigned without an agent", session.Assigned, func(s *session.Session) { s.AgentID = "" }},
		{"queued with an agent", session.Queued, func(s *session.Session) { s.AgentID = "ann" }},
		{"bot with an agent", session.Bot, func(s *session.Session) { s.AgentID = "ann" }},
		{"closed with an agent", session.Closed, func(s *session.Session) { s.AgentID = "ann" }},
		{"an epoch too many", session.Active, func(s *session.Session) { s.Epoch = maxEpoch + 1 }},
		{"closed without a time", session.Closed, func(s *session.Session) { s.ClosedAt = 0 }},
		{"closed without a reason", session.Closed, func(s *session.Session) { s.CloseReason = "" }},
		{"open with a time of closing", session.Active, func(s *session.Session) { s.ClosedAt = at(4) }},
		{"open with a reason of closing", session.Active, func(s *session.Session) { s.CloseReason = "agent" }},
		{"a long reason of closing", session.Closed, func(s *session.Session) { s.CloseReason = session.Reason(long) }},
		{"rated while it is open", session.Active, func(s *session.Session) { s.Rating = &session.Rating{Score: 3} }},
		{"a score of 0", session.Closed, rating(func(r *session.Rating) { r.Score = 0 })},
		{"a score of 6", session.Closed, rating(func(r *session.Rating) { r.Score = 6 })},
		{"a long comment", session.Closed, rating(func(r *session.Rating) { r.Comment = long })},
		{"rated before it was closed", session.Closed, rating(func(r *session.Rating) { r.At-- })},
		{"rated late", session.Closed, rating(func(r *session.Rating) { r.At = at(65) })},
		{"many transfers", session.Active, func(s *session.Session) { s.Transfers = make([]session.Transfer, 17) }},
		{"a transfer from nobody", session.Active, transfer(func(t *session.Transfer) { t.From = long })},
		{"a transfer to nobody", session.Active, transfer(func(t *session.Transfer) { t.To = long })},
		{"a transfer by nobody", session.Active, transfer(func(t *session.Transfer) { t.By = long })},
		{"a transfer for long", session.Active, transfer(func(t *session.Transfer) { t.Reason = long })},
		{"an early transfer", session.Active, transfer(func(t *session.Transfer) { t.At = at(0) - 1 })},
		{"many who declined", session.Active, func(s *session.Session) { s.Declined = many(17, "a") }},
		{"nobody declined", session.Active, func(s *session.Session) { s.Declined = []string{""} }},
		{"a long name declined", session.Active, func(s *session.Session) { s.Declined = []string{long} }},
		{"assigned before it was queued", session.Active, func(s *session.Session) { s.AssignedAt = at(-1) }},
		{"assigned before it was queued again", session.Active, func(s *session.Session) { s.QueuedAt = at(2) }},
		{"updated before 1970", session.Active, func(s *session.Session) { s.UpdatedAt = -1 }},
		{"rated until after 9999", session.Closed, func(s *session.Session) { s.RateUntil = late }},
		{"reopened until before 1970", session.Closed, func(s *session.Session) { s.ReopenUntil = -1 }},
	}
	for name, id := range map[string]func(s *session.Session) *string{
		"tenant":     func(s *session.Session) *string { return &s.TenantID },
		"visitor":    func(s *session.Session) *string { return &s.VisitorID },
		"room":       func(s *session.Session) *string { return &s.RoomID },
		"queue":      func(s *session.Session) *string { return &s.QueueID },
		"merchant":   func(s *session.Session) *string { return &s.MerchantID },
		"agent":      func(s *session.Session) *string { return &s.AgentID },
		"last agent": func(s *session.Session) *string { return &s.LastAgentID },
	} {
		cases = append(cases, violation{"a long " + name, session.Active, func(s *session.Session) { *id(s) = long }})
	}
	for name, moment := range map[string]func(s *session.Session) *domains.Time{
		"queued":  func(s *session.Session) *domains.Time { return &s.QueuedAt },
		"taken":   func(s *session.Session) *domains.Time { return &s.TakenAt },
		"given":   func(s *session.Session) *domains.Time { return &s.AssignedAt },
		"reply":   func(s *session.Session) *domains.Time { return &s.FirstResponseAt },
		"visitor": func(s *session.Session) *domains.Time { return &s.LastVisitorAt },
		"agent":   func(s *session.Session) *domains.Time { return &s.LastAgentAt },
		"hold":    func(s *session.Session) *domains.Time { return &s.HoldAt },
		"resumed": func(s *session.Session) *domains.Time { return &s.ResumedAt },
	} {
		cases = append(cases,
			violation{name + " before it was created", session.Closed, func(s *session.Session) { *moment(s) = at(0) - 1 }},
			violation{name + " after it was closed", session.Closed, func(s *session.Session) { *moment(s) = at(4) + 1 }},
			violation{name + " after 9999", session.Active, func(s *session.Session) { *moment(s) = late }},
			violation{name + " before 1970", session.Active, func(s *session.Session) { s.CreatedAt, *moment(s) = 0, -1 }})
	}
	return cases
}

// A session that breaks a rule is not stored, and the error quotes no stored data.
func TestCheck(t *testing.T) {
	for _, status := range session.Transitions().States() {
		s := made(t, session.Status(status))
		assert.NoError(t, s.Check(), status)
	}
	for _, c := range brokenSessions() {
		s := made(t, c.status)
		c.by(&s)
		require.Error(t, s.Check(), c.name)
		assert.NotContains(t, s.Check().Error(), long, c.name)
	}
}

// The rules of an entry of the index.
func TestCheckVisitor(t *testing.T) {
	sound := session.Visitor{ID: "v", SessionID: "s", State: session.Reserved, Until: at(1)}
	require.NoError(t, sound.Check())
	for name, by := range map[string]func(v *session.Visitor){
		"no id":              func(v *session.Visitor) { v.ID = "" },
		"a long id":          func(v *session.Visitor) { v.ID = long },
		"no session":         func(v *session.Visitor) { v.SessionID = "" },
		"a garbled session":  func(v *session.Visitor) { v.SessionID = "\xff" },
		"no state":           func(v *session.Visitor) { v.State = "" },
		"another state":      func(v *session.Visitor) { v.State = "gone" },
		"an epoch too many":  func(v *session.Visitor) { v.Epoch = maxEpoch + 1 },
		"an end before 1970": func(v *session.Visitor) { v.Until = -1 },
		"an end after 9999":  func(v *session.Visitor) { v.Until = maxTime + 1 },
	} {
		v := sound
		by(&v)
		assert.Error(t, v.Check(), name)
	}
}
