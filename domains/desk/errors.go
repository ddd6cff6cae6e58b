package desk

import (
	"errors"

	"github.com/unwatch/unwatch/domains"
)

// Refusals of the rules, besides those of packages session and mcc.
var (
	// ErrHasSession: the visitor has an open session, which is returned with the error.
	ErrHasSession = domains.NewRefusal("has_session", "the visitor has an open session")
	// ErrOpening: another session of the visitor is being opened. Try again after Config.Patience.
	ErrOpening = domains.NewRefusal("opening", "a session of the visitor is being opened")
	// ErrAbandoned: opening the session took longer than Config.Patience, and it was closed. Use a new id.
	ErrAbandoned = domains.NewRefusal("abandoned", "opening the session was given up")
)

func ignore(err error, harmless error) error {
	if errors.Is(err, harmless) {
		return nil
	}
	return err
}
