package lockupdate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/rmw"
)

// pollReadLimit is the size of a value, in bytes, up to which it is read along
// with every attempt to take a lock, not only with the first: the round trip this
// saves while holding the lock is worth more than the bytes.
const pollReadLimit = 4 << 10

// acquisition is one update's way to its lock.
type acquisition struct {
	*Store
	key     rmw.Key
	lock    string
	owner   string        // anew for each round
	ghost   time.Time     // when an acquire of this owner was sent whose answer is lost; it may be executed yet
	began   time.Time     // zero unless it is waiting
	waited  time.Duration // before that
	largest int           // bytes of the largest value read on the way
}

// acquire returns a lease and the value read under it, or before it: the guard
// makes that no difference. On error it gives back what it may have taken.
func (a *acquisition) acquire(ctx context.Context) (*lease, rmw.Value, error) {
	defer a.stopWaiting()
	a.owner, a.ghost = a.newOwner(), time.Time{}
	if err := a.afterOwnRelease(ctx); err != nil {
		return nil, rmw.Value{}, err
	}
	for lostAnswers, poll := 0, 1; ; {
		l, v, pttl, err := a.attempt(ctx)
		switch {
		case l != nil:
			return l, v, nil
		case err == nil: // taken
			lostAnswers = 0
			if err := a.wait(ctx, poll, pttl); err != nil {
				a.giveUp(ctx, nil)
				return nil, rmw.Value{}, err
			}
			poll++
		case errors.As(err, new(notOurs)):
			return nil, rmw.Value{}, errors.Unwrap(err)
		case redisx.OutcomeOf(err) == redisx.NotDone:
			a.giveUp(ctx, nil)
			return nil, rmw.Value{}, err
		default:
			// The lock may be ours. The script knows its owner, so asking
			// again is safe; giving up takes a release.
			lostAnswers++
			if ctx.Err() == nil && lostAnswers < tries && a.pause(ctx, lostAnswers) == nil {
				continue
			}
			a.giveUp(ctx, err)
			return nil, rmw.Value{}, err
		}
	}
}

// giveUp releases a lock that may be ours, or may become so when an acquire that
// got lost is executed after all.
func (a *acquisition) giveUp(ctx context.Context, last error) {
	if a.ghost.IsZero() {
		return
	}
	a.releaseLater(ctx, a.lock, a.owner, a.ghost, func() {
		if abandoned, ok := errors.AsType[*redisx.Abandoned](last); ok {
			<-abandoned.Finished
		}
	})
}

// afterOwnRelease waits for a release of the same lock that this Store has on its
// way: asking before it has landed would only find the lock taken. It does not
// wait longer than for another poll: the release may be the one that hangs.
func (a *acquisition) afterOwnRelease(ctx context.Context) error {
	a.mu.Lock()
	landed := a.releasing[a.lock]
	a.mu.Unlock()
	if landed == nil {
		return nil
	}
	a.began = time.Now()
	patience := a.cfg.Poll.Max
	if a.cfg.MaxWait > 0 {
		patience = min(patience, a.cfg.MaxWait)
	}
	t := time.NewTimer(patience)
	defer t.Stop()
	select {
	case <-landed:
		return nil
	case <-t.C:
		return nil
	case <-ctx.Done():
		return redisx.Because(rmw.ErrContended, ctx.Err())
	case <-a.gate.Closing:
		return rmw.ErrClosed
	}
}

// attempt asks for the lock once. It returns a lease, or how long the holder's
// lasts (negative: unlimited), or an error.
func (a *acquisition) attempt(ctx context.Context) (*lease, rmw.Value, time.Duration, error) {
	sent := time.Now()
	take := acquireScript.on(a.lock, a.owner, a.cfg.Lease.Milliseconds())
	look := readScript.on(a.key.Name)
	calls := []*call{take, look}
	if a.largest > pollReadLimit {
		calls = calls[:1]
	}
	if err := a.run(ctx, calls...); err != nil {
		a.ghost = sent
		return nil, rmw.Value{}, 0, err
	}
	granted, pttl, err := grantOf(take)
	if err != nil {
		if redisx.OutcomeOf(err) == redisx.Unknown {
			a.ghost = sent
		}
		return nil, rmw.Value{}, 0, err
	}
	var v rmw.Value
	if len(calls) == 2 {
		if v, err = valueOf(a.key.Kind, look); err == nil {
			a.largest = max(a.largest, v.Size())
		}
	}
	if !granted {
		if errors.Is(err, rmw.ErrWrongKind) {
			return nil, rmw.Value{}, 0, err // no lock would change that
		}
		return nil, rmw.Value{}, pttl, nil
	}
	l := a.newLease(ctx, a, sent)
	if len(calls) == 1 || redisx.OutcomeOf(err) == redisx.Unknown {
		v, err = a.read(ctx, a.key)
	}
	if err != nil {
		l.end()
		return nil, rmw.Value{}, 0, notOurs{err}
	}
	return l, v, 0, nil
}

// notOurs marks an error after which the lock has been given back already.
type notOurs struct{ error }

func (e notOurs) Unwrap() error { return e.error }

// grantOf reads the answer of acquire.lua.
func grantOf(c *call) (granted bool, pttl time.Duration, err error) {
	list, err := c.reply()
	if err != nil {
		return false, 0, err
	}
	status, ok := list[0].(int64)
	if !ok || len(list) != 2 {
		return false, 0, errOddReply
	}
	switch status {
	case 1:
		return true, 0, nil
	case 0:
		if ms, ok := list[1].(int64); ok {
			return false, time.Duration(ms) * time.Millisecond, nil
		}
	case 3:
		return false, 0, fmt.Errorf("%w: the lock cannot be given an expiry: %v", rmw.ErrUnsupported, list[1])
	case 2:
		return false, 0, fmt.Errorf("%w: the lock %.128q is a %v, not a lock; set Config.LockName to names that nothing else uses",
			rmw.ErrWrongKind, c.key, list[1])
	}
	return false, 0, errOddReply
}

// wait is the pause before the lock is asked for again: random and growing, but
// no longer than the holder's lease lasts, and never past MaxWait or ctx.
func (a *acquisition) wait(ctx context.Context, poll int, pttl time.Duration) error {
	now := time.Now()
	if a.began.IsZero() {
		a.began = now
	}
	d := a.cfg.Poll.Delay(poll, jitter())
	if pttl >= 0 {
		d = min(d, pttl+time.Millisecond)
	}
	if a.cfg.MaxWait > 0 {
		left := a.cfg.MaxWait - a.waited - now.Sub(a.began)
		if left <= 0 {
			return redisx.Because(rmw.ErrContended, fmt.Errorf("the lock was taken for the %v that Config.MaxWait allows", a.cfg.MaxWait))
		}
		d = min(d, left)
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return redisx.Because(rmw.ErrContended, ctx.Err())
	case <-a.gate.Closing:
		return rmw.ErrClosed
	}
}

// stopWaiting adds the wait that ends now to the total.
func (a *acquisition) stopWaiting() {
	if !a.began.IsZero() {
		a.waited += time.Since(a.began)
		a.began = time.Time{}
	}
}
