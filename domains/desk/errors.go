package desk

import (
	"errors"

	"github.com/unwatch/unwatch/domains"
)

// What the rules refuse, besides what packages session and mcc do.
var (
	// ErrHasSession: the visitor has an open session; it is returned.
	ErrHasSession = domains.NewRefusal("has_session", "the visitor has an open session")
	// ErrOpening: another session of the visitor is being opened at this moment.
	ErrOpening = domains.NewRefusal("opening", "a session of the visitor is being opened")
	// ErrAbandoned: opening the session took so long that it was given up. Take a new id.
	ErrAbandoned = domains.NewRefusal("abandoned", "opening the session was given up")
)

func ignore(err error, harmless error) error {
	if errors.Is(err, harmless) {
		return nil
	}
	return err
}
