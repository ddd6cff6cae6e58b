package session

import (
	"slices"
	"time"

	"github.com/unwatch/unwatch/domains"
)

// now returns the time of an operation: at, or the latest time of the session if that is later. UpdatedAt alone
// is not enough: a service that does not know it may have written last.
func (s *Session) now(at domains.Time) domains.Time {
	return max(at, s.UpdatedAt, slices.Max(s.times()))
}

// touch sets UpdatedAt to the time of an operation, and returns it.
func (s *Session) touch(at domains.Time) domains.Time {
	s.UpdatedAt = s.now(at)
	return s.UpdatedAt
}

// times returns the times of all events.
func (s *Session) times() []domains.Time {
	times := []domains.Time{
		s.CreatedAt, s.QueuedAt, s.TakenAt, s.AssignedAt, s.FirstResponseAt, s.LastVisitorAt, s.LastAgentAt,
		s.HoldAt, s.ResumedAt, s.ClosedAt,
	}
	for _, t := range s.Transfers {
		times = append(times, t.At)
	}
	if s.Rating != nil {
		times = append(times, s.Rating.At)
	}
	return times
}

// Waited returns the time from the last queueing to the assignment, else to the closing, else to now. It is 0
// if the session was never queued.
func (s *Session) Waited(now time.Time) time.Duration {
	taken := s.TakenAt
	if taken < s.QueuedAt { // written by a service that does not know TakenAt
		taken = s.AssignedAt
	}
	switch {
	case s.QueuedAt == 0:
		return 0
	case taken != 0:
		return taken.Sub(s.QueuedAt)
	case s.ClosedAt != 0:
		return s.ClosedAt.Sub(s.QueuedAt)
	}
	return max(0, domains.At(now).Sub(s.QueuedAt))
}

// FirstResponse returns the time from the creation to the first reply of an agent; 0 without a reply.
func (s *Session) FirstResponse() time.Duration { return s.FirstResponseAt.Sub(s.CreatedAt) }

// Lasted returns the time from the creation to the closing, else to now.
func (s *Session) Lasted(now time.Time) time.Duration {
	if s.ClosedAt != 0 {
		return s.ClosedAt.Sub(s.CreatedAt)
	}
	return max(0, domains.At(now).Sub(s.CreatedAt))
}

// Chatted returns the time from the first reply to the closing, else to the last message.
func (s *Session) Chatted() time.Duration {
	if s.ClosedAt != 0 {
		return s.ClosedAt.Sub(s.FirstResponseAt)
	}
	return max(0, max(s.LastAgentAt, s.LastVisitorAt).Sub(s.FirstResponseAt))
}
