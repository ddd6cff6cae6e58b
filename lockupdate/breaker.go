package lockupdate

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/sony/gobreaker/v2"

	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/rmw"
)

// breaker fails what is sent to a dead store at once, instead of letting every caller
// wait for its own timeout. Dead is a store that has answered nothing at all for a
// number of flushes in a row: an error reply is an answer, that a lock is taken is an
// answer, and callers that leave are none of its business, as no command has their
// ctx. Releases and renewals pass it: they are worth a try for as long as the lock
// lasts.
type breaker struct {
	fly func(ctx context.Context, calls []*call)
	cb  *gobreaker.CircuitBreaker[struct{}] // nil: switched off

	mu     sync.Mutex
	opened time.Time     // the start of the pause before the next try; zero: closed
	closed chan struct{} // closed, and replaced, when the breaker closes
}

const (
	breakAfter = 10
	breakFor   = time.Second
)

func newBreaker(cfg Config, fly func(ctx context.Context, calls []*call)) *breaker {
	b := &breaker{fly: fly, closed: make(chan struct{})}
	if cfg.NoBreaker {
		return b
	}
	b.cb = gobreaker.NewCircuitBreaker[struct{}](gobreaker.Settings{
		Timeout:     breakFor,
		ReadyToTrip: func(c gobreaker.Counts) bool { return c.ConsecutiveFailures >= breakAfter },
		IsExcluded:  func(err error) bool { return errors.Is(err, errTooMany) },
		OnStateChange: func(_ string, _, to gobreaker.State) {
			b.mu.Lock()
			defer b.mu.Unlock()
			switch to {
			case gobreaker.StateOpen:
				b.opened = time.Now()
			case gobreaker.StateClosed:
				b.opened = time.Time{}
				close(b.closed)
				b.closed = make(chan struct{})
			}
		},
	})
	return b
}

// nextTry returns when to send again what could not be sent: after pause, or as soon as
// the breaker closes, if closed is not nil. An open breaker lets one of the calls that
// come then be its own try, and refuses the others.
func (b *breaker) nextTry(try int) (closed <-chan struct{}, pause time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.opened.IsZero() {
		return nil, retryDelay.Delay(try, jitter())
	}
	// gobreaker lets a try pass only after the end of its pause.
	if pause = time.Until(b.opened.Add(breakFor)) + time.Millisecond; pause <= 0 {
		pause = breakFor / 4 // another call's try is on its way
	}
	return b.closed, pause
}

// open reports whether calls are refused now.
func (b *breaker) open() bool { return b.cb != nil && b.cb.State() == gobreaker.StateOpen }

// send sends the calls, or, while the store counts as dead, those that pass anyway.
func (b *breaker) send(ctx context.Context, calls []*call) {
	if b.cb == nil {
		b.fly(ctx, calls)
		return
	}
	_, err := b.cb.Execute(func() (struct{}, error) {
		b.fly(ctx, calls)
		return struct{}{}, silence(calls)
	})
	if !errors.Is(err, gobreaker.ErrOpenState) && !errors.Is(err, gobreaker.ErrTooManyRequests) {
		return
	}
	var urgent []*call
	for _, c := range calls {
		if c.urgent {
			urgent = append(urgent, c)
			continue
		}
		c.arm(ctx, false).SetErr(redisx.Because(rmw.ErrUnavailable, errBroken))
	}
	if len(urgent) > 0 {
		b.fly(ctx, urgent)
	}
}

var (
	errBroken = fmt.Errorf("%w: the store has not answered %d times in a row, and is tried again every %v",
		redisx.ErrNotSent, breakAfter, breakFor)

	// errTooMany says nothing about the store: it is our own pool that is too small.
	errTooMany = errors.New("no connection was free")
)

// silence returns an error if none of the calls was answered.
func silence(calls []*call) error {
	var silent error
	for _, c := range calls {
		err := c.cmd.Err()
		var reply redis.Error
		switch {
		case err == nil, errors.As(err, &reply), errors.Is(err, rmw.ErrUnsupported):
			return nil
		case errors.Is(err, redis.ErrPoolTimeout), errors.Is(err, redis.ErrPoolExhausted):
			return errTooMany
		}
		silent = err
	}
	return silent
}
