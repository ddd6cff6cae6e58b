package desk

import (
	"context"
	"errors"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/domains/mcc"
	"github.com/unwatch/unwatch/domains/session"
)

// Assign gives a queued session to an agent who has room for it.
func (d Desk) Assign(ctx context.Context, op domains.Op, sessionID, agentID string) (session.Session, error) {
	return d.give(ctx, op.As("Assign"), sessionID, agentID, false, func(s *session.Session, epoch uint64) error {
		return s.Assign(op.Time(), agentID, epoch)
	})
}

// TransferTo says to whom a session goes, and why.
type TransferTo struct {
	AgentID string
	// Force gives it to the agent whatever the limit is.
	Force bool
	// By is who wants it; empty is the system.
	By     string
	Reason string
}

// Transfer gives a session from the agent who has it to another.
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
		from := seen.AgentID
		if done {
			from = seen.LastAgentID // whom it was taken from may not have been told
		} else {
			trial := seen // what is refused anyway needs no slot
			if err := commit(&trial, seen.Epoch); err != nil {
				return session.Session{}, err
			}
			if err := d.reserve(ctx, op, agentID, sessionID, seen.Epoch, force); err != nil {
				return session.Session{}, err
			}
		}
		s, err := d.sessions.Edit(ctx, sessionID, op, func(s *session.Session) error { return commit(s, seen.Epoch) })
		if err == nil {
			d.finish(ctx, sessionID, d.settle(op.At, agentID, sessionID, s), d.settleOther(op, from, agentID, sessionID, s))
			return s, nil
		}
		if domains.RefusalOf(err) == nil {
			return session.Session{}, err // the slot stays: it is not known to be useless
		}
		d.withdraw(ctx, op, agentID, sessionID)
		if !errors.Is(err, session.ErrMovedOn) || attempt == maxAttempts {
			return session.Session{}, err
		}
	}
}

// settleOther settles the slot of who had the session, unless that is who has it.
func (d Desk) settleOther(op domains.Op, from, agentID, sessionID string, s session.Session) func(context.Context) error {
	if from == agentID {
		from = ""
	}
	return d.settle(op.At, from, sessionID, s)
}

// reserve takes a slot for the session at the epoch that was seen. If the agent is
// full, it clears up first what is overdue: that shows in the agent.
func (d Desk) reserve(ctx context.Context, op domains.Op, agentID, sessionID string, epoch uint64, force bool) error {
	take := func() error {
		_, err := d.agents.Reserve(ctx, agentID, op.At, sessionID, epoch, d.until(op), force)
		return err
	}
	err := take()
	if !errors.Is(err, mcc.ErrFull) && !errors.Is(err, mcc.ErrMovedOn) {
		return err
	}
	if cleared, _ := d.reap(ctx, op.At, agentID, true); cleared.Released == 0 { // what failed does not take back what is free
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
