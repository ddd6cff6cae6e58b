package session

import (
	"errors"
	"fmt"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/rmw"
)

// Visitor is the index from a visitor to the one session of theirs that may be open.
// It is written before the session is: so it may name a session that does not exist,
// or not any more, but never misses one that does.
type Visitor struct {
	domains.Header
	ID        string `json:"id"`
	SessionID string `json:"session_id"`
	// Epoch is the session's when the entry was made; 0 if it did not exist.
	Epoch uint64 `json:"epoch,omitempty"`
	// State is Reserved until the session is known to be open.
	State Hold `json:"state"`
	// Until is how long whoever reserved has to do what it was for. Others wait that
	// long; nothing but their patience rests on it.
	Until domains.Time `json:"until,omitempty"`

	Unknown domains.Unknown `json:"-"`
}

// Hold says how sure an entry of an index is.
type Hold string

// The states of an entry.
const (
	Reserved Hold = "reserved" // about to be
	Held     Hold = "held"
)

// Check implements [domains.Entity].
func (v *Visitor) Check() error {
	if err := domains.CheckID("visitor", v.ID); err != nil {
		return err
	}
	if err := domains.CheckID("session", v.SessionID); err != nil {
		return err
	}
	switch {
	case v.State != Reserved && v.State != Held:
		return errors.New("an entry is reserved or held")
	case v.Epoch > MaxEpoch:
		return fmt.Errorf("the epoch is above %d", uint64(MaxEpoch))
	case !v.Until.Valid():
		return errors.New("a time is before 1970 or after 9999")
	}
	return nil
}

// Reserve makes the entry point to a session that is about to be opened, provided
// that it is still what was seen.
func (v *Visitor) Reserve(id string, seen Visitor, sessionID string, epoch uint64, until domains.Time) error {
	if !v.same(seen) {
		return ErrMovedOn
	}
	if err := domains.CheckID("session", sessionID); err != nil {
		return err
	}
	v.ID, v.SessionID, v.Epoch, v.State, v.Until = id, sessionID, epoch, Reserved, until
	return nil
}

// Confirm notes that the session is open.
func (v *Visitor) Confirm(sessionID string) error {
	if v.SessionID != sessionID || v.State == Held {
		return rmw.Keep
	}
	v.State, v.Until = Held, 0
	return nil
}

// Release removes the entry of a session that was closed, and has had epoch since.
func (v *Visitor) Release(sessionID string, epoch uint64) error {
	if v.SessionID != sessionID || v.Epoch >= epoch {
		return rmw.Keep
	}
	return rmw.Remove
}

// same compares more than the Version: an entry that was removed counts from one
// again.
func (v *Visitor) same(w Visitor) bool {
	return v.Version == w.Version && v.SessionID == w.SessionID && v.Epoch == w.Epoch && v.State == w.State
}
