package session

import (
	"fmt"
	"time"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/rmw"
)

// Windows are how long something may be done after a session was closed; 0 is never.
type Windows struct {
	Rate, Reopen time.Duration
}

// Close ends the session, whoever has it. The first reason stays.
func (s *Session) Close(at domains.Time, reason Reason, windows Windows) error {
	return s.end("Close", at, reason, windows)
}

func (s *Session) end(op string, at domains.Time, reason Reason, windows Windows) error {
	if s.Status == Closed {
		return rmw.Keep
	}
	if reason == "" {
		return fmt.Errorf("%w: a session is closed for a reason", rmw.ErrInvalid)
	}
	if err := domains.CheckText("reason", string(reason), MaxReason); err != nil {
		return err
	}
	if err := s.move(op); err != nil {
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

// until returns the end of a window. A session whose clock is far ahead can be closed,
// too, so there is always one.
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

// Idle is how long nobody may write before a session is idle; 0 is no limit.
type Idle struct {
	Queue   time.Duration // since it was queued, while it is
	Visitor time.Duration // since the agent wrote, or resumed it, while it is the visitor's turn
	Agent   time.Duration // since the visitor wrote, or the agent got or resumed it, while it is the agent's turn
}

// IdleFor returns why the session would be closed as idle, or "" if it is not. It is
// the visitor's turn if the agent who has it wrote last. One that is on hold, or with
// a program, is never idle.
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

// CloseIdle is Close for a session that is idle. It looks again: somebody may have
// written since the caller looked.
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

// Rate is what the visitor thought of the session. Its time is set by the operation.
func (s *Session) Rate(at domains.Time, rating Rating) error {
	if s.Status != Closed {
		return ErrNotClosed
	}
	if !rating.inRange() {
		return fmt.Errorf("%w: not %d", ErrScore, rating.Score)
	}
	if err := domains.CheckText("comment", rating.Comment, MaxComment); err != nil {
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

// Reopen queues a closed session again, provided that it still has the epoch that was
// seen. Whoever calls it has made sure that the visitor has no other open session:
// see package desk.
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
