package desk

import (
	"context"
	"errors"
	"maps"
	"time"

	"github.com/unwatch/unwatch/domains/mcc"
)

// Reaped counts the slots that a Reap found, without those that failed.
type Reaped struct {
	Sound     int // held, at the session's epoch
	Confirmed int // the agent had the session, and the slot was reserved or at an earlier epoch
	Released  int // the agent did not have the session
	Waiting   int // reserved and left alone, or reserved again during the Reap
}

// Reap repairs an agent's slots after crashes: it confirms or releases the slots that differ from their
// sessions. Any process may call it, at any time, for any agent; an occasional call for each agent is enough.
// at is the present time: reservations within [Config] Patience are left alone.
//
// Reap reads the agent, then each session of the other slots, one after the other. It raises the epoch of a
// session to which a commit could still come. Then it updates the agent, once for all wrong slots, or not at
// all. A slot that is reserved again meanwhile is kept.
//
// The failure of one session does not stop the others. After the end of ctx no further session is read, and the
// decided slots are written within FinishTimeout. The error is of [errors.Join]. It names each session that
// failed, and after the end of ctx one session and the number of the others. Another Reap does the rest.
func (d Desk) Reap(ctx context.Context, at time.Time, agentID string) (Reaped, error) {
	return d.reap(ctx, at, agentID, false)
}

// reap repairs all slots, or only the reserved ones.
func (d Desk) reap(ctx context.Context, at time.Time, agentID string, reserved bool) (Reaped, error) {
	a, err := d.agents.Get(ctx, agentID)
	if err != nil {
		return Reaped{}, err
	}
	var sum Reaped
	maps.DeleteFunc(a.Slots, func(_ string, slot mcc.Slot) bool {
		waits := slot.State == mcc.Reserved && d.waits(slot.Until, at)
		if waits {
			sum.Waiting++
		}
		return waits || reserved && slot.State != mcc.Reserved
	})
	var decided []mcc.Settlement
	failed := eachSlot(ctx, a.Slots, func(sessionID string, slot mcc.Slot) error {
		s, err := d.judge(ctx, at, agentID, sessionID, slot)
		switch {
		case err != nil:
			return err
		case s.Has && slot.State == mcc.Held && slot.Epoch >= s.Epoch:
			sum.Sound++
		default:
			decided = append(decided, s)
		}
		return nil
	})
	a, err = d.settleAll(ctx, at, agentID, decided)
	if err != nil {
		return sum, errors.Join(failed, err)
	}
	for _, s := range decided {
		switch slot, stays := a.Slots[s.SessionID]; {
		case !stays:
			sum.Released++
		case slot.State == mcc.Reserved:
			sum.Waiting++
		default:
			sum.Confirmed++
		}
	}
	return sum, failed
}
