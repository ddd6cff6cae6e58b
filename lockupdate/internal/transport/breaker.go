package transport

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/sony/gobreaker/v2"

	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/lockupdate/internal/driver"
	"github.com/unwatch/unwatch/rmw"
)

// breaker fails commands at once while the store answers nothing at all, so that not every
// call waits for its own timeout. An error reply is an answer. The end of a caller's ctx
// does not count, since no command in a shared flush has one. Urgent commands, which are
// releases and renewals, pass an open breaker.
type breaker struct {
	cb *gobreaker.CircuitBreaker[struct{}] // nil: switched off

	trips   atomic.Bool     // it has opened in this flush
	tripped func(err error) // is called then; or nil

	mu     sync.Mutex
	opened time.Time     // start of the pause before the next try; zero: closed
	closed chan struct{} // closed, and replaced, when the breaker closes
	last   error         // of a flush that counted
}

// The breaker opens after OpenAfter flushes in a row without any answer, and lets a try
// pass every OpenFor. A flush counts only if nothing was answered meanwhile, nor in the time
// silence before it: else only a part of the store does not answer.
const (
	OpenAfter = 10
	OpenFor   = time.Second
	silence   = 200 * time.Millisecond
)

func newBreaker(o Options) *breaker {
	b := &breaker{closed: make(chan struct{}), tripped: o.CircuitOpened}
	if o.NoBreaker {
		return b
	}
	b.cb = gobreaker.NewCircuitBreaker[struct{}](gobreaker.Settings{
		Timeout:     OpenFor,
		ReadyToTrip: func(c gobreaker.Counts) bool { return c.ConsecutiveFailures >= OpenAfter },
		IsExcluded:  excluded,
		OnStateChange: func(_ string, from, to gobreaker.State) {
			b.mu.Lock()
			defer b.mu.Unlock()
			if from == gobreaker.StateClosed { // and not after a try
				b.trips.Store(true)
			}
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

func excluded(err error) bool { return errors.Is(err, errNoConnection) || errors.Is(err, errPartial) }

// refusal is the error of a command that was not sent because the breaker is open. It names the last error as text: a
// timeout of the client must not pass for the end of ctx.
func (b *breaker) refusal() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.last == nil {
		return errCircuitOpen
	}
	return fmt.Errorf("%w; the last error: %s", errCircuitOpen, redisx.WithoutArguments(b.last).Error())
}

// open reports whether the breaker refuses commands now.
func (b *breaker) open() bool { return b.cb != nil && b.cb.State() == gobreaker.StateOpen }

// try calls send, unless the breaker is open: then it returns false. send returns an error
// if the store answered nothing.
func (b *breaker) try(send func() error) bool {
	if b.cb == nil {
		_ = send()
		return true
	}
	_, err := b.cb.Execute(func() (struct{}, error) {
		err := send()
		if err != nil && !excluded(err) {
			b.mu.Lock()
			b.last = err
			b.mu.Unlock()
		}
		return struct{}{}, err
	})
	if b.trips.Swap(false) && b.tripped != nil { // not earlier: gobreaker has its mutex locked
		b.tripped(err)
	}
	return !errors.Is(err, gobreaker.ErrOpenState) && !errors.Is(err, gobreaker.ErrTooManyRequests)
}

// nextTry returns when to send again; see Transport.NextTry.
func (b *breaker) nextTry(try int) (closed <-chan struct{}, pause time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.opened.IsZero() {
		return nil, RetryDelay.Delay(try, Jitter())
	}
	// gobreaker lets a try pass only after the end of its pause.
	if pause = time.Until(b.opened.Add(OpenFor)) + time.Millisecond; pause <= 0 {
		pause = OpenFor / 4 // the try of another call is in flight
	}
	return b.closed, pause
}

var (
	errCircuitOpen = fmt.Errorf("%w: the store has not answered %d times in a row, and is tried again every %v",
		redisx.ErrNotSent, OpenAfter, OpenFor)

	// errNoConnection says nothing about the store: the client's own pool is too small.
	errNoConnection = errors.New("no connection was free")

	// errPartial is a flush without an answer, while the store answered others.
	errPartial = errors.New("a part of the store does not answer")
)

// unanswered returns an error if no command has an answer.
func unanswered(callers []caller) error {
	last := errPartial // if no command is left
	for _, k := range callers {
		switch k.ticket.State() {
		case driver.Settled:
			return nil
		case driver.Claimed:
			continue
		}
		for _, c := range k.cmds {
			err := c.Err()
			if err == nil {
				return nil // without the allocation below
			}
			var reply redis.Error
			switch {
			case errors.As(err, &reply), errors.Is(err, rmw.ErrUnsupported), errors.Is(err, redis.ErrClosed):
				return nil // a closed client says nothing about the store either, and an open breaker would hide it
			case errors.Is(err, redis.ErrPoolTimeout), errors.Is(err, redis.ErrPoolExhausted):
				return errNoConnection
			}
			last = err
		}
	}
	return last
}
