package redisx

import (
	"context"
	"time"

	"github.com/unwatch/unwatch/rmw"
)

// Sleep waits for d or for ctx, and returns ctx.Err() in the latter case.
func Sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Abandoned is the error of a [Gate.Await] after the end of its ctx. The work continues.
type Abandoned struct {
	// Cause is ctx.Err(), or rmw.ErrClosed after Close has given up.
	Cause error
	// Finished is closed when the work has ended.
	Finished <-chan struct{}
}

func (a *Abandoned) Error() string { return "no longer waiting: " + a.Cause.Error() }

func (a *Abandoned) Unwrap() error { return a.Cause }

// Wait waits for finished until ctx ends, or until Close gives up. Then it returns an *Abandoned.
func (g *Gate) Wait(ctx context.Context, finished <-chan struct{}) error {
	cause := rmw.ErrClosed
	select {
	case <-finished:
		return nil
	case <-ctx.Done():
		cause = ctx.Err()
	case <-g.GaveUp:
	}
	select {
	case <-finished: // if both are ready, the result has priority
		return nil
	default:
		return &Abandoned{Cause: cause, Finished: finished}
	}
}

// Await runs work and waits for it until ctx ends. Then it returns an *Abandoned, and work continues on a
// goroutine that Close waits for. The rules of [Gate.Go] apply. go-redis checks a ctx between commands
// only; a command in flight ends with its read timeout. Await lets the caller return at once.
//
// Until Finished is closed, the caller must not read or write the variables of work. A panic in work, from
// a hook of the client for instance, reaches the caller, unless it has returned.
func (g *Gate) Await(ctx context.Context, work func()) error {
	if ctx.Done() == nil {
		work()
		return nil
	}
	finished := make(chan struct{})
	var panicked any
	g.Go(func() {
		defer close(finished)
		defer func() { panicked = recover() }()
		work()
	})
	if err := g.Wait(ctx, finished); err != nil {
		return err
	}
	if panicked != nil {
		panic(panicked)
	}
	return nil
}
