package chat

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/rmw"
)

// Config configures [Rooms]. The zero Config works.
type Config struct {
	// Prefix comes before a room's id in its key. Default: "chat:room:".
	Prefix string
	// Layout is the stored form of a room. Default: domains.JSON. docs/domains.md compares the costs.
	Layout domains.Layout
	// TTL is the expiry after every change of an open room, as in [rmw.Key]. Default: a change keeps the
	// expiry, and a new room has none.
	TTL time.Duration
	// ClosedTTL is TTL for a closed room. Default: TTL.
	ClosedTTL time.Duration
	// Mend, if not nil, repairs a room from before the rules. It is called with each room that is read, before
	// the rules are checked. The next change stores the repair. See [domains.CodecOf] for its limits.
	Mend func(*Room)
	// Codec, if not nil, replaces Layout, ClosedTTL and Mend.
	Codec rmw.Codec[Room]
}

// Rooms stores rooms. It is safe for concurrent use, and needs no Close.
//
// Each method that changes a room is one [rmw.Store.Update] with the operation of the same name of [Room]. It
// returns the stored room, or a [domains.Refusal] if a rule forbids the change.
type Rooms struct {
	repo domains.Repository[Room, *Room]
}

// New returns Rooms over store.
func New(store rmw.Store, cfg Config) Rooms {
	codec := cfg.Codec
	if codec == nil {
		codec = domains.CodecOf(cfg.Layout, func(r *Room) time.Duration {
			if r.Status == Closed {
				return cfg.ClosedTTL
			}
			return 0
		}, cfg.Mend)
	}
	prefix := cmp.Or(cfg.Prefix, "chat:room:")
	return Rooms{domains.NewRepository[Room, *Room](store, domains.Config[Room]{
		Name:    "room",
		Key:     func(id string) rmw.Key { return rmw.Key{Name: prefix + id, TTL: cfg.TTL} },
		ID:      func(r *Room) *string { return &r.ID },
		Codec:   codec,
		Absent:  ErrNoRoom,
		Present: ErrRoomExists,
	})}
}

// Get returns a room, or [ErrNoRoom].
func (s Rooms) Get(ctx context.Context, id string) (Room, error) { return s.repo.Get(ctx, id) }

// Create stores a new room, open and empty, with TenantID, Name, Topic, Cap, StayOpen and Unknown of info.
func (s Rooms) Create(ctx context.Context, id string, op domains.Op, info Room) (Room, error) {
	return s.repo.Create(ctx, id, op.As("Create"), func(r *Room) error {
		*r = Room{
			ID: id, TenantID: info.TenantID, Name: info.Name, Topic: info.Topic, Cap: info.Cap, StayOpen: info.StayOpen,
			Status: Open, CreatedAt: op.Time(), ActiveAt: op.Time(), Unknown: info.Unknown,
		}
		return nil
	})
}

// Edit applies change to a room in one update. change may run several times and must have no side effects.
func (s Rooms) Edit(ctx context.Context, id string, op domains.Op, change func(*Room) error) (Room, error) {
	return s.repo.Edit(ctx, id, op, change)
}

// Describe sets the name and the topic, at most 256 and 4096 bytes.
func (s Rooms) Describe(ctx context.Context, id string, op domains.Op, name, topic string) (Room, error) {
	return s.Edit(ctx, id, op.As("Describe"), func(r *Room) error { return r.Describe(op.Time(), name, topic) })
}

// SetCap sets the limit of members; 0 is no limit.
func (s Rooms) SetCap(ctx context.Context, id string, op domains.Op, limit int) (Room, error) {
	return s.Edit(ctx, id, op.As("SetCap"), func(r *Room) error { return r.SetCap(op.Time(), limit) })
}

// Join adds a member, and makes it the owner if the room has none.
func (s Rooms) Join(ctx context.Context, id string, op domains.Op, memberID string, m Member) (Room, error) {
	return s.Edit(ctx, id, op.As("Join"), func(r *Room) error { return r.Join(op.Time(), memberID, m) })
}

// Leave removes a member.
func (s Rooms) Leave(ctx context.Context, id string, op domains.Op, memberID string) (Room, error) {
	return s.Edit(ctx, id, op.As("Leave"), func(r *Room) error { return r.Leave(op.Time(), memberID) })
}

// Remove removes a member. by must be the owner or System.
func (s Rooms) Remove(ctx context.Context, id string, op domains.Op, by, memberID string) (Room, error) {
	return s.Edit(ctx, id, op.As("Remove"), func(r *Room) error { return r.Remove(op.Time(), by, memberID) })
}

// SetRole sets the role of a member. by must be the owner or System.
func (s Rooms) SetRole(ctx context.Context, id string, op domains.Op, by, memberID string, role Role) (Room, error) {
	return s.Edit(ctx, id, op.As("SetRole"), func(r *Room) error { return r.SetRole(op.Time(), by, memberID, role) })
}

// Mute forbids or permits a member to post. by must be the owner or System.
func (s Rooms) Mute(ctx context.Context, id string, op domains.Op, by, memberID string, muted bool) (Room, error) {
	return s.Edit(ctx, id, op.As("Mute"), func(r *Room) error { return r.Mute(op.Time(), by, memberID, muted) })
}

// TransferOwner makes a member the owner. by must be the owner or System.
func (s Rooms) TransferOwner(ctx context.Context, id string, op domains.Op, by, memberID string) (Room, error) {
	return s.Edit(ctx, id, op.As("TransferOwner"), func(r *Room) error { return r.TransferOwner(op.Time(), by, memberID) })
}

// Post counts one more message and returns its number. The same operation sent again returns the same number,
// as long as the room remembers it: for [domains.Remembered] other changes of the room, and each MarkRead is
// one.
func (s Rooms) Post(ctx context.Context, id string, op domains.Op, memberID string) (seq uint64, room Room, err error) {
	room, seq, err = s.repo.Number(ctx, id, op.As("Post"), func(r *Room) (uint64, error) { return r.Post(op.Time(), memberID) })
	if err == nil && seq == 0 {
		// The other operation was stored without a name.
		return 0, Room{}, fmt.Errorf("%w: the id %q was used for another operation: two operations need two ids, see Op.For",
			rmw.ErrInvalid, op.ID)
	}
	return seq, room, err
}

// MarkRead records that a member has read all messages up to number seq.
func (s Rooms) MarkRead(ctx context.Context, id string, op domains.Op, memberID string, seq uint64) (Room, error) {
	return s.Edit(ctx, id, op.As("MarkRead"), func(r *Room) error { return r.MarkRead(op.Time(), memberID, seq) })
}

// Touch sets the time of the last activity in the room.
func (s Rooms) Touch(ctx context.Context, id string, op domains.Op) (Room, error) {
	return s.Edit(ctx, id, op.As("Touch"), func(r *Room) error { return r.Touch(op.Time()) })
}

// Close closes the room for good. by must be the owner or System.
func (s Rooms) Close(ctx context.Context, id string, op domains.Op, by string) (Room, error) {
	return s.Edit(ctx, id, op.As("Close"), func(r *Room) error { return r.Close(op.Time(), by) })
}
