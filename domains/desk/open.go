package desk

import (
	"context"
	"errors"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/domains/session"
)

// Open creates a session for the visitor info.VisitorID. If the visitor has an open session, Open returns that
// session and [ErrHasSession]. sessionID must be new; info is as for [session.Sessions.Create].
func (d Desk) Open(ctx context.Context, op domains.Op, sessionID string, info session.Session) (session.Session, error) {
	if err := domains.CheckID("visitor", info.VisitorID); err != nil {
		return session.Session{}, err
	}
	if err := d.sessions.Validate(sessionID, op, info); err != nil {
		return session.Session{}, err
	}
	op = op.As("Open")
	return d.open(ctx, op, info.VisitorID, sessionID, func(v view) (session.Session, error) {
		switch {
		case v.exists && v.session.CloseReason == session.Abandoned:
			return session.Session{}, ErrAbandoned
		case v.exists:
			return session.Session{}, session.ErrSessionExists
		}
		if err := d.point(ctx, op, v, sessionID); err != nil {
			return session.Session{}, err
		}
		return d.sessions.Create(ctx, sessionID, op, info)
	})
}

// Reopen queues a closed session again, within Config.ReopenWindow of package session. If the visitor has
// another open session, Reopen returns that session and [ErrHasSession].
func (d Desk) Reopen(ctx context.Context, op domains.Op, sessionID string) (session.Session, error) {
	s, err := d.sessions.Get(ctx, sessionID)
	if err != nil {
		return session.Session{}, err
	}
	op = op.As("Reopen")
	return d.open(ctx, op, s.VisitorID, sessionID, func(v view) (session.Session, error) {
		reopen := func(s *session.Session) error { return s.Reopen(op.Time(), v.session.Epoch) }
		trial := v.session // a refused operation needs no entry
		if err := reopen(&trial); err != nil {
			return session.Session{}, err
		}
		if err := d.point(ctx, op, v, sessionID); err != nil {
			return session.Session{}, err
		}
		return d.sessions.Edit(ctx, sessionID, op, reopen)
	})
}

// view is the state that was read before a session is opened.
type view struct {
	session session.Session
	exists  bool
	visitor string // "" for a session without a visitor
	entry   session.Visitor
}

// open makes a session the only open one of the visitor.
func (d Desk) open(
	ctx context.Context, op domains.Op, visitorID, sessionID string, commit func(view) (session.Session, error),
) (session.Session, error) {
	for attempt := 1; ; attempt++ {
		s, lost, err := d.tryOpen(ctx, op, visitorID, sessionID, commit)
		if err == nil && visitorID != "" {
			d.finish(ctx, sessionID, func(ctx context.Context) error {
				return d.sessions.ConfirmVisitor(ctx, visitorID, op.At, sessionID)
			})
		}
		if !lost || attempt == maxAttempts {
			return s, err
		}
	}
}

// tryOpen is one attempt. lost reports a lost race, after which another attempt is worthwhile.
func (d Desk) tryOpen(
	ctx context.Context, op domains.Op, visitorID, sessionID string, commit func(view) (session.Session, error),
) (s session.Session, lost bool, err error) {
	v := view{visitor: visitorID, exists: true}
	v.session, err = d.sessions.Get(ctx, sessionID)
	if errors.Is(err, session.ErrNoSession) {
		v.exists, err = false, nil
	}
	if err != nil {
		return s, false, err
	}
	if done, err := happened(op, sessionID, v.session); err != nil {
		return s, false, err
	} else if done {
		return v.session, false, nil
	}
	if visitorID != "" {
		if v.entry, err = d.sessions.Visitor(ctx, visitorID); err != nil {
			return s, false, err
		}
		if v.entry.SessionID != "" && v.entry.SessionID != sessionID {
			if s, err := d.vacate(ctx, op, v); err != nil {
				return s, errors.Is(err, session.ErrMovedOn), err
			}
		}
	}
	s, err = commit(v)
	return s, errors.Is(err, session.ErrMovedOn) || errors.Is(err, session.ErrSessionExists) && !v.exists, err
}

// point reserves the visitor's entry for the session.
func (d Desk) point(ctx context.Context, op domains.Op, v view, sessionID string) error {
	if v.visitor == "" {
		return nil
	}
	_, err := d.sessions.ReserveVisitor(ctx, v.visitor, op.At, v.entry, sessionID, v.session.Epoch, d.until(op))
	return err
}

// vacate ensures that the session in the entry is not open, and cannot be opened by that entry. If it is open,
// vacate returns it and ErrHasSession.
func (d Desk) vacate(ctx context.Context, op domains.Op, v view) (session.Session, error) {
	named := v.entry.SessionID
	s, err := d.sessions.Get(ctx, named)
	gone := errors.Is(err, session.ErrNoSession)
	switch {
	case err != nil && !gone:
		return session.Session{}, err
	case !gone && s.VisitorID != v.visitor:
		return session.Session{}, nil // an Open that lost a race for the id has left the entry
	case !gone && s.Status != session.Closed:
		return s, ErrHasSession
	case v.entry.State == session.Reserved && d.waits(v.entry.Until, op.At):
		return session.Session{}, ErrOpening
	case gone:
		s, err = d.sessions.Abandon(ctx, named, op.At, v.visitor)
	default:
		s, err = d.sessions.Fence(ctx, named, op.At, max(s.Epoch, v.entry.Epoch))
	}
	if err == nil && s.Status != session.Closed {
		err = session.ErrMovedOn // another process has opened it
	}
	return session.Session{}, err
}
