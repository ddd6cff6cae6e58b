package protocol

import (
	"crypto/rand"
	"encoding/binary"
)

// Side is one of the two stores.
type Side uint8

// The two stores.
const (
	Old Side = iota
	New
)

// Other returns the other store.
func (s Side) Other() Side { return 1 - s }

func (s Side) String() string {
	if s == Old {
		return "old"
	}
	return "new"
}

// Nonce names one marker.
type Nonce struct {
	// Hop counts the moves of the key. A forward seal has an odd hop, a backward seal an even one.
	Hop uint32
	// ID is fresh for each attempt. A nonce is compared with nonces of the same key only, so 64 random
	// bits suffice.
	ID uint64
}

// NewNonce returns a Nonce with a fresh ID.
func NewNonce(hop uint32) Nonce {
	var id [8]byte
	_, _ = rand.Read(id[:]) // returns no error
	return Nonce{Hop: hop, ID: binary.NativeEndian.Uint64(id[:])}
}

// Kind is the state of a key in one store.
type Kind uint8

// The states of a key in one store.
const (
	Open Kind = iota
	Sealed
	Away
)

// Look is the state of a key in one store, as one command found it.
type Look struct {
	Kind Kind
	// Absent says that an open key does not exist.
	Absent bool
	// Nonce is that of the marker, unless the key is open.
	Nonce Nonce
	// For is the nonce of the other store's marker that the value was sealed for. It is zero for
	// a reservation.
	For Nonce
}

// Reservation says whether the marker was never sealed.
func (l Look) Reservation() bool { return l.Kind == Away && l.For == Nonce{} }

// Do is an action of a process.
type Do uint8

// Actions of a process. All but Use and Refuse send the command of that name.
const (
	// Use the key at Step.Side, its home. For Move: the key is where it should be.
	Use Do = iota
	// Refuse: the new store has a value, and the old one is the home. If it stays so, the value did
	// not come by a move. No number of looks proves that, so a process looks again a few times and
	// then reports it.
	Refuse
	Reserve
	Seal
	Fill
	Mark
	Unseal
	Unreserve
)

// Condition must hold in a further look at the old store, or the step is not taken.
type Condition uint8

// Conditions of a step. Two looks are not of one moment, so that some pairs need a third look.
const (
	Always Condition = iota
	// OldIsOpen is needed to mark a seal of the new store: the value has arrived.
	OldIsOpen
	// OldIsUnchanged is needed to repeat a fill that a failover has forgotten.
	OldIsUnchanged
)

// Step is the next step of a process.
type Step struct {
	Do   Do
	Side Side
	// If is a condition that the process checks by a further look at the old store.
	If Condition
	// Nonce names the marker that the command replaces. For Seal it names the other store's
	// marker, and the process makes a nonce with the next hop.
	Nonce Nonce
	// Forgotten says that a store has lost commands that it had acknowledged, as after a failover.
	// A fill then takes the value of the other store's marker.
	Forgotten bool
}

// Holds says whether the condition holds: before is the old store's state of the first look, again
// that of the further one.
func (c Condition) Holds(before, again Look) bool {
	switch c {
	case OldIsOpen:
		return again.Kind == Open
	case OldIsUnchanged:
		return again == before
	default:
		return true
	}
}

// Decide returns the next step of a process that looked at the old store and, after that, at the
// new one. Only Use says that the key can be read or updated, at Step.Side.
func Decide(old, new Look) Step {
	switch old.Kind {
	case Open:
		return Step{Do: Use, Side: Old}
	case Sealed:
		return decideSealed(old, new)
	default:
		return decideAway(old, new)
	}
}

func decideSealed(old, new Look) Step {
	switch {
	case new.Kind == Open: // the value has arrived
		return Step{Do: Mark, Side: Old, Nonce: old.Nonce}
	case new.For == old.Nonce: // the key was sent back for this marker: its mark is forgotten, or this look is old
		return Step{Do: Mark, Side: Old, Nonce: old.Nonce}
	case new.Kind == Sealed && old.For == new.Nonce:
		return Step{Do: Mark, Side: New, Nonce: new.Nonce, Forgotten: true}
	case new.Kind == Sealed && new.Nonce.Hop > old.Nonce.Hop: // the smaller hop is late
		return Step{Do: Unseal, Side: Old, Nonce: old.Nonce}
	case new.Kind == Sealed:
		return Step{Do: Unseal, Side: New, Nonce: new.Nonce}
	case new.Nonce == old.For:
		return Step{Do: Fill, Side: New, Nonce: old.For}
	case new.Reservation(): // the value has arrived, and was deleted since; the reservation is late
		return Step{Do: Mark, Side: Old, Nonce: old.Nonce}
	default: // the new store has sent the key back since: this seal is late
		return Step{Do: Unseal, Side: Old, Nonce: old.Nonce}
	}
}

func decideAway(old, new Look) Step {
	switch {
	case new.Kind == Open:
		return Step{Do: Use, Side: New}
	case new.Kind == Sealed && new.For == old.Nonce:
		return Step{Do: Fill, Side: Old, Nonce: old.Nonce}
	case new.Kind == Sealed && old.For == new.Nonce:
		return Step{Do: Mark, Side: New, Nonce: new.Nonce, Forgotten: true}
	case new.Kind == Sealed && new.For.Hop > old.Nonce.Hop: // this look is old, or the old store has forgotten a seal
		return Step{Do: Fill, Side: Old, Nonce: old.Nonce, If: OldIsUnchanged, Forgotten: true}
	case new.Kind == Sealed:
		return Step{Do: Unseal, Side: New, Nonce: new.Nonce}
	case new.Nonce == old.For:
		return Step{Do: Fill, Side: New, Nonce: new.Nonce, Forgotten: true}
	case new.Reservation(): // nothing was sealed for it
		return Step{Do: Unreserve, Side: New, Nonce: new.Nonce}
	case new.For.Hop >= old.Nonce.Hop: // likewise
		return Step{Do: Fill, Side: Old, Nonce: old.Nonce, If: OldIsUnchanged, Forgotten: true}
	default: // the new store has forgotten a seal
		return Step{Do: Fill, Side: New, Nonce: new.Nonce, If: OldIsUnchanged, Forgotten: true}
	}
}

// Move returns the next step of a process that wants the key to be at the side to. It looked at
// the old store and, after that, at the new one.
func Move(to Side, old, new Look) Step {
	step := Decide(old, new)
	if step.Do != Use {
		return step
	}
	if step.Side == Old && new.Kind == Sealed { // left over by a move backward
		return Step{Do: Mark, Side: New, Nonce: new.Nonce, If: OldIsOpen}
	}
	switch {
	case step.Side == to:
		return step
	case to == Old:
		return Step{Do: Seal, Side: New, Nonce: old.Nonce}
	case new.Kind == Away:
		return Step{Do: Seal, Side: Old, Nonce: new.Nonce}
	case new.Absent:
		return Step{Do: Reserve, Side: New}
	default:
		return Step{Do: Refuse, Side: New}
	}
}
