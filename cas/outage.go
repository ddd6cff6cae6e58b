package cas

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/rmw"
)

// maxOutage bounds how long a call tries new connections while the server of each says that it cannot serve.
const maxOutage = 3 * time.Second

var outageDelay = rmw.Backoff{Base: 2 * time.Millisecond, Max: 50 * time.Millisecond}

// outage is the time in which a call has reached no server that can serve, as after a failover.
type outage struct {
	since time.Time
	tries int
}

// another waits, and reports whether a call that failed with err may try another connection: its server says that
// it cannot serve, and nothing was written.
func (o *outage) another(ctx context.Context, s *Store, err error) bool {
	if !redisx.LeadsElsewhere(err) || errors.Is(err, rmw.ErrOutcomeUnknown) {
		return false
	}
	if o.tries++; o.tries == 1 {
		o.since = time.Now()
	}
	return time.Since(o.since) < maxOutage && !s.gate.Closed() &&
		redisx.Sleep(ctx, outageDelay.Delay(o.tries, rand.Float64())) == nil
}

// endOf returns err, or the error of ctx if ctx ended during the outage of which err is a part.
func (o *outage) endOf(ctx context.Context, err error) error {
	if o.tries > 0 && ctx.Err() != nil && !errors.Is(err, rmw.ErrOutcomeUnknown) {
		return ctx.Err()
	}
	return redisx.Blame(ctx, err)
}

// dropIfElsewhere closes the connection whose server has answered err, if that server cannot serve.
func dropIfElsewhere(ctx context.Context, c interface {
	Process(ctx context.Context, cmd redis.Cmder) error
}, key rmw.Key, err error,
) {
	if redisx.LeadsElsewhere(err) {
		redisx.Drop(ctx, c, key.Name, false)
	}
}
