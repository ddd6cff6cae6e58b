package redisx

import (
	"context"
	"time"
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

// Abandoned is the error of a [Gate.Await] whose ctx ended first. The work goes on.
type Abandoned struct {
	// Cause is ctx.Err().
	Cause error
	// Finished is closed once the work has ended after all.
	Finished <-chan struct{}
}

func (a *Abandoned) Error() string { return "no longer waiting: " + a.Cause.Error() }

// Unwrap returns the ctx's error.
func (a *Abandoned) Unwrap() error { return a.Cause }

// Await runs work and waits for it, but no longer than ctx: then it returns an
// *Abandoned and work ends on a goroutine that Close waits for. Call it as [Gate.Go]
// is called. go-redis looks at a ctx between
// commands only; a command under way ends with its read timeout. This is how a
// caller is let go at once.
//
// Until Finished is closed, nothing that work writes may be touched. A panic in
// work, from a hook of the client for instance, is the caller's, unless it has
// left.
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
	select {
	case <-finished:
	case <-ctx.Done():
		select {
		case <-finished: // both at once: the answer is worth more
		default:
			return &Abandoned{Cause: ctx.Err(), Finished: finished}
		}
	}
	if panicked != nil {
		panic(panicked)
	}
	return nil
}
