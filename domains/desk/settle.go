package desk

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/domains/mcc"
	"github.com/unwatch/unwatch/domains/session"
	"github.com/unwatch/unwatch/rmw"
)

// Reap and SignOff read the sessions first, and then update the agent once: an update per slot would transfer
// the whole agent each time. A decision about a slot stays right while the slot is for an earlier epoch, which
// the update checks.

// eachSlot calls look for each slot until ctx ends, and joins the errors. The order is random, so that a ctx
// that is always too short does not always miss the same slots.
func eachSlot(ctx context.Context, slots map[string]mcc.Slot, look func(sessionID string, slot mcc.Slot) error) error {
	var failed []error
	left := len(slots)
	for sessionID, slot := range slots {
		if err := ctx.Err(); err != nil {
			failed = append(failed, fmt.Errorf("the slot for session %q and %d others are left: %w", sessionID, left-1, err))
			break
		}
		left--
		if err := look(sessionID, slot); err != nil {
			failed = append(failed, fmt.Errorf("the slot for session %q: %w", sessionID, err))
		}
	}
	return errors.Join(failed...)
}

// judge decides about an agent's slot. Afterwards the agent has the session, or no commit by that slot is
// possible.
func (d Desk) judge(ctx context.Context, at time.Time, agentID, sessionID string, slot mcc.Slot) (mcc.Settlement, error) {
	s, err := d.sessions.Get(ctx, sessionID)
	if err == nil && s.AgentID != agentID && s.Epoch <= slot.Epoch {
		// A commit by the slot between the two calls has raised the epoch, so that Fence changes nothing.
		s, err = d.sessions.Fence(ctx, sessionID, at, slot.Epoch)
	}
	if errors.Is(err, session.ErrNoSession) {
		return forget(sessionID, slot), nil
	}
	return mcc.Settlement{SessionID: sessionID, Has: s.AgentID == agentID, Epoch: s.Epoch}, err
}

// forget releases the slot for a session that does not exist.
func forget(sessionID string, slot mcc.Slot) mcc.Settlement {
	return mcc.Settlement{SessionID: sessionID, Epoch: slot.Epoch + 1, Seen: &slot}
}

// settleAll writes the decisions about an agent's slots in one update. After the end of ctx it has
// FinishTimeout to do so: otherwise all sessions would have to be read again. It returns the stored agent. If
// the agent was removed, it requeues the agent's sessions and returns the zero Agent.
func (d Desk) settleAll(ctx context.Context, at time.Time, agentID string, slots []mcc.Settlement) (a mcc.Agent, err error) {
	if len(slots) == 0 {
		return a, nil
	}
	if err = ctx.Err(); err == nil {
		a, err = d.agents.Settle(ctx, agentID, at, slots)
	}
	if err != nil && ctx.Err() != nil {
		limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), d.cfg.FinishTimeout)
		defer cancel()
		ctx = limited
		a, err = d.agents.Settle(ctx, agentID, at, slots)
	}
	switch {
	case errors.Is(err, mcc.ErrNoAgent):
		return mcc.Agent{}, d.takeAllBack(ctx, at, agentID, slots)
	case err != nil:
		return mcc.Agent{}, fmt.Errorf("settling %d slots: %w", len(slots), err)
	}
	return a, nil
}

// takeAllBack requeues the sessions of a removed agent.
func (d Desk) takeAllBack(ctx context.Context, at time.Time, agentID string, slots []mcc.Settlement) error {
	var failed []error
	for _, slot := range slots {
		if !slot.Has {
			continue
		}
		_, err := d.sessions.Settle(ctx, slot.SessionID, at, takeBack(at, agentID, "the agent is gone"))
		if err != nil && !errors.Is(err, session.ErrNoSession) {
			failed = append(failed, fmt.Errorf("session %q: %w", slot.SessionID, err))
		}
	}
	return errors.Join(failed...)
}

// evict requeues one session of an offline agent, provided that the session still has the epoch of seen: an
// agent that came online again may have got it anew. It returns the decision about the slot.
func (d Desk) evict(
	ctx context.Context, at time.Time, agentID string, slot mcc.Slot, seen mcc.Settlement,
) (then mcc.Settlement, requeued bool, err error) {
	sessionID := seen.SessionID
	for {
		s, err := d.sessions.Settle(ctx, sessionID, at, func(s *session.Session) error {
			requeued = false
			fence := func() error { return s.Fence(domains.At(at), slot.Epoch) }
			switch {
			case s.AgentID != agentID:
				return fence()
			case s.Epoch != seen.Epoch:
				return rmw.Keep
			}
			requeued = true
			return domains.Steps(func() error { return takeBack(at, agentID, "the agent signed off")(s) }, fence)
		})
		if errors.Is(err, session.ErrNoSession) {
			return forget(sessionID, slot), false, nil
		}
		if err != nil {
			return then, false, err
		}
		then = mcc.Settlement{SessionID: sessionID, Has: s.AgentID == agentID, Epoch: s.Epoch}
		if !then.Has {
			return then, requeued, nil
		}
		off, err := d.off(ctx, agentID)
		if err != nil || !off {
			return then, false, err
		}
		seen = then // a fence raised the epoch
	}
}

// off reports whether the agent is offline or does not exist.
func (d Desk) off(ctx context.Context, agentID string) (bool, error) {
	a, err := d.agents.Get(ctx, agentID)
	if errors.Is(err, mcc.ErrNoAgent) {
		return true, nil
	}
	return err == nil && a.Status == mcc.Offline, err
}
