package desk

import (
	"context"
	"errors"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/domains/mcc"
	"github.com/unwatch/unwatch/domains/session"
)

// Assign gives a queued session to an agent, and takes a slot of the agent. It returns [mcc.ErrFull] if the
// agent's slots have reached the limit.
func (d Desk) Assign(ctx context.Context, op domains.Op, sessionID, agentID string) (session.Session, error) {
	return d.give(ctx, op.As("Assign"), sessionID, agentID, false, func(s *session.Session, epoch uint64) error {
		return s.Assign(op.Time(), agentID, epoch)
	})
}

// TransferTo is the destination of a transfer.
type TransferTo struct {
	AgentID string
	// Force exempts the slot from the agent's limit.
	Force bool
	// By is the id of the requester; empty is the system.
	By     string
	Reason string // at most 256 bytes
}

// Transfer gives a session from its agent to another. It takes a slot of the new agent, and releases the slot
// of the previous one.
func (d Desk) Transfer(ctx context.Context, op domains.Op, sessionID string, to TransferTo) (session.Session, error) {
	return d.give(ctx, op.As("Transfer"), sessionID, to.AgentID, to.Force, func(s *session.Session, epoch uint64) error {
		return s.Transfer(op.Time(), to.AgentID, epoch, to.By, to.Reason)
	})
}

// give reserves a slot, commits on the session, and settles the slots.
func (d Desk) give(
	ctx context.Context, op domains.Op, sessionID, agentID string, force bool,
	commit func(s *session.Session, epoch uint64) error,
) (session.Session, error) {
	for attempt := 1; ; attempt++ {
		seen, err := d.sessions.Get(ctx, sessionID)
		if err != nil {
			return session.Session{}, err
		}
		done, err := happened(op, sessionID, seen)
		if err != nil {
			return session.Session{}, err
		}
		from := seen.AgentID // loses its slot
		if done {
			from = seen.LastAgentID // the crashed operation may not have released the slot
		} else {
			trial := seen // a refused operation needs no slot
			if err := commit(&trial, seen.Epoch); err != nil {
				return session.Session{}, err
			}
			if err := d.reserve(ctx, op, agentID, sessionID, seen.Epoch, force); err != nil {
				return session.Session{}, err
			}
		}
		s, err := d.sessions.Edit(ctx, sessionID, op, func(s *session.Session) error { return commit(s, seen.Epoch) })
		if err == nil {
			d.finish(ctx, sessionID, d.settle(op.At, agentID, sessionID, s), d.settle(op.At, from, sessionID, s))
			return s, nil
		}
		if domains.RefusalOf(err) == nil {
			return session.Session{}, err // the slot stays: the commit may have happened
		}
		d.withdraw(ctx, op, agentID, sessionID)
		if !errors.Is(err, session.ErrMovedOn) || attempt == maxAttempts {
			return session.Session{}, err
		}
	}
}

// reserve takes a slot for the session at the given epoch. If the agent is full, it first clears the agent's
// overdue reservations.
func (d Desk) reserve(ctx context.Context, op domains.Op, agentID, sessionID string, epoch uint64, force bool) error {
	take := func() error {
		_, err := d.agents.Reserve(ctx, agentID, op.At, sessionID, epoch, d.until(op), force)
		return err
	}
	err := take()
	if !errors.Is(err, mcc.ErrFull) && !errors.Is(err, mcc.ErrMovedOn) {
		return err
	}
	if cleared, _ := d.reap(ctx, op.At, agentID, true); cleared.Released == 0 { // after an error, some slots may be released
		return err
	}
	return take()
}

// withdraw settles the slot of an operation that was refused.
func (d Desk) withdraw(ctx context.Context, op domains.Op, agentID, sessionID string) {
	d.finish(ctx, sessionID, func(ctx context.Context) error {
		now, err := d.sessions.Get(ctx, sessionID)
		if err != nil {
			return ignore(err, session.ErrNoSession)
		}
		return d.settle(op.At, agentID, sessionID, now)(ctx)
	})
}
