package domains

import (
	"crypto/rand"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/unwatch/unwatch/rmw"
)

// Op names one operation of a caller.
type Op struct {
	// ID tells this operation from every other. Sent twice, it happens once, as long as
	// the entity remembers it: for [Remembered] other operations. One that was refused, or
	// found nothing to change, is not remembered, and is looked at anew.
	//
	// Two operations need two ids, also those of one request: see [Op.For]. Where they
	// have two names, the second is refused with an [rmw.ErrInvalid].
	ID string
	// Name says what the operation does. The methods of packages chat, session, mcc and
	// desk set it, to its name in their tables. For a change of your own it is yours to
	// set, see [Op.As]; empty is "Edit", or "Create" for what creates.
	Name string
	// At is when the operation happens. Entities store it in milliseconds. One that
	// is behind what an entity has already seen counts as that: stored times never
	// run backwards, however far the clocks of two machines are apart.
	At time.Time
}

// MaxOpID is the longest permitted Op.ID, in bytes: every entity stores the last
// [Remembered] of them.
const MaxOpID = 64

// MaxOpName is the longest permitted Op.Name, in bytes: it is stored with the id.
const MaxOpName = 32

// NewOp returns an operation with a random ID. Keep it, to send it again after an
// [rmw.ErrOutcomeUnknown]. Where a request has an id of its own, use that instead:
// then a client's retry is recognised, too.
func NewOp(at time.Time) Op { return Op{ID: rand.Text(), At: at} }

// For returns an operation with an id of its own, for one of several that a request
// comes to:
//
//	rooms.Join(ctx, room, op.For("join"), ann, chat.Member{})
//	rooms.Post(ctx, room, op.For("hello"), ann)
func (op Op) For(step string) Op {
	op.ID += "/" + step
	return op
}

// As returns the operation with a name:
//
//	rooms.Edit(ctx, room, op.As("Invite"), invite)
//
// Then its id serves no operation of another name. Of two changes that are both "Edit",
// only their ids tell which is which. A name is for ever, because it is stored: what is
// renamed is another operation to whoever sends it again.
func (op Op) As(name string) Op {
	op.Name = name
	return op
}

// Validate reports, as an [rmw.ErrInvalid], what makes op unusable.
func (op Op) Validate() error {
	switch {
	case op.ID == "":
		return fmt.Errorf("%w: Op.ID is empty: use NewOp, or the id of the request", rmw.ErrInvalid)
	case len(op.ID) > MaxOpID:
		return fmt.Errorf("%w: Op.ID has %d bytes, at most %d can be stored: use a hash of it", rmw.ErrInvalid, len(op.ID), MaxOpID)
	case !utf8.ValidString(op.ID):
		// It would be stored as another one, and not be recognised.
		return fmt.Errorf("%w: Op.ID is not UTF-8: use a hash of it, in hex", rmw.ErrInvalid)
	case len(op.Name) > MaxOpName:
		return fmt.Errorf("%w: Op.Name has %d bytes, at most %d can be stored", rmw.ErrInvalid, len(op.Name), MaxOpName)
	case !utf8.ValidString(op.Name):
		return fmt.Errorf("%w: Op.Name is not UTF-8", rmw.ErrInvalid)
	}
	return checkMoment(op.At)
}

func checkMoment(at time.Time) error {
	// Not by At alone: the milliseconds of a moment that is far off wrap around.
	if At(at) <= 0 || At(at) > maxTime || !At(at).Time().Equal(at.Truncate(time.Millisecond)) {
		return fmt.Errorf("%w: the time is %v: pass when the operation happens", rmw.ErrInvalid, at)
	}
	return nil
}

// Time returns At as entities store it.
func (op Op) Time() Time { return At(op.At) }
