package session

import (
	"fmt"
	"time"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/rmw"
)

// Windows limits the time after the closing in which a session can be rated and reopened; 0 is never.
type Windows struct {
	Rate, Reopen time.Duration
}

// Close closes the session in any state; reason has 1 to 256 bytes. A Close of a closed session changes nothing: the
// first reason stays.
func (s *Session) Close(at domains.Time, reason Reason, windows Windows) error {
	return s.end("Close", at, reason, windows)
}

func (s *Session) end(op string, at domains.Time, reason Reason, windows Windows) error {
	if s.Status == Closed {
		return rmw.Keep
	}
	if reason == "" {
		return fmt.Errorf("%w: the reason of the closing is empty", rmw.ErrInvalid)
	}
	if err := s.move(op, domains.CheckText("reason", string(reason), maxReason)); err != nil {
		return err
	}
	s.ClosedAt, s.CloseReason = s.touch(at), reason
	s.RateUntil, s.ReopenUntil = until(s.ClosedAt, windows.Rate), until(s.ClosedAt, windows.Reopen)
	if s.AgentID != "" {
		s.LastAgentID, s.AgentID = s.AgentID, ""
	}
	s.HoldAt = 0
	s.Epoch++
	return nil
}

// until returns the end of a window, or t if that end is after 9999: a session whose clock is far ahead can be
// closed, too.
func until(t domains.Time, d time.Duration) domains.Time {
	end := t.Add(d)
	switch {
	case d <= 0:
		return 0
	case !end.Valid():
		return t
	}
	return end
}

// Idle holds the times without a message after which a session is idle; 0 is no limit.
type Idle struct {
	Queue   time.Duration // of a queued session: since QueuedAt
	Visitor time.Duration // while the visitor's message is due: since the agent wrote or resumed the session
	Agent   time.Duration // while the agent's message is due: since the visitor wrote, or the agent got or resumed the session
}

// IdleFor returns the reason for which CloseIdle would close the session, or "" if the session is not idle. The
// visitor's message is due if the agent wrote last. A session on hold or with a bot is never idle.
func (s *Session) IdleFor(at domains.Time, limits Idle) Reason {
	reason, since, limit := AgentIdle, max(s.LastVisitorAt, s.AssignedAt, s.ResumedAt), limits.Agent
	switch {
	case s.Status == Queued:
		reason, since, limit = QueueTimeout, s.QueuedAt, limits.Queue
	case s.Status == Active && s.LastAgentAt > s.LastVisitorAt:
		reason, since, limit = VisitorIdle, max(s.LastAgentAt, s.ResumedAt), limits.Visitor
	case s.Status != Assigned && s.Status != Active:
		return ""
	}
	if limit <= 0 || at.Sub(since) < limit {
		return ""
	}
	return reason
}

// CloseIdle closes the session if it is idle, else returns [ErrNotIdle]. It evaluates the limits again: a
// message may have come since the caller evaluated them.
func (s *Session) CloseIdle(at domains.Time, limits Idle, windows Windows) error {
	if s.Status == Closed {
		return rmw.Keep
	}
	reason := s.IdleFor(at, limits)
	if reason == "" {
		return ErrNotIdle
	}
	return s.end("CloseIdle", at, reason, windows)
}

// Rate stores the visitor's rating of a closed session, once, within [Windows] Rate. It sets rating.At.
func (s *Session) Rate(at domains.Time, rating Rating) error {
	if s.Status != Closed {
		return ErrNotClosed
	}
	if !rating.inRange() {
		return fmt.Errorf("%w: not %d", ErrScore, rating.Score)
	}
	if err := domains.CheckText("comment", rating.Comment, maxComment); err != nil {
		return err
	}
	switch {
	case s.Rating != nil:
		return ErrRated
	case s.RateUntil == 0:
		return fmt.Errorf("%w: it cannot be rated", ErrRateLate)
	case s.now(at) > s.RateUntil:
		return fmt.Errorf("%w: it was until %v", ErrRateLate, s.RateUntil)
	}
	if err := s.move("Rate"); err != nil {
		return err
	}
	rating.At = s.touch(at)
	s.Rating = &rating
	return nil
}

// Reopen queues a closed session again, provided that the session still has the given epoch, else returns
// [ErrMovedOn]. It does not check that the visitor has no other open session: desk.Reopen does.
func (s *Session) Reopen(at domains.Time, epoch uint64) error {
	if s.Status != Closed {
		return ErrNotClosed
	}
	if err := s.at(epoch); err != nil {
		return err
	}
	switch {
	case s.Rating != nil:
		return ErrRated
	case s.ReopenUntil == 0:
		return fmt.Errorf("%w: it cannot be reopened", ErrReopenLate)
	case s.now(at) > s.ReopenUntil:
		return fmt.Errorf("%w: it was until %v", ErrReopenLate, s.ReopenUntil)
	}
	if err := s.move("Reopen"); err != nil {
		return err
	}
	s.ClosedAt, s.CloseReason, s.RateUntil, s.ReopenUntil = 0, "", 0, 0
	s.QueuedAt, s.TakenAt, s.AssignedAt = s.touch(at), 0, 0
	s.Epoch++
	s.reopened = true
	return nil
}
