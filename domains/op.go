package domains

import (
	"crypto/rand"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/unwatch/unwatch/rmw"
)

// Op identifies one operation of a caller.
type Op struct {
	// ID is unique per operation, 1 to 64 bytes of UTF-8. An operation that is sent twice happens once,
	// as long as the entity remembers it: for [Remembered] other operations. An operation that was refused, or
	// changed nothing, is not remembered, and is evaluated anew.
	//
	// Two operations need two ids, also within one request: see [Op.For]. If their names differ, the second
	// returns an [rmw.ErrInvalid].
	ID string
	// Name is the kind of operation, at most 32 bytes of UTF-8. The methods of packages chat, session, mcc and desk
	// set it to the name in their transition tables. For your own change, set it with [Op.As]; the default is "Edit"
	// or "Create".
	Name string
	// At is the time of the operation. Entities store milliseconds. If At is before the latest time of the
	// entity, the latest time counts: stored times never run backwards, however far two clocks differ.
	At time.Time
}

// The longest Op.ID and Op.Name in bytes. Every entity stores [Remembered] of both.
const (
	maxOpID   = 64
	maxOpName = 32
)

// NewOp returns an operation with a random ID. Keep the operation, to send it again after an
// [rmw.ErrOutcomeUnknown]. If a request has an id of its own, use that id instead: it also identifies a retry
// by the client.
func NewOp(at time.Time) Op { return Op{ID: rand.Text(), At: at} }

// For returns an operation with its own id, for one of several operations of a request:
//
//	rooms.Join(ctx, room, op.For("join"), ann, chat.Member{})
//	rooms.Post(ctx, room, op.For("hello"), ann)
func (op Op) For(step string) Op {
	op.ID += "/" + step
	return op
}

// As returns the operation with a name, at most 32 bytes:
//
//	rooms.Edit(ctx, room, op.As("Invite"), invite)
//
// The id then serves no operation of another name. Names are stored: after a rename, a retry of an old
// operation is refused.
func (op Op) As(name string) Op {
	op.Name = name
	return op
}

// Validate returns an [rmw.ErrInvalid] if op has no usable id, name or time.
func (op Op) Validate() error {
	switch {
	case op.ID == "":
		return fmt.Errorf("%w: Op.ID is empty: use NewOp, or the id of the request", rmw.ErrInvalid)
	case len(op.ID) > maxOpID:
		return fmt.Errorf("%w: Op.ID has %d bytes, at most %d can be stored: use a hash of it", rmw.ErrInvalid, len(op.ID), maxOpID)
	case !utf8.ValidString(op.ID):
		// encoding/json would store another id, and a retry would not match it.
		return fmt.Errorf("%w: Op.ID is not UTF-8: use a hash of it, in hex", rmw.ErrInvalid)
	case len(op.Name) > maxOpName:
		return fmt.Errorf("%w: Op.Name has %d bytes, at most %d can be stored", rmw.ErrInvalid, len(op.Name), maxOpName)
	case !utf8.ValidString(op.Name):
		return fmt.Errorf("%w: Op.Name is not UTF-8", rmw.ErrInvalid)
	}
	return checkMoment(op.At)
}

func checkMoment(at time.Time) error {
	// The range check is not enough: the milliseconds of a far time wrap around.
	if At(at) <= 0 || At(at) > maxTime || !At(at).Time().Equal(at.Truncate(time.Millisecond)) {
		return fmt.Errorf("%w: the time is %v: pass when the operation happens", rmw.ErrInvalid, at)
	}
	return nil
}

// Time returns At as entities store it.
func (op Op) Time() Time { return At(op.At) }
