package operate

import (
	"cmp"
	"context"
	"math/rand/v2"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/rmw"
)

// maxOutage is the default of SweepConfig.MaxOutage.
const maxOutage = 30 * time.Second

var outagePause = rmw.Backoff{Base: 10 * time.Millisecond, Max: 250 * time.Millisecond}

// outage is the time in which a pass waits for a store that is away. One goroutine uses it.
type outage struct {
	limit time.Duration
	seen  *Scanned
	// began is zero if no store is away.
	began, last time.Time
	tries       int
	// lost says that the outage has exceeded the limit. The pass goes on with the keys of other
	// servers, and waits again only if no command has failed for as long as the limit.
	lost bool
}

func newOutage(cfg SweepConfig, seen *Scanned) *outage {
	return &outage{limit: cmp.Or(cfg.MaxOutage, maxOutage), seen: seen}
}

// another waits, and reports whether the command that failed with err is to be sent again.
func (o *outage) another(ctx context.Context, err error) bool {
	if !redisx.IsAway(err) || ctx.Err() != nil {
		return false
	}
	now := time.Now()
	if o.began.IsZero() || o.lost && now.Sub(o.last) > o.limit {
		*o = outage{limit: o.limit, seen: o.seen, began: now}
		o.seen.Outages++
	}
	if o.last = now; o.lost {
		return false
	}
	if o.lost = now.Sub(o.began) >= o.limit; o.lost {
		o.seen.Outage += now.Sub(o.began)
		return false
	}
	o.tries++
	return redisx.Sleep(ctx, outagePause.Delay(o.tries, rand.Float64())) == nil
}

// ended tells that each store has answered.
func (o *outage) ended() {
	if !o.lost && !o.began.IsZero() {
		o.seen.Outage += time.Since(o.began)
		o.began, o.tries = time.Time{}, 0
	}
}

// runID returns the identity of a server since its start, or "" if the server does not tell it.
func runID(ctx context.Context, master Scanner) string {
	server, ok := master.(interface {
		InfoMap(ctx context.Context, sections ...string) *redis.InfoCmd
	})
	if !ok {
		return ""
	}
	return server.InfoMap(ctx, "server").Item("Server", "run_id")
}
