package session

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/rmw"
)

// Config configures [Sessions]. The zero Config works.
type Config struct {
	// Prefix comes before a session's id in its key. Default: "session:".
	Prefix string
	// VisitorPrefix comes before a visitor's id in the key of the [Visitor] index. Its entries have no expiry:
	// without its entry, a visitor could open a second session. Default: "visitor:".
	VisitorPrefix string
	// Layout is the stored form of a session. Default: domains.JSON. docs/domains.md compares the costs.
	Layout domains.Layout
	// TTL is the expiry after every change of an open session, as in [rmw.Key]. Default: a change keeps the
	// expiry, and a new session has none.
	TTL time.Duration
	// ClosedTTL is TTL for a closed session. Default: TTL. If it is set and TTL is not, reopening a session
	// removes its expiry.
	ClosedTTL time.Duration
	// RateWindow is the time after the closing in which a session can be rated. Default: 24 h; negative: never.
	RateWindow time.Duration
	// ReopenWindow is the time after the closing in which a session can be reopened. Default: never.
	ReopenWindow time.Duration
	// Mend, if not nil, repairs a session from before the rules. It is called with each session that is read,
	// before the rules are checked. The next change stores the repair. See [domains.CodecOf] for its limits.
	Mend func(*Session)
	// Codec, if not nil, replaces Layout, ClosedTTL and Mend.
	Codec rmw.Codec[Session]
}

// abandonedTTL is the least expiry of a session that was abandoned while it was being opened. A process that
// stalls for longer while it opens the session could open it after all.
const abandonedTTL = 24 * time.Hour

// Sessions stores sessions. It is safe for concurrent use, and needs no Close.
//
// Each method that takes an Op is one [rmw.Store.Update] with the operation of the same name of [Session]. It
// returns the stored session, or a [domains.Refusal] if a rule forbids the change.
//
// Operations that change the agent are in package desk, because they also change the agent's slots. A service
// that stores no agents calls them in Edit.
type Sessions struct {
	cfg      Config
	sessions domains.Repository[Session, *Session]
	visitors domains.Repository[Visitor, *Visitor]
}

// New returns Sessions over store.
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
			// No ID: the next session overwrites an entry with a wrong id.
			Name:    "visitor",
			Key:     func(id string) rmw.Key { return rmw.Key{Name: visitors + id} },
			Codec:   domains.CodecOf[Visitor, *Visitor](min(cfg.Layout, domains.Hash), nil), // its version begins anew with each session
			Absent:  ErrNoSession,
			Present: ErrSessionExists,
		}),
	}
}

// expiry returns the TTL after a write of s; 0 leaves it to the key.
func (c Config) expiry(s *Session) time.Duration {
	switch {
	case s.CloseReason == Abandoned && cmp.Or(c.ClosedTTL, c.TTL) > 0: // else it never expires
		return max(c.TTL, c.ClosedTTL, abandonedTTL)
	case s.Status == Closed:
		return c.ClosedTTL
	case s.reopened && c.ClosedTTL != 0 && c.TTL == 0:
		return rmw.NoTTL
	}
	return 0
}

// Get returns a session, or [ErrNoSession].
func (s Sessions) Get(ctx context.Context, id string) (Session, error) {
	return s.sessions.Get(ctx, id)
}

// Create stores a new session with TenantID, VisitorID, RoomID, QueueID, MerchantID, Priority, Unknown and
// Status of info. Status must be Bot or Queued. Create does not check that the visitor has no other session:
// desk.Open does.
func (s Sessions) Create(ctx context.Context, id string, op domains.Op, info Session) (Session, error) {
	if err := s.Validate(id, op, info); err != nil {
		return Session{}, err
	}
	return s.sessions.Create(ctx, id, op.As("Open"), func(n *Session) error {
		*n = begin(id, op, info)
		return nil
	})
}

// Validate returns an [rmw.ErrInvalid] if Create would not accept the arguments.
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

// begin returns a new session.
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

// Edit applies change to a session in one update. change may run several times and must have no side effects.
func (s Sessions) Edit(ctx context.Context, id string, op domains.Op, change func(*Session) error) (Session, error) {
	n, err := s.sessions.Edit(ctx, id, op, change)
	n.reopened = false
	return n, err
}

// Escalate queues a session that a bot has answered so far.
func (s Sessions) Escalate(ctx context.Context, id string, op domains.Op, queueID string) (Session, error) {
	return s.Edit(ctx, id, op.As("Escalate"), func(n *Session) error { return n.Escalate(op.Time(), queueID) })
}

// Reply records that the agent has written. The first reply makes the session active.
func (s Sessions) Reply(ctx context.Context, id string, op domains.Op, agentID string) (Session, error) {
	return s.Edit(ctx, id, op.As("Reply"), func(n *Session) error { return n.Reply(op.Time(), agentID) })
}

// VisitorWrites records that the visitor has written. It makes a session on hold active.
func (s Sessions) VisitorWrites(ctx context.Context, id string, op domains.Op) (Session, error) {
	return s.Edit(ctx, id, op.As("VisitorWrites"), func(n *Session) error { return n.VisitorWrites(op.Time()) })
}

// Hold puts an active session on hold until the visitor writes.
func (s Sessions) Hold(ctx context.Context, id string, op domains.Op, agentID string) (Session, error) {
	return s.Edit(ctx, id, op.As("Hold"), func(n *Session) error { return n.Hold(op.Time(), agentID) })
}

// Resume makes a session on hold active.
func (s Sessions) Resume(ctx context.Context, id string, op domains.Op, agentID string) (Session, error) {
	return s.Edit(ctx, id, op.As("Resume"), func(n *Session) error { return n.Resume(op.Time(), agentID) })
}

// SetPriority sets the order in a queue; higher comes first.
func (s Sessions) SetPriority(ctx context.Context, id string, op domains.Op, priority int) (Session, error) {
	return s.Edit(ctx, id, op.As("SetPriority"), func(n *Session) error { return n.SetPriority(op.Time(), priority) })
}

// SetMerchant sets the merchant that the conversation is about; empty is none.
func (s Sessions) SetMerchant(ctx context.Context, id string, op domains.Op, merchantID string) (Session, error) {
	return s.Edit(ctx, id, op.As("SetMerchant"), func(n *Session) error { return n.SetMerchant(op.Time(), merchantID) })
}

// Rate stores the visitor's rating of a closed session, once: score is 1 to 5, comment at most 4096
// bytes.
func (s Sessions) Rate(ctx context.Context, id string, op domains.Op, score int, comment string) (Session, error) {
	return s.Edit(ctx, id, op.As("Rate"), func(n *Session) error {
		return n.Rate(op.Time(), Rating{Score: score, Comment: comment})
	})
}

// Settle is Edit for an idempotent change, which needs no operation id. Package desk uses it.
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

// Fence raises the epoch above the given one, so that an Assign, Transfer or Reopen at that epoch or an earlier
// one returns [ErrMovedOn]. It is idempotent.
func (s Sessions) Fence(ctx context.Context, id string, at time.Time, epoch uint64) (Session, error) {
	return s.Settle(ctx, id, at, func(n *Session) error { return n.Fence(domains.At(at), epoch) })
}

// Abandon prevents the creation of a session: it stores a closed one under the id. If the session exists,
// Abandon changes nothing and returns it.
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

// Windows returns the times after the closing in which sessions can be rated and reopened.
func (s Sessions) Windows() Windows {
	return Windows{Rate: max(0, cmp.Or(s.cfg.RateWindow, 24*time.Hour)), Reopen: max(0, s.cfg.ReopenWindow)}
}
