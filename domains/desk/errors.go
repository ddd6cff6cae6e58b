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
	ErrOpening = domains.NewRefusal("opening", "another session of the visitor is being opened: try again later")
	// ErrAbandoned: opening the session took longer than Config.Patience, and it was closed. Use a new id.
	ErrAbandoned = domains.NewRefusal("abandoned", "the session was abandoned while it was being opened: use a new id")
)

func ignore(err error, harmless error) error {
	if errors.Is(err, harmless) {
		return nil
	}
	return err
}
