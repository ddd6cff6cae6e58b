package desk

import (
	"cmp"
	"context"
	"errors"
	"fmt"

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
//
// It looks at the sessions one after the other, and takes them one after the other; then
// it releases all slots in one more update of the agent. An agent who comes back before
// that keeps what came after, and, if that is before the first session is taken, all.
//
// One session's failure and the end of ctx are as with [Desk.Reap]: what was taken is
// released.
func (d Desk) SignOff(ctx context.Context, op domains.Op, agentID string) (requeued int, err error) {
	a, err := d.agents.SignOff(ctx, agentID, op)
	if err != nil {
		return 0, err
	}
	if a.Status != mcc.Offline { // it has happened, and the agent has come back since
		return 0, nil
	}
	var decided []mcc.Settlement
	theirs, epochs := map[string]mcc.Slot{}, map[string]mcc.Settlement{}
	failed := eachSlot(ctx, a.Slots, func(sessionID string, slot mcc.Slot) error {
		s, err := d.judge(ctx, op.At, agentID, sessionID, slot)
		switch {
		case err != nil:
			return err
		case s.Has:
			theirs[sessionID], epochs[sessionID] = slot, s
		default:
			decided = append(decided, s)
		}
		return nil
	})
	if len(theirs) > 0 {
		off, err := d.off(ctx, agentID)
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("%d sessions stay with the agent: %w", len(theirs), err))
		}
		if !off {
			clear(theirs)
		}
	}
	failed = errors.Join(failed, eachSlot(ctx, theirs, func(sessionID string, slot mcc.Slot) error {
		s, back, err := d.evict(ctx, op.At, agentID, slot, epochs[sessionID])
		if err != nil {
			return err
		}
		if back {
			requeued++
		}
		if !s.Has {
			decided = append(decided, s)
		}
		return nil
	}))
	_, err = d.settleAll(ctx, op.At, agentID, decided)
	return requeued, errors.Join(failed, err)
}
