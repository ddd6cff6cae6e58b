package session_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/domains/session"
)

// A session is rated once, until the window has passed and not a millisecond longer.
func TestRating(t *testing.T) {
	last := at(4).Add(windows.Rate) // it was closed at minute 4
	rate := func(b *bench, moment domains.Time, score int) (session.Session, error) {
		op := b.op(0)
		op.At = moment.Time()
		return b.sessions.Rate(b.Context(), "s", op, score, "so so")
	}
	each(t, func(b *bench) {
		closed := b.in(session.Closed)
		require.Equal(b, last, closed.RateUntil)
		b.untouched("session:s", "a late rating", func() {
			_, err := rate(b, last+1, 5)
			assert.ErrorIs(b, err, session.ErrRateLate)
			assert.ErrorContains(b, err, last.String())
		})
		s, err := rate(b, last, 1)
		require.NoError(b, err)
		assert.Equal(b, &session.Rating{Score: 1, Comment: "so so", At: last}, s.Rating)
		assert.Equal(b, closed.Epoch, s.Epoch)
		for _, moment := range []domains.Time{last, last + 1, at(5)} {
			b.untouched("session:s", "a second rating", func() {
				_, err := rate(b, moment, 5)
				assert.ErrorIs(b, err, session.ErrRated)
			})
		}
	})
	each(t, func(b *bench) { // a clock that is behind: the rating counts from the closing
		b.in(session.Closed)
		s, err := rate(b, at(-100), 5)
		require.NoError(b, err)
		assert.Equal(b, at(4), s.Rating.At)
	})
	each(t, func(b *bench) { // the window has passed for whoever looked at the session before
		closed := b.in(session.Closed)
		_, err := b.sessions.Fence(b.Context(), "s", last.Time().Add(time.Minute), closed.Epoch)
		require.NoError(b, err)
		b.untouched("session:s", "a late rating", func() {
			_, err := rate(b, at(5), 5)
			assert.ErrorIs(b, err, session.ErrRateLate)
		})
	})
}

// Without windows, a session is not rated and not reopened.
func TestNoWindows(t *testing.T) {
	eachWith(t, session.Config{RateWindow: -1}, func(b *bench) {
		b.in(session.Queued)
		s := b.edit(5, func(s *session.Session, at domains.Time) error {
			return s.Close(at, session.ByVisitor, b.sessions.Windows())
		})
		assert.Zero(b, s.RateUntil)
		assert.Zero(b, s.ReopenUntil)
		b.untouched("session:s", "Rate and Reopen", func() {
			_, err := b.sessions.Rate(b.Context(), "s", b.op(5), 5, "")
			assert.ErrorIs(b, err, session.ErrRateLate)
			_, err = b.sessions.Edit(b.Context(), "s", b.op(5), func(s2 *session.Session) error { return s2.Reopen(at(5), s.Epoch) })
			assert.ErrorIs(b, err, session.ErrReopenLate)
		})
	})
}

// A session is reopened in time, at the epoch that was seen, and not once it is rated.
func TestReopen(t *testing.T) {
	last := at(4).Add(windows.Reopen)
	reopen := func(b *bench, moment domains.Time, epoch uint64) (session.Session, error) {
		return b.sessions.Edit(b.Context(), "s", b.op(0), func(s *session.Session) error { return s.Reopen(moment, epoch) })
	}
	each(t, func(b *bench) {
		closed := b.in(session.Closed)
		b.untouched("session:s", "a late Reopen", func() {
			_, err := reopen(b, last+1, closed.Epoch)
			assert.ErrorIs(b, err, session.ErrReopenLate)
			assert.ErrorContains(b, err, last.String())
		})
		b.untouched("session:s", "a late Reopen at another epoch", func() {
			_, err := reopen(b, last+1, closed.Epoch-1)
			assert.ErrorIs(b, err, session.ErrMovedOn)
		})
		s, err := reopen(b, last, closed.Epoch)
		require.NoError(b, err)
		assert.Equal(b, session.Queued, s.Status)
		assert.Equal(b, last, s.QueuedAt)
		assert.Equal(b, "ann", s.LastAgentID)
		assert.Equal(b, at(2), s.FirstResponseAt, "the first answer stays the first")

		// It is a session like any other, and ends like any.
		for n, step := range []func(s *session.Session, at domains.Time) error{
			func(s *session.Session, at domains.Time) error { return s.Assign(at, "ben", s.Epoch) },
			func(s *session.Session, at domains.Time) error { return s.Reply(at, "ben") },
			func(s *session.Session, at domains.Time) error { return s.Close(at, session.ByVisitor, windows) },
		} {
			s = b.edit(60+n, step)
		}
		assert.Equal(b, at(62), s.ClosedAt)
		assert.Equal(b, session.ByVisitor, s.CloseReason)
		assert.Equal(b, at(62).Add(windows.Rate), s.RateUntil)
		_, err = b.sessions.Rate(b.Context(), "s", b.op(70), 4, "")
		require.NoError(b, err)
		b.untouched("session:s", "Reopen of a rated one", func() {
			_, err := reopen(b, at(71), s.Epoch)
			assert.ErrorIs(b, err, session.ErrRated)
		})
	})
	each(t, func(b *bench) {
		closed := b.in(session.Closed)
		s, err := b.sessions.Fence(b.Context(), "s", last.Time().Add(time.Minute), closed.Epoch)
		require.NoError(b, err)
		b.untouched("session:s", "Reopen by a clock that is behind", func() {
			_, err := reopen(b, at(5), s.Epoch)
			assert.ErrorIs(b, err, session.ErrReopenLate)
		})
	})
}

// A session that has seen a clock far ahead can still be closed.
func TestCloseAtTheEndOfTime(t *testing.T) {
	end := domains.At(time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC))
	each(t, func(b *bench) {
		b.in(session.Active)
		b.edit(5, func(s *session.Session, _ domains.Time) error { return s.VisitorWrites(end) })
		s := b.edit(6, func(s *session.Session, at domains.Time) error { return s.Close(at, session.ByAgent, windows) })
		assert.Equal(b, end, s.ClosedAt)
		assert.Equal(b, end, s.RateUntil)
		_, err := b.sessions.Rate(b.Context(), "s", b.op(7), 5, "")
		assert.NoError(b, err)
	})
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

// Who is idle, since when, and not a millisecond too early.
func TestCloseIdle(t *testing.T) {
	limits := session.Idle{Queue: 30 * time.Minute, Visitor: 20 * time.Minute, Agent: 5 * time.Minute}
	for _, c := range idleCases() {
		t.Run(c.name, func(t *testing.T) {
			each(t, func(b *bench) {
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

// CloseIdle looks again: who has written since the caller looked keeps the session
// open.
func TestSomebodyWroteMeanwhile(t *testing.T) {
	limits := session.Idle{Visitor: 5 * time.Minute, Agent: 5 * time.Minute}
	each(t, func(b *bench) {
		seen := b.in(session.Active)
		require.Equal(b, session.VisitorIdle, seen.IdleFor(at(10), limits))
		_, err := b.sessions.VisitorWrites(b.Context(), "s", b.op(10))
		require.NoError(b, err)
		b.untouched("session:s", "CloseIdle", func() {
			_, err := b.sessions.Edit(b.Context(), "s", b.op(10), func(s *session.Session) error {
				return s.CloseIdle(at(10), limits, windows)
			})
			assert.ErrorIs(b, err, session.ErrNotIdle)
		})
	})
}
