package holder

import (
	"context"
	"errors"
	"time"

	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/lockupdate/internal/driver"
	"github.com/unwatch/unwatch/lockupdate/internal/lease"
	"github.com/unwatch/unwatch/rmw"
)

// Attempt is the latest call of an UpdateFunc, with its argument and its results.
type Attempt struct {
	key      rmw.Key
	fn       rmw.UpdateFunc
	attempts int
	given    rmw.Value
	after    rmw.Value // the result of fn
	wrote    bool      // after must be written
	ttl      time.Duration
	reads    driver.ReadSet // of given
	token    uint64         // if fn asked for one
	err      error          // of fn, or of its value
}

// call calls fn with ctx, traces its reads of a hash, and records its results. caller is the ctx
// of the caller.
func (a *Attempt) call(caller context.Context, ctx *lease.Context) {
	given, trace := a.given, (*rmw.Trace)(nil)
	if a.key.Kind == rmw.KindHash && given.Exists() {
		given, trace = given.Traced()
	}
	next, err := a.fn(ctx, given)
	ctx.End(nil)
	a.token = ctx.Drawn(0)
	a.reads = readSetOf(trace, next, err)
	if next.Kind() == rmw.KindHash {
		next = next.Untraced()
	}
	a.validate(caller, ctx.Lost(), next, err)
}

func readSetOf(trace *rmw.Trace, next rmw.Value, err error) driver.ReadSet {
	if trace == nil {
		return driver.ReadSet{}
	}
	var s driver.ReadSet
	if err != nil {
		s.Fields, s.Partial = trace.ReadsAnyway()
	} else {
		s.Fields, s.Partial = trace.Reads(next)
	}
	return s
}

// validate records the result of fn: a value to write, or an error. lost is why the lock
// was lost while fn ran.
func (a *Attempt) validate(caller context.Context, lost error, next rmw.Value, err error) {
	a.after, a.wrote, a.err = a.given, false, nil
	if err != nil {
		a.err = err
		if lost != nil && caller.Err() == nil && errors.Is(err, context.Canceled) {
			a.err = a.fail("update", redisx.Because(lost, notCanceled{err}))
		}
		return
	}
	if err := redisx.EndOf(caller); err != nil {
		a.err = a.fail("commit", err)
		return
	}
	wrote, ttl, err := rmw.CheckWrite(a.key, a.given, next)
	switch {
	case err != nil:
		a.err = a.fail("commit", err)
	case wrote:
		a.after, a.wrote, a.ttl = next.WithTTL(0), true, ttl
	}
}

// request is the commit of the attempt alone.
func (a *Attempt) request() driver.CommitRequest {
	return driver.CommitRequest{Key: a.key, Base: a.given, Next: a.after, Reads: a.reads, TTL: a.ttl}
}

// rebase applies the changes of fn to the hash of the key at the commit. It had the same
// read set, so that fn would have done the same.
func (a *Attempt) rebase(held rmw.Value) {
	given := a.given
	a.given = held
	if !a.wrote {
		a.after = held
		return
	}
	a.after = driver.DeltaOf(given, a.after).Apply(held)
}

func (a *Attempt) fail(op string, err error) error { return driver.Fail(op, a.key, a.attempts, err) }

// notCanceled is an error of fn without the context.Canceled in it: the caller's ctx has
// not ended, and the call may be tried again.
type notCanceled struct{ err error }

func (e notCanceled) Error() string      { return e.err.Error() }
func (e notCanceled) As(target any) bool { return errors.As(e.err, target) }
func (e notCanceled) Is(target error) bool {
	return target != context.Canceled && errors.Is(e.err, target)
}
