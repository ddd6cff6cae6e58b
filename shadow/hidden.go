package shadow

import (
	"context"
	"errors"
	"time"

	"github.com/sony/gobreaker/v2"

	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/shadow/internal/notcompared"
	"github.com/unwatch/unwatch/shadow/report"
)

// hiddenPath calls the path in the shadow. Each call has a time limit, passes the circuit
// breaker and is counted. A panic becomes errPanicked.
type hiddenPath struct {
	store    rmw.Store
	peeker   rmw.Peeker // nil if the store does not tell expiries
	ctx      context.Context
	cancel   context.CancelFunc
	timeout  time.Duration
	counters *counters
	breaker  *gobreaker.CircuitBreaker[struct{}]
}

func newHiddenPath(store rmw.Store, c *counters) *hiddenPath {
	h := &hiddenPath{store: store, timeout: c.cfg.Timeout, counters: c}
	h.peeker, _ = rmw.As[rmw.Peeker](store)
	h.ctx, h.cancel = context.WithCancel(context.Background())
	h.breaker = gobreaker.NewCircuitBreaker[struct{}](gobreaker.Settings{
		Timeout:      5 * time.Second,
		MaxRequests:  1,
		Interval:     10 * time.Second,
		IsSuccessful: func(err error) bool { return err == nil || outageOf(err) == "" || h.ended() },
		ReadyToTrip: func(c gobreaker.Counts) bool {
			return c.ConsecutiveFailures >= 10 || c.Requests >= 100 && c.TotalFailures*2 > c.Requests
		},
		OnStateChange: func(_ string, _, to gobreaker.State) {
			c.locked(func(health *report.Health) {
				if health.Breaker = to.String(); to == gobreaker.StateOpen {
					health.BreakerTrips++
				}
			})
		},
	})
	return h
}

// ended reports whether the shadow was closed or killed.
func (h *hiddenPath) ended() bool { return h.ctx.Err() != nil }

func (h *hiddenPath) call(do func(ctx context.Context) error) error {
	_, err := h.breaker.Execute(func() (_ struct{}, err error) {
		ctx, cancel := context.WithTimeout(h.ctx, h.timeout)
		defer cancel()
		defer h.counters.recoverAs(&err)
		return struct{}{}, do(ctx)
	})
	if err == nil || !h.ended() { // an error after Close or Kill says nothing about the path
		h.counters.locked(func(health *report.Health) {
			health.Candidate.Calls++
			if errors.Is(err, errPanicked) {
				health.Panics++
			}
			if outageOf(err) != "" {
				health.Candidate.Errors[reasonName(err)]++
			}
		})
	}
	return err
}

func (h *hiddenPath) update(key rmw.Key, fn rmw.UpdateFunc) (res rmw.Result, err error) {
	err = h.call(func(ctx context.Context) (err error) {
		res, err = h.store.Update(ctx, key, fn)
		return err
	})
	return res, err
}

func (h *hiddenPath) transact(keys []rmw.Key, fn rmw.TxFunc) (res rmw.TxResult, err error) {
	err = h.call(func(ctx context.Context) (err error) {
		res, err = rmw.Transact(ctx, h.store, fn, keys...)
		return err
	})
	return res, err
}

func (h *hiddenPath) read(key rmw.Key) (v rmw.Value, err error) {
	err = h.call(func(ctx context.Context) (err error) {
		v, err = h.store.Read(ctx, key)
		return err
	})
	return v, err
}

// peek reads a value and its expiry at one moment. The store must be a Peeker.
func (h *hiddenPath) peek(key rmw.Key) (v rmw.Value, left time.Duration, err error) {
	err = h.call(func(ctx context.Context) (err error) {
		v, left, err = h.peeker.Peek(ctx, key)
		return err
	})
	return v, left, err
}

// readTTL reads a value as a service does, and then its expiry; NoTTL if the store does not
// tell expiries. A value that expires between the two calls is absent.
func (h *hiddenPath) readTTL(key rmw.Key) (v rmw.Value, left time.Duration, err error) {
	left = rmw.NoTTL
	err = h.call(func(ctx context.Context) (err error) {
		if v, err = h.store.Read(ctx, key); err != nil || h.peeker == nil {
			return err
		}
		var again rmw.Value
		if again, left, err = h.peeker.Peek(ctx, key); err == nil && !again.Exists() {
			v, left = rmw.Value{}, rmw.NoTTL
		}
		return err
	})
	return v, left, err
}

// outage returns the reason why the hidden path did not answer; "" if it did.
func (h *hiddenPath) outage(err error) report.Reason {
	why := outageOf(err)
	if err != nil && h.ended() && why != notcompared.ShadowPanic {
		return notcompared.DroppedMode
	}
	return why
}

// failure describes an error of the hidden path: the reason why a call is not compared, or a
// refusal where the serving path had none.
func (h *hiddenPath) failure(c *call, err error, doing string) finding {
	if why := h.outage(err); why != "" {
		return finding{missed: why}
	}
	return finding{
		class: report.ErrorClass, legacy: c.outcome(), candidate: reasonName(err),
		explain: doing + ": the path in the shadow refuses a call that the serving one accepts (" + reasonName(err) + ")",
	}
}

// always returns an update that stores v. The zero Value deletes.
func always(v rmw.Value) rmw.UpdateFunc {
	return func(context.Context, rmw.Value) (rmw.Value, error) { return v, nil }
}
