package desk

import (
	"context"
	"errors"
	"time"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/domains/mcc"
	"github.com/unwatch/unwatch/domains/session"
	"github.com/unwatch/unwatch/rmw"
)

// Reaped is what a Reap found, in slots.
type Reaped struct {
	Sound     int // as they should be
	Confirmed int // the session had come, and the slot did not say so
	Released  int // the session had not come, or had gone
	Waiting   int // reserved, and still left alone
}

// Reap brings an agent's slots in line with the sessions, after crashes. Any process
// may do it, at any time, for any agent; now and then for each is enough. It reads
// each session that the agent has a slot for.
func (d Desk) Reap(ctx context.Context, at time.Time, agentID string) (Reaped, error) {
	return d.reap(ctx, at, agentID, false)
}

// reap looks at all slots, or only at those that are reserved.
func (d Desk) reap(ctx context.Context, at time.Time, agentID string, reserved bool) (Reaped, error) {
	a, err := d.agents.Get(ctx, agentID)
	if err != nil {
		return Reaped{}, err
	}
	var sum Reaped
	var failed []error
	for sessionID, slot := range a.Slots {
		if reserved && slot.State != mcc.Reserved {
			continue
		}
		if err := d.reapSlot(ctx, at, agentID, sessionID, slot, &sum); err != nil {
			failed = append(failed, err)
		}
	}
	return sum, errors.Join(failed...)
}

func (d Desk) reapSlot(ctx context.Context, at time.Time, agentID, sessionID string, slot mcc.Slot, sum *Reaped) error {
	if slot.State == mcc.Reserved && d.waits(slot.Until, at) {
		sum.Waiting++
		return nil
	}
	s, err := d.fence(ctx, at, agentID, sessionID, slot.Epoch)
	switch {
	case errors.Is(err, session.ErrNoSession):
		sum.Released++
		return d.forget(ctx, at, agentID, sessionID, slot.Epoch)
	case err != nil:
		return err
	case s.AgentID != agentID:
		sum.Released++
	case slot.State == mcc.Held && slot.Epoch >= s.Epoch:
		sum.Sound++
		return nil
	default:
		sum.Confirmed++
	}
	return d.settle(at, agentID, sessionID, s)(ctx)
}

// fence returns the session in a state in which nobody can give it to the agent by a
// slot of that epoch: the agent has it, or it has a later epoch.
func (d Desk) fence(ctx context.Context, at time.Time, agentID, sessionID string, epoch uint64) (session.Session, error) {
	s, err := d.sessions.Get(ctx, sessionID)
	if err != nil || s.AgentID == agentID || s.Epoch > epoch {
		return s, err
	}
	return d.sessions.Settle(ctx, sessionID, at, func(s *session.Session) error {
		if s.AgentID == agentID { // the commit came first
			return rmw.Keep
		}
		return s.Fence(domains.At(at), epoch)
	})
}

// forget releases the slot for a session that does not exist.
func (d Desk) forget(ctx context.Context, at time.Time, agentID, sessionID string, epoch uint64) error {
	_, err := d.agents.Release(ctx, agentID, at, sessionID, epoch+1)
	return ignore(err, mcc.ErrNoAgent)
}
