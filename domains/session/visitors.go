package session

import (
	"context"
	"errors"
	"time"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/rmw"
)

// Visitor returns the index entry of a visitor, or the zero Visitor.
func (s Sessions) Visitor(ctx context.Context, visitorID string) (Visitor, error) {
	v, err := s.visitors.Get(ctx, visitorID)
	if errors.Is(err, ErrNoSession) {
		return Visitor{}, nil
	}
	return v, err
}

// ReserveVisitor points a visitor's entry to a session that is about to be opened, provided that the entry is
// still seen, else returns [ErrMovedOn].
func (s Sessions) ReserveVisitor(
	ctx context.Context, visitorID string, at time.Time, seen Visitor, sessionID string, epoch uint64, until time.Time,
) (Visitor, error) {
	return s.visitors.Settle(ctx, visitorID, at, func(v *Visitor, _ bool) error {
		if !v.same(seen) {
			return ErrMovedOn
		}
		if err := domains.CheckID("session", sessionID); err != nil {
			return err
		}
		v.ID, v.SessionID, v.Epoch, v.State, v.Until = visitorID, sessionID, epoch, Reserved, domains.At(until)
		return nil
	})
}

// ConfirmVisitor records that the session of a visitor's entry is open.
func (s Sessions) ConfirmVisitor(ctx context.Context, visitorID string, at time.Time, sessionID string) error {
	return s.settleVisitor(ctx, visitorID, at, func(v *Visitor) error {
		if v.SessionID != sessionID || v.State == Held {
			return rmw.Keep
		}
		v.State, v.Until = Held, 0
		return nil
	})
}

// ReleaseVisitor removes a visitor's entry for a closed session that has the given epoch. It keeps an entry for
// another session, for that epoch or for a later one.
func (s Sessions) ReleaseVisitor(ctx context.Context, visitorID string, at time.Time, sessionID string, epoch uint64) error {
	return s.settleVisitor(ctx, visitorID, at, func(v *Visitor) error {
		if v.SessionID != sessionID || v.Epoch >= epoch {
			return rmw.Keep
		}
		return rmw.Remove
	})
}

func (s Sessions) settleVisitor(ctx context.Context, visitorID string, at time.Time, change func(*Visitor) error) error {
	_, err := s.visitors.Settle(ctx, visitorID, at, func(v *Visitor, exists bool) error {
		if !exists {
			return rmw.Keep
		}
		return change(v)
	})
	return err
}
