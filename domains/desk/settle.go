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

// What concerns many slots of an agent looks at the sessions first, each a key of its own,
// and then writes the agent once: an update per slot would move the whole agent each time.
// It is the epochs that permit to wait: what was decided of a slot is true for as long as
// the slot is for an earlier epoch, and the update looks whether it still is.

// eachSlot calls look for each of the slots, until ctx ends, and returns what failed. One
// that fails does not keep the others from being looked at. The order is that of the map,
// by chance: if time is always short, it is not always the same slots that miss out.
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

// judge says what an agent's slot comes to. Unless the agent has the session, nobody can
// give it to the agent by that slot any more.
func (d Desk) judge(ctx context.Context, at time.Time, agentID, sessionID string, slot mcc.Slot) (mcc.Settlement, error) {
	s, err := d.fence(ctx, at, agentID, sessionID, slot.Epoch)
	if errors.Is(err, session.ErrNoSession) {
		return forget(sessionID, slot), nil
	}
	return mcc.Settlement{SessionID: sessionID, Has: s.AgentID == agentID, Epoch: s.Epoch}, err
}

// forget is what the slot for a session that does not exist comes to.
func forget(sessionID string, slot mcc.Slot) mcc.Settlement {
	return mcc.Settlement{SessionID: sessionID, Epoch: slot.Epoch + 1, Seen: &slot}
}

// settleAll writes what was decided of an agent's slots, in one update; also if ctx has
// ended by now, or ends meanwhile, for which it has [Config] FinishTimeout. Otherwise, all
// that was looked at would have to be looked at again.
//
// It returns the agent as it is then, the zero one if the agent does not exist any more:
// who does not has no slots, and cannot have a session.
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

// takeAllBack requeues what an agent has who does not exist any more.
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

// evict takes one session from an agent who is offline, provided that the agent has it
// since the epoch that was seen: one who has come back may have got it anew. It says
// what the slot comes to then, if anything.
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
		seen = then // the epoch of what an agent has grows also by a fence
	}
}

// off reports whether the agent is off duty, or does not exist.
func (d Desk) off(ctx context.Context, agentID string) (bool, error) {
	a, err := d.agents.Get(ctx, agentID)
	if errors.Is(err, mcc.ErrNoAgent) {
		return true, nil
	}
	return err == nil && a.Status == mcc.Offline, err
}
