package session_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/domains/session"
)

// A closed session is rated and reopened until the window has passed, and not a millisecond longer; never if
// there is no window. A clock that is behind does not help.
func TestWindowsEnd(t *testing.T) {
	rate := func(s *session.Session, at domains.Time) error { return s.Rate(at, session.Rating{Score: 5}) }
	reopen := func(s *session.Session, at domains.Time) error { return s.Reopen(at, s.Epoch) }
	for _, c := range []struct {
		op     func(s *session.Session, at domains.Time) error
		window time.Duration
		late   error
	}{{rate, windows.Rate, session.ErrRateLate}, {reopen, windows.Reopen, session.ErrReopenLate}} {
		last := at(4).Add(c.window) // it was closed at minute 4
		s := made(t, session.Closed)
		err := c.op(&s, last+1)
		require.ErrorIs(t, err, c.late)
		require.ErrorContains(t, err, "it was until "+last.String())
		require.NoError(t, c.op(&s, last))

		s = made(t, session.Closed)
		require.NoError(t, s.Fence(last+1, s.Epoch))
		require.ErrorIs(t, c.op(&s, at(5)), c.late, "a clock that is behind")

		s = made(t, session.Active)
		require.NoError(t, s.Close(at(4), session.ByAgent, session.Windows{}))
		err = c.op(&s, at(4))
		require.ErrorIs(t, err, c.late, "no window")
		require.ErrorContains(t, err, ": it cannot be ")
	}
	s, end := made(t, session.Active), domains.At(time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC))
	require.NoError(t, s.VisitorWrites(end))
	require.NoError(t, s.Close(at(5), session.ByAgent, windows), "a session that has seen a clock far ahead can still be closed")
	require.NoError(t, s.Check())
	assert.Equal(t, end, s.RateUntil)
}

// idleCase is a session, and the minute from which it is idle.
type idleCase struct {
	name string
	from session.Status
	// then happens to it, each step a minute after the other, from minute 10 on.
	then  []func(s *session.Session, at domains.Time) error
	from0 int // since when it counts
	limit time.Duration
	want  session.Reason
}

func idleCases() []idleCase {
	type steps = []func(s *session.Session, at domains.Time) error
	reply := func(s *session.Session, at domains.Time) error { return s.Reply(at, s.AgentID) }
	visitor := func(s *session.Session, at domains.Time) error { return s.VisitorWrites(at) }
	hold := func(s *session.Session, at domains.Time) error { return s.Hold(at, "ann") }
	resume := func(s *session.Session, at domains.Time) error { return s.Resume(at, "ann") }
	transfer := func(s *session.Session, at domains.Time) error { return s.Transfer(at, "ben", s.Epoch, "", "") }
	requeue := func(s *session.Session, at domains.Time) error { return s.Requeue(at, "", "", "", "") }
	replyAndTransfer := func(s *session.Session, at domains.Time) error {
		return domains.Steps(func() error { return reply(s, at) }, func() error { return transfer(s, at) })
	}
	const queue, turn, answer = 30 * time.Minute, 20 * time.Minute, 5 * time.Minute
	return []idleCase{
		{"queued", session.Queued, nil, 0, queue, session.QueueTimeout},
		{"queued, whatever the visitor writes", session.Queued, steps{visitor}, 0, queue, session.QueueTimeout},
		{"queued again", session.Active, steps{requeue}, 10, queue, session.QueueTimeout},
		{"the agent has it", session.Assigned, nil, 1, answer, session.AgentIdle},
		{"the visitor wrote since", session.Assigned, steps{visitor}, 10, answer, session.AgentIdle},
		{"the agent wrote last", session.Active, nil, 2, turn, session.VisitorIdle},
		{"the agent wrote again", session.Active, steps{visitor, reply}, 11, turn, session.VisitorIdle},
		{"the visitor wrote last", session.Active, steps{reply, visitor}, 11, answer, session.AgentIdle},
		{"another agent has it", session.Active, steps{reply, transfer}, 11, answer, session.AgentIdle},
		{"another has it in the same moment", session.Active, steps{replyAndTransfer}, 10, answer, session.AgentIdle},
		{"another wrote", session.Active, steps{transfer, reply}, 11, turn, session.VisitorIdle},
		{"resumed, the visitor's turn", session.Active, steps{reply, hold, resume}, 12, turn, session.VisitorIdle},
		{"resumed, the agent's turn", session.Active, steps{visitor, hold, resume}, 12, answer, session.AgentIdle},
		{"the visitor ended the hold", session.Active, steps{hold, visitor}, 11, answer, session.AgentIdle},
		{"on hold", session.OnHold, nil, 0, 0, ""},
		{"with a program", session.Bot, steps{visitor}, 0, 0, ""},
	}
}

// A session is idle for the right reason, and not a millisecond too early.
func TestCloseIdle(t *testing.T) {
	limits := session.Idle{Queue: 30 * time.Minute, Visitor: 20 * time.Minute, Agent: 5 * time.Minute}
	for _, c := range idleCases() {
		t.Run(c.name, func(t *testing.T) {
			each(t, func(b *fixture) {
				s := b.in(c.from)
				for i, step := range c.then {
					s = b.edit(10+i, step)
				}
				closeIdle := func(moment domains.Time, limits session.Idle) (session.Session, error) {
					return b.sessions.Edit(b.Context(), "s", b.op(0), func(s *session.Session) error {
						return s.CloseIdle(moment, limits, windows)
					})
				}
				due := at(c.from0).Add(c.limit)
				b.untouched("session:s", "too early", func() {
					_, err := closeIdle(due-1, limits)
					assert.ErrorIs(b, err, session.ErrNotIdle)
					_, err = closeIdle(at(100_000), session.Idle{})
					assert.ErrorIs(b, err, session.ErrNotIdle, "no limits")
				})
				assert.Empty(b, s.IdleFor(due-1, limits))
				if c.want == "" {
					assert.Empty(b, s.IdleFor(at(100_000), limits))
					return
				}
				assert.Equal(b, c.want, s.IdleFor(due, limits))
				closed, err := closeIdle(due, limits)
				require.NoError(b, err)
				assert.Equal(b, c.want, closed.CloseReason)
				assert.Equal(b, due, closed.ClosedAt)
				assert.Equal(b, due.Add(windows.Rate), closed.RateUntil)
			})
		})
	}
}
