package cas

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/rmw"
)

// call is one call of Update or Transact.
type call struct {
	*Store

	key      rmw.Key
	again    string // the question to a caller whose fn conflicts each time
	attempts int
	waited   time.Duration
	op       string // the current operation, for errors
}

// run makes attempts until one succeeds, or none can.
func (c *call) run(ctx context.Context, attempt func(ctx context.Context) error) error {
	var o redisx.Outage
	for broken, met := 0, 0; ; {
		err := attempt(ctx)
		var early unread
		switch {
		case err == nil:
			return nil
		case errors.Is(err, errConflict):
			if c.attempts >= c.cfg.MaxAttempts {
				return c.failed(fmt.Errorf("%w: the key had changed after each of %d runs of fn; %s",
					rmw.ErrContended, c.attempts, c.again))
			}
			if err := c.backOff(ctx); err != nil {
				return c.failed(redisx.Because(rmw.ErrContended, err))
			}
		case errors.As(err, new(aborted)):
			return errors.Unwrap(err)
		case errors.Is(err, errSharded): // once
		case errors.As(err, &early) && errors.Is(err, rmw.ErrWrongKind) && met < c.cfg.MaxAttempts:
			met++
			if err := c.openMet(ctx, early.key, early.error); err != nil {
				return c.failed(err)
			}
		case early.error != nil && redisx.OutcomeOf(err) == redisx.Unknown && ctx.Err() == nil &&
			broken+1 < tries && c.attempts < c.cfg.MaxAttempts:
			broken++ // nothing was written, so simply begin anew
		case c.attempts < c.cfg.MaxAttempts && !c.gate.Closed() && o.Another(ctx, err):
			// nothing was written
		default:
			return c.failed(o.EndOf(ctx, err))
		}
	}
}

func (c *call) backOff(ctx context.Context) error {
	began := time.Now()
	defer func() { c.waited += time.Since(began) }()
	return redisx.Sleep(ctx, c.cfg.Backoff.Delay(c.attempts, rand.Float64()))
}

// openMet opens a key, and counts the time as waited.
func (c *call) openMet(ctx context.Context, key rmw.Key, wrongKind error) error {
	began := time.Now()
	defer func() { c.waited += time.Since(began) }()
	return c.open(ctx, key, wrongKind)
}

func (c *call) failed(err error) error { return fail(c.op, c.key, c.attempts, err) }
