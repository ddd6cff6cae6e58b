package session_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/domains/session"
	"github.com/unwatch/unwatch/rmw"
)

// refused is a call that must fail and write nothing.
type refused struct {
	name string
	from session.Status
	// change is an Edit of the session; call anything else.
	change func(s *session.Session) error
	call   func(b *bench) error
	want   error
}

var (
	long    = strings.Repeat("x", 5000)
	garbled = "\xff"
)

// refusals are the calls that a rule refuses in a state in which the operation itself
// would be in order. What the state refuses is in the matrix.
func refusals() []refused {
	ops := func(s *session.Session) []func(agent string) error {
		return []func(agent string) error{
			func(agent string) error { return s.Reply(at(9), agent) },
			func(agent string) error { return s.Hold(at(9), agent) },
			func(agent string) error { return s.Resume(at(9), agent) },
			func(agent string) error { return s.Decline(at(9), agent) },
			func(agent string) error { return s.Requeue(at(9), agent, "", "", "") },
		}
	}
	var cases []refused
	for i, op := range []string{"Reply", "Hold", "Resume", "Decline", "Requeue"} {
		for _, from := range []session.Status{session.Assigned, session.Active, session.OnHold} {
			cases = append(cases, refused{
				name: op + " by another", from: from, want: session.ErrNotHolder,
				change: func(s *session.Session) error { return ops(s)[i]("ben") },
			})
			if op != "Requeue" { // there, it is whoever has the session
				cases = append(cases, refused{
					name: op + " by nobody", from: from, want: rmw.ErrInvalid,
					change: func(s *session.Session) error { return ops(s)[i]("") },
				})
			}
		}
	}
	for _, epoch := range []uint64{0, 2, session.MaxEpoch} {
		cases = append(cases,
			refused{name: "Transfer at another epoch", from: session.Active, want: session.ErrMovedOn,
				change: func(s *session.Session) error { return s.Transfer(at(9), "ben", epoch, "", "") }},
			refused{name: "Reopen at another epoch", from: session.Closed, want: session.ErrMovedOn,
				change: func(s *session.Session) error { return s.Reopen(at(9), epoch+1) }},
			refused{name: "Assign at another epoch", from: session.Queued, want: session.ErrMovedOn,
				change: func(s *session.Session) error { return s.Assign(at(9), "ben", epoch+1) }})
	}
	return append(cases, []refused{
		{name: "Transfer to the same", from: session.OnHold, want: session.ErrSameAgent,
			change: func(s *session.Session) error { return s.Transfer(at(9), "ann", s.Epoch, "", "") }},
		{name: "Fence beyond the last epoch", from: session.Queued, want: rmw.ErrInvalid,
			change: func(s *session.Session) error { return s.Fence(at(9), session.MaxEpoch) }},
		{name: "Fence beyond any epoch", from: session.Queued, want: rmw.ErrInvalid,
			change: func(s *session.Session) error { return s.Fence(at(9), 1<<64-1) }},
		{name: "Close without a reason", from: session.Active, want: rmw.ErrInvalid,
			change: func(s *session.Session) error { return s.Close(at(9), "", windows) }},
		{name: "Create a session that exists", from: session.Closed, want: session.ErrSessionExists,
			call: func(b *bench) error { return created(b, session.Session{Status: session.Bot}) }},
		{name: "an edit that breaks a rule", from: session.Active, want: rmw.ErrInvalid,
			change: func(s *session.Session) error { s.AgentID = ""; return nil }},
	}...)
}

func created(b *bench, info session.Session) error {
	_, err := b.sessions.Create(b.Context(), "s", b.op(9), info)
	return err
}

func rated(b *bench, score int, comment string) error {
	_, err := b.sessions.Rate(b.Context(), "s", b.op(9), score, comment)
	return err
}

// unusable are the calls whose arguments cannot be used.
func unusable() []refused {
	cases := []refused{
		{name: "score 0", from: session.Closed, want: session.ErrScore, call: func(b *bench) error { return rated(b, 0, "") }},
		{name: "score 6", from: session.Closed, want: session.ErrScore, call: func(b *bench) error { return rated(b, 6, "") }},
		{name: "score -1", from: session.Closed, want: session.ErrScore, call: func(b *bench) error { return rated(b, -1, "") }},
	}
	for _, bad := range []string{long, garbled} {
		edits := map[string]func(s *session.Session) error{
			"Transfer to":       func(s *session.Session) error { return s.Transfer(at(9), bad, s.Epoch, "", "") },
			"Transfer by":       func(s *session.Session) error { return s.Transfer(at(9), "ben", s.Epoch, bad, "") },
			"Transfer reason":   func(s *session.Session) error { return s.Transfer(at(9), "ben", s.Epoch, "", bad) },
			"Requeue by":        func(s *session.Session) error { return s.Requeue(at(9), "", "", bad, "") },
			"Requeue reason":    func(s *session.Session) error { return s.Requeue(at(9), "", "", "", bad) },
			"Requeue to":        func(s *session.Session) error { return s.Requeue(at(9), "", bad, "", "") },
			"Close reason":      func(s *session.Session) error { return s.Close(at(9), session.Reason(bad), windows) },
			"SetMerchant":       func(s *session.Session) error { return s.SetMerchant(at(9), bad) },
			"an edited tenant":  func(s *session.Session) error { s.TenantID = bad; return nil },
			"an edited decline": func(s *session.Session) error { s.Declined = []string{bad}; return nil },
		}
		for name, change := range edits {
			cases = append(cases, refused{name: name, from: session.Active, want: rmw.ErrInvalid, change: change})
		}
		cases = append(cases,
			refused{name: "Escalate", from: session.Bot, want: rmw.ErrInvalid,
				change: func(s *session.Session) error { return s.Escalate(at(9), bad) }},
			refused{name: "Assign", from: session.Queued, want: rmw.ErrInvalid,
				change: func(s *session.Session) error { return s.Assign(at(9), bad, s.Epoch) }},
			refused{name: "comment", from: session.Closed, want: rmw.ErrInvalid,
				call: func(b *bench) error { return rated(b, 5, bad) }},
			refused{name: "Create with a tenant", want: rmw.ErrInvalid,
				call: func(b *bench) error { return created(b, session.Session{Status: session.Bot, TenantID: bad}) }},
			refused{name: "Abandon with a visitor", want: rmw.ErrInvalid, call: func(b *bench) error {
				_, err := b.sessions.Abandon(b.Context(), "s", minute(9), bad)
				return err
			}})
	}
	for _, status := range []session.Status{"", session.Assigned, session.Active, session.OnHold, session.Closed, "new"} {
		cases = append(cases, refused{name: "Create as " + string(status), want: rmw.ErrInvalid,
			call: func(b *bench) error { return created(b, session.Session{Status: status}) }})
	}
	for name, op := range map[string]domains.Op{
		"an operation without an id":   {At: minute(9)},
		"an operation without a time":  {ID: "x"},
		"an operation with a long id":  {ID: long, At: minute(9)},
		"an operation before 1970":     {ID: "x", At: time.Unix(-1, 0)},
		"an operation after year 9999": {ID: "x", At: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)},
	} {
		cases = append(cases, refused{name: name, from: session.Active, want: rmw.ErrInvalid, call: func(b *bench) error {
			_, err := b.sessions.Reply(b.Context(), "s", op, "ann")
			return err
		}})
	}
	return cases
}

// absent are calls for a session that does not exist.
func absent() []refused {
	var cases []refused
	for name, call := range map[string]func(b *bench) error{
		"Get":   func(b *bench) error { _, err := b.sessions.Get(b.Context(), "s"); return err },
		"Edit":  func(b *bench) error { _, err := b.sessions.Reply(b.Context(), "s", b.op(9), "ann"); return err },
		"Fence": func(b *bench) error { _, err := b.sessions.Fence(b.Context(), "s", minute(9), 0); return err },
		"Settle": func(b *bench) error {
			_, err := b.sessions.Settle(b.Context(), "s", minute(9), func(*session.Session) error { return nil })
			return err
		},
	} {
		cases = append(cases, refused{name: name, want: session.ErrNoSession, call: call})
	}
	return cases
}

// What a rule, or the arguments, refuse comes back as that, and writes nothing.
func TestRefusals(t *testing.T) {
	for _, c := range append(append(refusals(), unusable()...), absent()...) {
		t.Run(c.name+" of "+string(c.from), func(t *testing.T) {
			each(t, func(b *bench) {
				if c.from != "" {
					b.in(c.from)
				}
				b.untouched("session:s", c.name, func() {
					err := error(nil)
					if c.call != nil {
						err = c.call(b)
					} else {
						var s session.Session
						s, err = b.sessions.Edit(b.Context(), "s", b.op(9), c.change)
						assert.Zero(b, s)
					}
					require.ErrorIs(b, err, c.want)
					assert.Equal(b, domains.RefusalOf(c.want), domains.RefusalOf(err), "%v", err)
				})
			})
		})
	}
}

// Also without a store, an operation that is refused leaves the session as it was.
func TestRefusedLeavesTheModelAlone(t *testing.T) {
	for _, c := range append(refusals(), unusable()...) {
		if c.change == nil || strings.Contains(c.name, "edit") {
			continue
		}
		one := made(t, c.from)
		before := one
		assert.Error(t, c.change(&one), c.name)
		assert.Equal(t, before, one, c.name)
	}
}

// Each refusal has a code of its own.
func TestCodes(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range []*domains.Refusal{
		session.ErrNoSession, session.ErrSessionExists, session.ErrClosed, session.ErrNotNow, session.ErrNotHolder,
		session.ErrMovedOn, session.ErrSameAgent, session.ErrNotIdle, session.ErrNotClosed, session.ErrRated,
		session.ErrRateLate, session.ErrScore, session.ErrReopenLate,
	} {
		assert.False(t, seen[r.Code()], r.Code())
		seen[r.Code()] = true
	}
}
