package desk

import (
	"cmp"
	"context"
	"errors"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/domains/mcc"
	"github.com/unwatch/unwatch/domains/session"
)

// Close ends a session, whoever has it. The first reason stays.
func (d Desk) Close(ctx context.Context, op domains.Op, sessionID string, reason session.Reason) (session.Session, error) {
	return d.take(ctx, op.As("Close"), sessionID, func(s *session.Session) error {
		return s.Close(op.Time(), reason, d.sessions.Windows())
	})
}

// CloseIdle is Close for a session in which nobody has written for too long.
func (d Desk) CloseIdle(ctx context.Context, op domains.Op, sessionID string, limits session.Idle) (session.Session, error) {
	return d.take(ctx, op.As("CloseIdle"), sessionID, func(s *session.Session) error {
		return s.CloseIdle(op.Time(), limits, d.sessions.Windows())
	})
}

// ToQueue says where a session goes, and why.
type ToQueue struct {
	// FromAgentID is who must have it; empty is whoever does.
	FromAgentID string
	// QueueID is where it goes; empty is where it came from.
	QueueID string
	// By is who wants it; empty is the system.
	By     string
	Reason string
}

// Requeue takes a session from the agent who has it, and queues it.
func (d Desk) Requeue(ctx context.Context, op domains.Op, sessionID string, to ToQueue) (session.Session, error) {
	return d.take(ctx, op.As("Requeue"), sessionID, func(s *session.Session) error {
		return s.Requeue(op.Time(), to.FromAgentID, to.QueueID, to.By, to.Reason)
	})
}

// Decline is an agent who does not want the session, or lets it ring out.
func (d Desk) Decline(ctx context.Context, op domains.Op, sessionID, agentID string) (session.Session, error) {
	return d.take(ctx, op.As("Decline"), sessionID, func(s *session.Session) error { return s.Decline(op.Time(), agentID) })
}

// take commits on the session, and releases what it leaves behind.
func (d Desk) take(
	ctx context.Context, op domains.Op, sessionID string, commit func(*session.Session) error,
) (session.Session, error) {
	var from string
	s, err := d.sessions.Edit(ctx, sessionID, op, func(s *session.Session) error {
		from = s.AgentID
		return commit(s)
	})
	if err != nil {
		return session.Session{}, err
	}
	from = cmp.Or(from, s.LastAgentID) // if it has happened before, and was not finished
	d.finish(ctx, sessionID, d.settle(op.At, from, sessionID, s), func(ctx context.Context) error {
		if s.Status != session.Closed || s.VisitorID == "" {
			return nil
		}
		return d.sessions.ReleaseVisitor(ctx, s.VisitorID, op.At, sessionID, s.Epoch)
	})
	return s, nil
}

// SignOff takes an agent off duty: offline first, so that nothing new comes, and then
// each session back to its queue. It returns how many there were. If it fails
// half-way, the agent is offline, and the same operation sent again does the rest.
func (d Desk) SignOff(ctx context.Context, op domains.Op, agentID string) (requeued int, err error) {
	a, err := d.agents.SignOff(ctx, agentID, op)
	if err != nil {
		return 0, err
	}
	if a.Status != mcc.Offline { // it has happened, and the agent has come back since
		return 0, nil
	}
	var failed []error
	for sessionID, slot := range a.Slots {
		back, err := d.evict(ctx, op, agentID, sessionID, slot.Epoch)
		if err != nil {
			failed = append(failed, err)
		} else if back {
			requeued++
		}
	}
	return requeued, errors.Join(failed...)
}

// evict takes one session from an agent who takes no new ones, or sees to it that the
// agent does not get it.
func (d Desk) evict(ctx context.Context, op domains.Op, agentID, sessionID string, epoch uint64) (requeued bool, err error) {
	for {
		s, err := d.fence(ctx, op.At, agentID, sessionID, epoch)
		if errors.Is(err, session.ErrNoSession) {
			return requeued, d.forget(ctx, op.At, agentID, sessionID, epoch)
		}
		if err != nil {
			return requeued, err
		}
		if s.AgentID != agentID {
			return requeued, d.settle(op.At, agentID, sessionID, s)(ctx)
		}
		a, err := d.agents.Get(ctx, agentID)
		if err == nil && a.Status != mcc.Offline || err != nil && !errors.Is(err, mcc.ErrNoAgent) {
			return requeued, err
		}
		back := takeBack(op.At, agentID, "the agent signed off")
		_, err = d.sessions.Settle(ctx, sessionID, op.At, func(s *session.Session) error {
			err := back(s)
			requeued = requeued || err == nil
			return err
		})
		if err != nil {
			return false, err
		}
	}
}
