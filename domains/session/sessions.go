package session

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/rmw"
)

// Config says how sessions are stored, and what the times are. The zero Config
// works.
type Config struct {
	// Prefix comes before a session's id in its key. Default: "session:".
	Prefix string
	// VisitorPrefix is that of the index, whose entries have no expiry: one that is gone
	// before its session is would permit a second. Default: "visitor:".
	VisitorPrefix string
	// Layout is how a session lies in the store. Default: domains.JSON.
	Layout domains.Layout
	// TTL is the expiry that every change of an open session leaves behind, as in
	// [rmw.Key]. Default: it stays as it is; a new session has none.
	TTL time.Duration
	// ClosedTTL is TTL for a closed session. Default: TTL. If it is set and TTL is
	// not, reopening a session removes its expiry.
	ClosedTTL time.Duration
	// RateWindow is how long after closing a session can be rated. Default: 24 h;
	// negative: never.
	RateWindow time.Duration
	// ReopenWindow is how long after closing it can be reopened. Default: never.
	ReopenWindow time.Duration
	// Mend, if not nil, repairs a session that was stored before there were rules: it is called
	// with each that is read, before the rules are looked at. What it changes is stored
	// with the next change. See [domains.CodecOf] for what it may do.
	Mend func(*Session)
	// Codec, if not nil, is a layout of your own. Layout, ClosedTTL and Mend do
	// not count then.
	Codec rmw.Codec[Session]
}

// DefaultRateWindow is [Config] RateWindow's default.
const DefaultRateWindow = 24 * time.Hour

// AbandonedTTL is how long, at least, a session stays on record that was given up while it
// was being opened. Whoever was opening it, and has stalled for longer, could open it
// after all.
const AbandonedTTL = 24 * time.Hour

// Windows returns how long sessions can be rated and reopened.
func (c Config) Windows() Windows {
	return Windows{Rate: max(0, cmp.Or(c.RateWindow, DefaultRateWindow)), Reopen: max(0, c.ReopenWindow)}
}

// Sessions stores sessions. It is safe for concurrent use.
//
// Each method that takes an Op is one [rmw.Store.Update] with the operation of the
// same name of [Session], and returns the session as it is stored then. What a rule
// refuses comes back as a [domains.Refusal].
//
// What changes a session's agent is not here: that concerns the agent, too. Package
// desk has it. A service that keeps no agents does it with Edit.
type Sessions struct {
	cfg      Config
	sessions domains.Repository[Session, *Session]
	visitors domains.Repository[Visitor, *Visitor]
}

// New returns the sessions in store.
func New(store rmw.Store, cfg Config) Sessions {
	codec := cfg.Codec
	if codec == nil {
		codec = domains.CodecOf(cfg.Layout, cfg.expiry, cfg.Mend)
	}
	prefix, visitors := cmp.Or(cfg.Prefix, "session:"), cmp.Or(cfg.VisitorPrefix, "visitor:")
	return Sessions{
		cfg: cfg,
		sessions: domains.NewRepository[Session, *Session](store, domains.Config[Session]{
			Name:    "session",
			Key:     func(id string) rmw.Key { return rmw.Key{Name: prefix + id, TTL: cfg.TTL} },
			ID:      func(s *Session) *string { return &s.ID },
			Codec:   codec,
			Absent:  ErrNoSession,
			Present: ErrSessionExists,
		}),
		visitors: domains.NewRepository[Visitor, *Visitor](store, domains.Config[Visitor]{
			// No ID: an entry of somebody else is nobody's, and the next session overwrites it.
			Name:    "visitor",
			Key:     func(id string) rmw.Key { return rmw.Key{Name: visitors + id} },
			Codec:   domains.CodecOf[Visitor, *Visitor](min(cfg.Layout, domains.Hash), nil), // its version begins anew with each session
			Absent:  ErrNoSession,
			Present: ErrSessionExists,
		}),
	}
}

// expiry is what a write of s leaves behind.
func (c Config) expiry(s *Session) time.Duration {
	switch {
	case s.CloseReason == Abandoned && cmp.Or(c.ClosedTTL, c.TTL) > 0: // else it stays anyway
		return max(c.TTL, c.ClosedTTL, AbandonedTTL)
	case s.Status == Closed:
		return c.ClosedTTL
	case s.reopened && c.ClosedTTL != 0 && c.TTL == 0:
		return rmw.NoTTL
	}
	return 0
}

// Get returns a session.
func (s Sessions) Get(ctx context.Context, id string) (Session, error) {
	return s.sessions.Get(ctx, id)
}

// Create makes a session with what info has under TenantID, VisitorID, RoomID,
// QueueID, MerchantID, Priority and Status, which is Bot or Queued. It does not ask
// whether its visitor has another one: desk.Open does.
func (s Sessions) Create(ctx context.Context, id string, op domains.Op, info Session) (Session, error) {
	if err := s.Validate(id, op, info); err != nil {
		return Session{}, err
	}
	return s.sessions.Create(ctx, id, op.As("Open"), func(n *Session) error {
		*n = begin(id, op, info)
		return nil
	})
}

// Validate reports, as an [rmw.ErrInvalid], why Create would not take info.
func (s Sessions) Validate(id string, op domains.Op, info Session) error {
	if err := op.Validate(); err != nil {
		return err
	}
	if !transitions.Creates("Open", string(info.Status)) {
		return fmt.Errorf("%w: a session begins as %q or %q, not %q", rmw.ErrInvalid, Bot, Queued, info.Status)
	}
	n := begin(id, op, info)
	return n.Check()
}

// begin is a session as it is at first.
func begin(id string, op domains.Op, info Session) Session {
	n := Session{
		ID: id, TenantID: info.TenantID, VisitorID: info.VisitorID, RoomID: info.RoomID, QueueID: info.QueueID,
		MerchantID: info.MerchantID, Priority: info.Priority, Status: info.Status,
		CreatedAt: op.Time(), UpdatedAt: op.Time(), Unknown: info.Unknown,
	}
	if n.Status == Queued {
		n.QueuedAt = op.Time()
	}
	return n
}

// Edit changes a session by whatever change does, in one step. change may run
// several times, and computes only; see [rmw.UpdateFunc].
func (s Sessions) Edit(ctx context.Context, id string, op domains.Op, change func(*Session) error) (Session, error) {
	n, err := s.sessions.Edit(ctx, id, op, change)
	n.reopened = false // it is what is stored, not how it came about
	return n, err
}

// Escalate asks for an agent where a program has answered so far.
func (s Sessions) Escalate(ctx context.Context, id string, op domains.Op, queueID string) (Session, error) {
	return s.Edit(ctx, id, op.As("Escalate"), func(n *Session) error { return n.Escalate(op.Time(), queueID) })
}

// Reply notes that the agent has written.
func (s Sessions) Reply(ctx context.Context, id string, op domains.Op, agentID string) (Session, error) {
	return s.Edit(ctx, id, op.As("Reply"), func(n *Session) error { return n.Reply(op.Time(), agentID) })
}

// VisitorWrites notes that the visitor has written.
func (s Sessions) VisitorWrites(ctx context.Context, id string, op domains.Op) (Session, error) {
	return s.Edit(ctx, id, op.As("VisitorWrites"), func(n *Session) error { return n.VisitorWrites(op.Time()) })
}

// Hold sets the session aside until the visitor writes.
func (s Sessions) Hold(ctx context.Context, id string, op domains.Op, agentID string) (Session, error) {
	return s.Edit(ctx, id, op.As("Hold"), func(n *Session) error { return n.Hold(op.Time(), agentID) })
}

// Resume takes up a session that is on hold.
func (s Sessions) Resume(ctx context.Context, id string, op domains.Op, agentID string) (Session, error) {
	return s.Edit(ctx, id, op.As("Resume"), func(n *Session) error { return n.Resume(op.Time(), agentID) })
}

// SetPriority puts the session before or behind others.
func (s Sessions) SetPriority(ctx context.Context, id string, op domains.Op, priority int) (Session, error) {
	return s.Edit(ctx, id, op.As("SetPriority"), func(n *Session) error { return n.SetPriority(op.Time(), priority) })
}

// SetMerchant says which merchant the conversation is about.
func (s Sessions) SetMerchant(ctx context.Context, id string, op domains.Op, merchantID string) (Session, error) {
	return s.Edit(ctx, id, op.As("SetMerchant"), func(n *Session) error { return n.SetMerchant(op.Time(), merchantID) })
}

// Rate is what the visitor thought of the session.
func (s Sessions) Rate(ctx context.Context, id string, op domains.Op, score int, comment string) (Session, error) {
	return s.Edit(ctx, id, op.As("Rate"), func(n *Session) error {
		return n.Rate(op.Time(), Rating{Score: score, Comment: comment})
	})
}

// Settle is Edit for a change that needs no operation id: what it does shows in the
// session, and doing it again changes nothing.
func (s Sessions) Settle(ctx context.Context, id string, at time.Time, change func(*Session) error) (Session, error) {
	n, err := s.sessions.Settle(ctx, id, at, func(n *Session, exists bool) error {
		if !exists {
			return ErrNoSession
		}
		return change(n)
	})
	n.reopened = false
	return n, err
}

// Fence makes sure that whoever has seen the session at epoch, or before, cannot
// change its agent any more. It needs no operation id.
func (s Sessions) Fence(ctx context.Context, id string, at time.Time, epoch uint64) (Session, error) {
	return s.Settle(ctx, id, at, func(n *Session) error { return n.Fence(domains.At(at), epoch) })
}

// Abandon makes sure that a session which does not exist never will: it stores one
// that is closed. If there is one already, it returns that.
func (s Sessions) Abandon(ctx context.Context, id string, at time.Time, visitorID string) (Session, error) {
	now := domains.At(at)
	return s.sessions.Settle(ctx, id, at, func(n *Session, exists bool) error {
		if exists {
			return rmw.Keep
		}
		*n = Session{
			ID: id, VisitorID: visitorID, Status: Closed, CloseReason: Abandoned, Epoch: 1,
			CreatedAt: now, ClosedAt: now, UpdatedAt: now,
		}
		return nil
	})
}

// Windows returns how long after closing the sessions can be rated and reopened.
func (s Sessions) Windows() Windows { return s.cfg.Windows() }
