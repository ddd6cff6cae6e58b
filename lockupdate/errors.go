package lockupdate

import (
	"fmt"

	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/rmw"
)

// path is the name of this package in errors.
const path = "lockupdate"

var errNoClient = fmt.Errorf("%w: lockupdate.New needs a client, not nil", rmw.ErrInvalid)

func fail(op string, key rmw.Key, attempts int, err error) error {
	return redisx.Fail(path, op, key, attempts, err)
}
