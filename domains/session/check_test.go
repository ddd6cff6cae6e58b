package session_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/domains/session"
	"github.com/unwatch/unwatch/rmw"
)

// broken is a session that breaks one rule.
type broken struct {
	name   string
	status session.Status
	by     func(s *session.Session)
	header bool // the rule is one of all entities, which Check does not repeat
}

func brokenSessions() []broken {
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
	late := domains.Time(253402300800000)
	cases := []broken{
		{"no id", session.Active, func(s *session.Session) { s.ID = "" }, false},
		{"a long id", session.Active, func(s *session.Session) { s.ID = long }, false},
		{"no status", session.Active, func(s *session.Session) { s.Status = "" }, false},
		{"another status", session.Active, func(s *session.Session) { s.Status = "done" }, false},
		{"active without an agent", session.Active, func(s *session.Session) { s.AgentID = "" }, false},
		{"on hold without an agent", session.OnHold, func(s *session.Session) { s.AgentID = "" }, false},
		{"assigned without an agent", session.Assigned, func(s *session.Session) { s.AgentID = "" }, false},
		{"queued with an agent", session.Queued, func(s *session.Session) { s.AgentID = "ann" }, false},
		{"bot with an agent", session.Bot, func(s *session.Session) { s.AgentID = "ann" }, false},
		{"closed with an agent", session.Closed, func(s *session.Session) { s.AgentID = "ann" }, false},
		{"an epoch too many", session.Active, func(s *session.Session) { s.Epoch = session.MaxEpoch + 1 }, false},
		{"closed without a time", session.Closed, func(s *session.Session) { s.ClosedAt = 0 }, false},
		{"closed without a reason", session.Closed, func(s *session.Session) { s.CloseReason = "" }, false},
		{"open with a time of closing", session.Active, func(s *session.Session) { s.ClosedAt = at(4) }, false},
		{"open with a reason of closing", session.Active, func(s *session.Session) { s.CloseReason = "agent" }, false},
		{"a long reason of closing", session.Closed, func(s *session.Session) { s.CloseReason = session.Reason(long) }, false},
		{"rated while it is open", session.Active, func(s *session.Session) { s.Rating = &session.Rating{Score: 3} }, false},
		{"a score of 0", session.Closed, rating(func(r *session.Rating) { r.Score = 0 }), false},
		{"a score of 6", session.Closed, rating(func(r *session.Rating) { r.Score = 6 }), false},
		{"a long comment", session.Closed, rating(func(r *session.Rating) { r.Comment = long }), false},
		{"rated before it was closed", session.Closed, rating(func(r *session.Rating) { r.At-- }), false},
		{"rated late", session.Closed, rating(func(r *session.Rating) { r.At = at(65) }), false},
		{"many transfers", session.Active, func(s *session.Session) { s.Transfers = make([]session.Transfer, 17) }, false},
		{"a transfer from nobody", session.Active, transfer(func(t *session.Transfer) { t.From = long }), false},
		{"a transfer to nobody", session.Active, transfer(func(t *session.Transfer) { t.To = long }), false},
		{"a transfer by nobody", session.Active, transfer(func(t *session.Transfer) { t.By = long }), false},
		{"a transfer for long", session.Active, transfer(func(t *session.Transfer) { t.Reason = long }), false},
		{"an early transfer", session.Active, transfer(func(t *session.Transfer) { t.At = at(0) - 1 }), false},
		{"many who declined", session.Active, func(s *session.Session) { s.Declined = many(17, "a") }, false},
		{"nobody declined", session.Active, func(s *session.Session) { s.Declined = []string{""} }, false},
		{"a long name declined", session.Active, func(s *session.Session) { s.Declined = []string{long} }, false},
		{"assigned before it was queued", session.Active, func(s *session.Session) { s.AssignedAt = at(-1) }, false},
		{"assigned before it was queued again", session.Active, func(s *session.Session) { s.QueuedAt = at(2) }, false},
		{"updated before 1970", session.Active, func(s *session.Session) { s.UpdatedAt = -1 }, false},
		{"rated until after 9999", session.Closed, func(s *session.Session) { s.RateUntil = late }, false},
		{"reopened until before 1970", session.Closed, func(s *session.Session) { s.ReopenUntil = -1 }, false},
		{"a format to come", session.Active, func(s *session.Session) { s.Format = 2 }, true},
		{"a format that never was", session.Active, func(s *session.Session) { s.Format = -1 }, true},
		{"an operation without an id", session.Active, func(s *session.Session) { s.Applied = []domains.Applied{{}} }, true},
		{"an operation twice", session.Active, func(s *session.Session) {
			s.Applied = []domains.Applied{{ID: "x"}, {ID: "y"}, {ID: "x"}}
		}, true},
		{"many operations", session.Active, func(s *session.Session) {
			s.Applied = nil
			for _, id := range many(33, "op") {
				s.Applied = append(s.Applied, domains.Applied{ID: id})
			}
		}, true},
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
		cases = append(cases, broken{"a long " + name, session.Active, func(s *session.Session) { *id(s) = long }, false})
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
			broken{name + " before it was created", session.Closed, func(s *session.Session) { *moment(s) = at(0) - 1 }, false},
			broken{name + " after it was closed", session.Closed, func(s *session.Session) { *moment(s) = at(4) + 1 }, false},
			broken{name + " after 9999", session.Active, func(s *session.Session) { *moment(s) = late }, false},
			broken{name + " before 1970", session.Active, func(s *session.Session) { s.CreatedAt, *moment(s) = 0, -1 }, false})
	}
	return cases
}

// Each broken rule is reported, by Check and by the second opinion; it is not written,
// and not read.
func TestCheck(t *testing.T) {
	for _, status := range session.Transitions().States() {
		s := made(t, session.Status(status))
		assert.NoError(t, s.Check(), status)
		assert.Empty(t, brokenBy(s), status)
	}
	for _, c := range brokenSessions() {
		t.Run(c.name, func(t *testing.T) {
			s := made(t, c.status)
			c.by(&s)
			assert.NotEmpty(t, brokenBy(s), "the second opinion")
			if !c.header {
				assert.Error(t, s.Check())
				assert.NotContains(t, s.Check().Error(), long, "it quotes what is stored")
			}
			for _, layout := range layouts() {
				b := onMemory(t, layout)
				b.in(c.status)
				if !c.header { // which each change mends
					b.untouched("session:s", "an edit", func() {
						_, err := b.sessions.Settle(b.Context(), "s", minute(9), func(n *session.Session) error { *n = s; return nil })
						assert.ErrorIs(b, err, rmw.ErrInvalid)
						assert.Nil(b, domains.RefusalOf(err))
					})
				}
				if s.ID == "" { // it is read as that of the key: TestIDs
					continue
				}
				document, err := json.Marshal(s)
				require.NoError(b, err)
				b.put(string(document))
				b.unreadable()
			}
		})
	}
}

// unreadable makes sure that "s" is not read, and not written either.
func (b *bench) unreadable() {
	b.Helper()
	b.untouched("session:s", "what cannot be read", func() {
		_, err := b.sessions.Get(b.Context(), "s")
		assert.ErrorIs(b, err, rmw.ErrUndecodable)
		assert.NotErrorIs(b, err, rmw.ErrInvalid)
		assert.Nil(b, domains.RefusalOf(err), "%v", err)
		_, err = b.sessions.VisitorWrites(b.Context(), "s", b.op(9))
		assert.ErrorIs(b, err, rmw.ErrUndecodable)
		_, err = b.sessions.Abandon(b.Context(), "s", minute(9), "v")
		assert.ErrorIs(b, err, rmw.ErrUndecodable)
	})
}

// The rules of an entry of the index.
func TestCheckVisitor(t *testing.T) {
	sound := session.Visitor{ID: "v", SessionID: "s", State: session.Reserved, Until: at(1)}
	require.NoError(t, sound.Check())
	for name, by := range map[string]func(v *session.Visitor){
		"no id":              func(v *session.Visitor) { v.ID = "" },
		"a long id":          func(v *session.Visitor) { v.ID = long },
		"no session":         func(v *session.Visitor) { v.SessionID = "" },
		"a garbled session":  func(v *session.Visitor) { v.SessionID = garbled },
		"no state":           func(v *session.Visitor) { v.State = "" },
		"another state":      func(v *session.Visitor) { v.State = "gone" },
		"an epoch too many":  func(v *session.Visitor) { v.Epoch = session.MaxEpoch + 1 },
		"an end before 1970": func(v *session.Visitor) { v.Until = -1 },
		"an end after 9999":  func(v *session.Visitor) { v.Until = 253402300800000 },
	} {
		v := sound
		by(&v)
		assert.Error(t, v.Check(), name)
	}
}
