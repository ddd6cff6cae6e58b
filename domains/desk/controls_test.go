package desk_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/domains/desk"
	"github.com/unwatch/unwatch/domains/mcc"
	"github.com/unwatch/unwatch/domains/session"
	"github.com/unwatch/unwatch/rmw"
)

// Negative controls of TestInterruptedAtEveryStep: it reports each of these protocols. An Assign that commits on the
// session before it takes a slot, as in most services; a Reap by the clock alone, during an Assign that stalls; and
// a Reap without a second look, which loses the slot of a session that comes back to the agent meanwhile.
func TestInterruptionNegativeControls(t *testing.T) {
	assign := story{op: func(ctx context.Context, s service, op domains.Op) error {
		_, err := s.Assign(ctx, op, "s", "a")
		return err
	}}
	for name, control := range map[string]struct {
		one, other story
		late       bool
	}{
		"session first": {one: story{op: func(ctx context.Context, s service, op domains.Op) error {
			return sessionFirst(ctx, s, op, "s", "a")
		}}, other: assign},
		"reaper without epoch": {one: assign, other: story{op: func(ctx context.Context, s service, op domains.Op) error {
			return reapByTheClock(ctx, s, op.At, "a")
		}}, late: true},
		"reaper without a second look": {one: story{
			before: func(ctx context.Context, s service, at time.Time) error {
				_, err := s.Assign(ctx, domains.NewOp(at), "s", "a")
				if err == nil {
					_, err = newService(&crashing{Store: s.store, dieAt: 2}).Requeue(ctx, domains.NewOp(at), "s", desk.ToQueue{})
				}
				return err
			},
			op: func(ctx context.Context, s service, op domains.Op) error { return reapAtOnce(ctx, s, op.At, "a") },
		}, other: assign},
	} {
		t.Run(name, func(t *testing.T) {
			var seen strings.Builder
			for n := 1; n < 9; n++ {
				w, _ := interrupt(t, control.one, control.other, n, control.late)
				seen.WriteString(w.broken())
			}
			assert.Contains(t, seen.String(), "M2: ")
		})
	}
}

// sessionFirst commits on the session, and takes the slot afterwards.
func sessionFirst(ctx context.Context, s service, op domains.Op, sessionID, agentID string) error {
	a, err := s.agents.Get(ctx, agentID)
	if err != nil {
		return err
	}
	if !a.Takes() || a.Load() >= limit {
		return mcc.ErrFull
	}
	n, err := s.sessions.Edit(ctx, sessionID, op, func(n *session.Session) error {
		return n.Assign(op.Time(), agentID, n.Epoch)
	})
	if err != nil {
		return err
	}
	_, err = s.agents.Edit(ctx, agentID, op, func(a *mcc.Agent) error {
		return domains.Steps(
			func() error { return a.Reserve(op.Time(), sessionID, n.Epoch, op.Time(), mcc.Unlimited, true) },
			func() error { return unforce(a, sessionID) },
			func() error { return a.Confirm(op.Time(), sessionID, n.Epoch) },
		)
	})
	return err
}

// unforce makes a slot count.
func unforce(a *mcc.Agent, sessionID string) error {
	slot := a.Slots[sessionID]
	slot.Forced = false
	a.Slots[sessionID] = slot
	return nil
}

// reapByTheClock releases overdue slots without raising the epoch.
func reapByTheClock(ctx context.Context, s service, at time.Time, agentID string) error {
	a, err := s.agents.Get(ctx, agentID)
	if err != nil {
		return err
	}
	for sessionID, slot := range a.Slots {
		if slot.State == mcc.Reserved && slot.Until >= domains.At(at) {
			continue
		}
		n, err := s.sessions.Get(ctx, sessionID)
		if err != nil {
			return err
		}
		if n.AgentID == agentID {
			_, err = s.agents.Confirm(ctx, agentID, at, sessionID, n.Epoch)
		} else {
			_, err = s.agents.Edit(ctx, agentID, domains.NewOp(at), func(a *mcc.Agent) error {
				if a.Slots[sessionID].Epoch == slot.Epoch {
					delete(a.Slots, sessionID)
				}
				return nil
			})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// reapAtOnce is Reap without the epoch check in the agent's update: a negative control.
func reapAtOnce(ctx context.Context, s service, at time.Time, agentID string) error {
	a, err := s.agents.Get(ctx, agentID)
	if err != nil {
		return err
	}
	var gone []string
	for sessionID, slot := range a.Slots {
		if slot.State == mcc.Reserved && slot.Until >= domains.At(at) {
			continue
		}
		n, err := s.sessions.Settle(ctx, sessionID, at, func(n *session.Session) error {
			if n.AgentID == agentID {
				return rmw.Keep
			}
			return n.Fence(domains.At(at), slot.Epoch)
		})
		if err != nil {
			return err
		}
		if n.AgentID != agentID {
			gone = append(gone, sessionID)
		} else if _, err := s.agents.Confirm(ctx, agentID, at, sessionID, n.Epoch); err != nil {
			return err
		}
	}
	if len(gone) == 0 {
		return nil
	}
	_, err = s.agents.Edit(ctx, agentID, domains.NewOp(at), func(a *mcc.Agent) error {
		for _, sessionID := range gone {
			delete(a.Slots, sessionID)
		}
		return nil
	})
	return err
}
