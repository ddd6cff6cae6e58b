package desk

import (
	"context"
	"errors"
	"maps"
	"time"

	"github.com/unwatch/unwatch/domains/mcc"
	"github.com/unwatch/unwatch/domains/session"
)

// Reaped is what a Reap found, in slots. What failed is not in it.
type Reaped struct {
	Sound     int // as they should be
	Confirmed int // the session had come, and the slot did not say so
	Released  int // the session had not come, or had gone
	Waiting   int // reserved, and still left alone; or reserved anew meanwhile
}

// Reap brings an agent's slots in line with the sessions, after crashes. Any process
// may do it, at any time, for any agent; now and then for each is enough. at is the
// present time, by which it tells for how long a reservation is left alone.
//
// It reads the agent, then one after the other each session that the agent has a slot
// for, but those that are left alone; it raises the epoch of those that could still come.
// Then it writes the agent: once, however many slots are wrong, and not at all if none
// is. A slot that was taken anew in between stays.
//
// A session that cannot be read does not keep the others from being settled; nor does
// the end of ctx, after which no further session is looked at, but what was decided is
// written, for which it may take [Config] FinishTimeout longer. The error, of
// [errors.Join], names each session that was not settled, but of those left at the end of
// ctx one, and how many others there are. Another Reap does the rest.
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

// fence returns the session in a state in which nobody can give it to the agent by a
// slot of that epoch: the agent has it, or it has a later epoch.
func (d Desk) fence(ctx context.Context, at time.Time, agentID, sessionID string, epoch uint64) (session.Session, error) {
	s, err := d.sessions.Get(ctx, sessionID)
	if err != nil || s.AgentID == agentID || s.Epoch > epoch {
		return s, err
	}
	// A commit by the slot between the two calls has raised the epoch, so that Fence changes nothing.
	return d.sessions.Fence(ctx, sessionID, at, epoch)
}
