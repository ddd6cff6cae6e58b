package lockupdate

import (
	"errors"
	"fmt"

	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/rmw"
)

// path is the name of this package in errors.
const path = "lockupdate"

var errNoClient = fmt.Errorf("%w: lockupdate.New needs a client, not nil", rmw.ErrInvalid)

// fail also keeps an odd reply from passing for an outage, and being tried again for ever.
func fail(op string, key rmw.Key, attempts int, err error) error {
	var own *rmw.Error
	var odd *oddReply
	if errors.As(err, &odd) && !errors.As(err, &own) {
		err = redisx.Because(rmw.ErrUnsupported, err)
	}
	return redisx.Fail(path, op, key, attempts, err)
}
