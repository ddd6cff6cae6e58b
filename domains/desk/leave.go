package desk

import (
	"context"
	"errors"
	"fmt"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/domains/mcc"
	"github.com/unwatch/unwatch/domains/session"
)

// Close closes a session in any state, and releases its agent's slot and its visitor's entry. A Close of a
// closed session succeeds: the first reason stays.
func (d Desk) Close(ctx context.Context, op domains.Op, sessionID string, reason session.Reason) (session.Session, error) {
	return d.take(ctx, op.As("Close"), sessionID, func(s *session.Session) error {
		return s.Close(op.Time(), reason, d.sessions.Windows())
	})
}

// CloseIdle is Close for a session that is idle by the limits; else it returns [session.ErrNotIdle].
func (d Desk) CloseIdle(ctx context.Context, op domains.Op, sessionID string, limits session.Idle) (session.Session, error) {
	return d.take(ctx, op.As("CloseIdle"), sessionID, func(s *session.Session) error {
		return s.CloseIdle(op.Time(), limits, d.sessions.Windows())
	})
}

// ToQueue is the destination of a requeue.
type ToQueue struct {
	// FromAgentID is the agent that must have the session; empty is any agent.
	FromAgentID string
	// QueueID is the queue; empty keeps the session's queue.
	QueueID string
	// By is the id of the requester; empty is the system.
	By     string
	Reason string // at most 256 bytes
}

// Requeue takes a session from its agent and queues it.
func (d Desk) Requeue(ctx context.Context, op domains.Op, sessionID string, to ToQueue) (session.Session, error) {
	return d.take(ctx, op.As("Requeue"), sessionID, func(s *session.Session) error {
		return s.Requeue(op.Time(), to.FromAgentID, to.QueueID, to.By, to.Reason)
	})
}

// Decline queues a session that its agent refuses, or does not answer.
func (d Desk) Decline(ctx context.Context, op domains.Op, sessionID, agentID string) (session.Session, error) {
	return d.take(ctx, op.As("Decline"), sessionID, func(s *session.Session) error { return s.Decline(op.Time(), agentID) })
}

// take commits on the session, and then releases the agent's slot and, if the session is closed, the visitor's
// entry.
func (d Desk) take(
	ctx context.Context, op domains.Op, sessionID string, commit func(*session.Session) error,
) (session.Session, error) {
	s, err := d.sessions.Edit(ctx, sessionID, op, commit)
	if err != nil {
		return session.Session{}, err
	}
	// A retry finishes the steps of a crashed operation.
	d.finish(ctx, sessionID, d.settle(op.At, s.LastAgentID, sessionID, s), func(ctx context.Context) error {
		if s.Status != session.Closed || s.VisitorID == "" {
			return nil
		}
		return d.sessions.ReleaseVisitor(ctx, s.VisitorID, op.At, sessionID, s.Epoch)
	})
	return s, nil
}

// SignOff takes an agent offline, so that no session is added, requeues each of the agent's sessions, and
// releases all slots in one more update of the agent. It returns the number of requeued sessions. After an
// error the agent is offline, and the same operation sent again does the rest.
//
// If the agent comes online again before the first session is requeued, the agent keeps all sessions; later,
// the sessions that were assigned since.
//
// The failure of one session does not stop the others. After the end of ctx no further session is read, and the
// slots of requeued sessions are released within [Config] FinishTimeout. The error names each session that
// failed.
func (d Desk) SignOff(ctx context.Context, op domains.Op, agentID string) (requeued int, err error) {
	a, err := d.agents.SignOff(ctx, agentID, op)
	if err != nil {
		return 0, err
	}
	if a.Status != mcc.Offline { // a retry: the agent came online again after the SignOff
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
