package domains

import (
	"errors"

	"github.com/unwatch/unwatch/rmw"
)

// Steps runs several operations on one entity as one change, for a Repository's
// Edit. It stops at the first that fails; a step that returns [rmw.Keep] has nothing
// to change, and the next one follows.
func Steps(steps ...func() error) error {
	outcome := rmw.Keep
	for _, step := range steps {
		switch err := step(); {
		case err == nil:
			outcome = nil
		case !errors.Is(err, rmw.Keep):
			return err
		}
	}
	return outcome
}
