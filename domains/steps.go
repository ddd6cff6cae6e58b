package domains

import (
	"errors"

	"github.com/unwatch/unwatch/rmw"
)

// Steps runs several operations on one entity as one change, within [Repository.Edit]. It returns the first
// error other than [rmw.Keep], and rmw.Keep if no step changed the entity.
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
