package chat

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/rmw"
)

// Config says how rooms are stored. The zero Config works.
type Config struct {
	// Prefix comes before a room's id in its key. Default: "chat:room:".
	Prefix string
	// Layout is how a room lies in the store. Default: domains.JSON. See the
	// package's "Sizes and cost".
	Layout domains.Layout
	// TTL is the expiry that every change of an open room leaves behind, as in
	// [rmw.Key]. Default: it stays as it is; a new room has none.
	TTL time.Duration
	// ClosedTTL is TTL for a closed room. Default: TTL. Nobody opens a room again.
	ClosedTTL time.Duration
	// Mend, if not nil, repairs a room that was stored before there were rules: it is called
	// with each that is read, before the rules are looked at. What it changes is stored
	// with the next change. See [domains.CodecOf] for what it may do.
	Mend func(*Room)
	// Codec, if not nil, is a layout of your own. Layout, ClosedTTL and Mend do
	// not count then.
	Codec rmw.Codec[Room]
}

// Rooms stores rooms. It is safe for concurrent use.
//
// Each method is one [rmw.Store.Update] with the operation of the same name of
// [Room], and returns the room as it is stored then. What a rule refuses comes back
// as a [domains.Refusal].
type Rooms struct {
	repo domains.Repository[Room, *Room]
}

// New returns the rooms in store.
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

// Get returns a room.
func (s Rooms) Get(ctx context.Context, id string) (Room, error) { return s.repo.Get(ctx, id) }

// Create makes a room, open and empty, with what info has under TenantID, Name,
// Topic, Cap and StayOpen.
func (s Rooms) Create(ctx context.Context, id string, op domains.Op, info Room) (Room, error) {
	return s.repo.Create(ctx, id, op.As("Create"), func(r *Room) error {
		*r = Room{
			ID: id, TenantID: info.TenantID, Name: info.Name, Topic: info.Topic, Cap: info.Cap, StayOpen: info.StayOpen,
			Status: Open, CreatedAt: op.Time(), ActiveAt: op.Time(), Unknown: info.Unknown,
		}
		return nil
	})
}

// Edit changes a room by whatever change does, in one step. change may run several
// times, and computes only; see [rmw.UpdateFunc].
func (s Rooms) Edit(ctx context.Context, id string, op domains.Op, change func(*Room) error) (Room, error) {
	return s.repo.Edit(ctx, id, op, change)
}

// Describe sets the name and the topic.
func (s Rooms) Describe(ctx context.Context, id string, op domains.Op, name, topic string) (Room, error) {
	return s.Edit(ctx, id, op.As("Describe"), func(r *Room) error { return r.Describe(op.Time(), name, topic) })
}

// SetCap sets how many members there may be; 0 is no limit.
func (s Rooms) SetCap(ctx context.Context, id string, op domains.Op, limit int) (Room, error) {
	return s.Edit(ctx, id, op.As("SetCap"), func(r *Room) error { return r.SetCap(op.Time(), limit) })
}

// Join makes somebody a member, the owner if there is none.
func (s Rooms) Join(ctx context.Context, id string, op domains.Op, memberID string, m Member) (Room, error) {
	return s.Edit(ctx, id, op.As("Join"), func(r *Room) error { return r.Join(op.Time(), memberID, m) })
}

// Leave takes a member out.
func (s Rooms) Leave(ctx context.Context, id string, op domains.Op, memberID string) (Room, error) {
	return s.Edit(ctx, id, op.As("Leave"), func(r *Room) error { return r.Leave(op.Time(), memberID) })
}

// Remove is Leave, by the owner.
func (s Rooms) Remove(ctx context.Context, id string, op domains.Op, by, memberID string) (Room, error) {
	return s.Edit(ctx, id, op.As("Remove"), func(r *Room) error { return r.Remove(op.Time(), by, memberID) })
}

// SetRole makes a member something else.
func (s Rooms) SetRole(ctx context.Context, id string, op domains.Op, by, memberID string, role Role) (Room, error) {
	return s.Edit(ctx, id, op.As("SetRole"), func(r *Room) error { return r.SetRole(op.Time(), by, memberID, role) })
}

// Mute keeps a member from posting, or lets the member post again.
func (s Rooms) Mute(ctx context.Context, id string, op domains.Op, by, memberID string, muted bool) (Room, error) {
	return s.Edit(ctx, id, op.As("Mute"), func(r *Room) error { return r.Mute(op.Time(), by, memberID, muted) })
}

// TransferOwner makes another member the owner.
func (s Rooms) TransferOwner(ctx context.Context, id string, op domains.Op, by, memberID string) (Room, error) {
	return s.Edit(ctx, id, op.As("TransferOwner"), func(r *Room) error { return r.TransferOwner(op.Time(), by, memberID) })
}

// Post counts one more message and returns its number. The same operation sent again
// gets the same number, as long as the room remembers it: see [domains.Op]. In a busy
// room that is not long, for every change of it counts, and every MarkRead is one.
func (s Rooms) Post(ctx context.Context, id string, op domains.Op, memberID string) (seq uint64, room Room, err error) {
	room, seq, err = s.repo.Number(ctx, id, op.As("Post"), func(r *Room) (uint64, error) { return r.Post(op.Time(), memberID) })
	if err == nil && seq == 0 {
		// It was stored without its name.
		return 0, Room{}, fmt.Errorf("%w: the id %q was used for another operation: two operations need two ids, see Op.For",
			rmw.ErrInvalid, op.ID)
	}
	return seq, room, err
}

// MarkRead notes that a member has read all up to a message.
func (s Rooms) MarkRead(ctx context.Context, id string, op domains.Op, memberID string, seq uint64) (Room, error) {
	return s.Edit(ctx, id, op.As("MarkRead"), func(r *Room) error { return r.MarkRead(op.Time(), memberID, seq) })
}

// Touch notes that something has happened in the room.
func (s Rooms) Touch(ctx context.Context, id string, op domains.Op) (Room, error) {
	return s.Edit(ctx, id, op.As("Touch"), func(r *Room) error { return r.Touch(op.Time()) })
}

// Close ends the room.
func (s Rooms) Close(ctx context.Context, id string, op domains.Op, by string) (Room, error) {
	return s.Edit(ctx, id, op.As("Close"), func(r *Room) error { return r.Close(op.Time(), by) })
}
