package session

import (
	"slices"
	"time"

	"github.com/unwatch/unwatch/domains"
)

// now returns the time of an operation: at, unless the session has seen a later one. It
// does not rely on UpdatedAt: who has written last may not know that field.
func (s *Session) now(at domains.Time) domains.Time {
	return max(at, s.UpdatedAt, slices.Max(s.times()))
}

// touch notes the time of an operation, and returns it.
func (s *Session) touch(at domains.Time) domains.Time {
	s.UpdatedAt = s.now(at)
	return s.UpdatedAt
}

// times are the moments that have come.
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

// Waited returns how long the visitor waited since the session was last queued: until
// an agent had it, or it was closed, or now. It is 0 if it never was queued.
func (s *Session) Waited(now time.Time) time.Duration {
	taken := s.TakenAt
	if taken < s.QueuedAt { // stored by somebody who does not know the field
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

// FirstResponse returns how long it took from the beginning to an agent's first
// answer; 0 if there is none.
func (s *Session) FirstResponse() time.Duration { return s.FirstResponseAt.Sub(s.CreatedAt) }

// Lasted returns how long the session has existed, until it was closed.
func (s *Session) Lasted(now time.Time) time.Duration {
	if s.ClosedAt != 0 {
		return s.ClosedAt.Sub(s.CreatedAt)
	}
	return max(0, domains.At(now).Sub(s.CreatedAt))
}

// Chatted returns how long visitor and agent have talked: from the first answer to
// the end, or to what either last wrote.
func (s *Session) Chatted() time.Duration {
	if s.ClosedAt != 0 {
		return s.ClosedAt.Sub(s.FirstResponseAt)
	}
	return max(0, max(s.LastAgentAt, s.LastVisitorAt).Sub(s.FirstResponseAt))
}
