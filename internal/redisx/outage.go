package redisx

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/unwatch/unwatch/rmw"
)

// maxOutage bounds how long a call tries new connections while the server of each says that it cannot serve.
const maxOutage = 3 * time.Second

var outageDelay = rmw.Backoff{Base: 2 * time.Millisecond, Max: 50 * time.Millisecond}

// Outage is the time in which a call has reached no server that can serve, as after a failover.
type Outage struct {
	since time.Time
	tries int
}

// Another waits, and reports whether a call that failed with err may try another connection: its server says that it
// cannot serve, and nothing was written.
func (o *Outage) Another(ctx context.Context, err error) bool {
	if !LeadsElsewhere(err) || errors.Is(err, rmw.ErrOutcomeUnknown) {
		return false
	}
	if o.tries++; o.tries == 1 {
		o.since = time.Now()
	}
	return time.Since(o.since) < maxOutage && Sleep(ctx, outageDelay.Delay(o.tries, rand.Float64())) == nil
}

// EndOf returns err, or the error of ctx if that ended during the outage of which err is a part.
func (o *Outage) EndOf(ctx context.Context, err error) error {
	if o.tries > 0 && ctx.Err() != nil && !errors.Is(err, rmw.ErrOutcomeUnknown) {
		return ctx.Err()
	}
	return Blame(ctx, err)
}
