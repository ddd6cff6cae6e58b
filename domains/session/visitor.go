package session

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/unwatch/unwatch/domains"
)

// Visitor is the index entry from a visitor to their only session that may be open. It is written before the
// session is, so it may name a session that does not exist, but no open session lacks an entry.
type Visitor struct {
	domains.Header
	ID        string `json:"id"`
	SessionID string `json:"session_id"`
	// Epoch is the session's epoch before the session was opened; 0 if the session did not exist.
	Epoch uint64 `json:"epoch,omitempty"`
	// State is Reserved until the session is known to be open.
	State Hold `json:"state"`
	// Until ends the reservation. Other processes wait until then before they clear it; safety does not depend
	// on the clock.
	Until domains.Time `json:"until,omitempty"`

	Unknown domains.Unknown `json:"-"`
}

// Hold is the state of an index entry.
type Hold string

// The states of an entry.
const (
	Reserved Hold = "reserved" // the session is about to be opened
	Held     Hold = "held"     // the session was opened
)

// Check returns an error for the first rule that the entry breaks. It implements [domains.Entity].
func (v *Visitor) Check() error {
	if err := cmp.Or(domains.CheckID("visitor", v.ID), domains.CheckID("session", v.SessionID)); err != nil {
		return err
	}
	switch {
	case v.State != Reserved && v.State != Held:
		return errors.New("an entry is reserved or held")
	case v.Epoch > maxEpoch:
		return fmt.Errorf("the epoch is above %d", uint64(maxEpoch))
	case !v.Until.Valid():
		return errors.New("a time is before 1970 or after 9999")
	}
	return nil
}

// same compares more than the Version, which restarts after a removal.
func (v *Visitor) same(w Visitor) bool {
	return v.Version == w.Version && v.SessionID == w.SessionID && v.Epoch == w.Epoch && v.State == w.State
}
