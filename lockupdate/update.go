package lockupdate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/rmw"
)

// Update implements [rmw.Updater]; the package doc tells how. fn runs on the
// caller's goroutine and under the lock of key, so an Update of the same key from
// within fn would wait for itself: with fn's ctx it is refused with
// [rmw.ErrInvalid], with any other it costs the outer one its lock after
// [Config.MaxHold]. Within [Store.WithLock] of the same key it runs under that lock.
func (s *Store) Update(ctx context.Context, key rmw.Key, fn rmw.UpdateFunc) (res rmw.Result, err error) {
	if err := s.begin(ctx, key); err != nil {
		return rmw.Result{}, fail("update", key, 0, err)
	}
	defer s.gate.Leave()
	if fn == nil {
		return rmw.Result{}, fail("update", key, 0, errNoFn)
	}
	lock, err := s.lockName(key.Name)
	if err == nil {
		err = s.dialect.supports(key.Kind)
	}
	if err != nil {
		return rmw.Result{}, fail("update", key, 0, err)
	}
	u := &update{Store: s, ctx: ctx, key: key, fn: fn, arrived: time.Now()}
	defer func() { u.noteUnknown(err) }()
	if outer := s.holding(ctx, lock); outer != nil {
		return u.runUnder(outer)
	}
	u.wake = make(chan struct{}, 1)
	s.join(lock, u)
	return u.run()
}

// noteUnknown counts what Update returns, in whatever way it came to that. An
// rmw.ErrOutcomeUnknown of fn itself is none of ours.
func (u *update) noteUnknown(err error) {
	if u.wrote && errors.Is(err, rmw.ErrOutcomeUnknown) {
		u.note(Event{Kind: EventUnknown, Lock: u.cfg.LockName(u.key.Name), N: 1, Err: err})
	}
}

// lockName returns the name of the lock of a key, or why it has none.
func (s *Store) lockName(key string) (string, error) {
	lock := s.cfg.LockName(key)
	if lock == "" || lock == key {
		return "", fmt.Errorf("%w: Config.LockName gives %.128q no lock of its own; use other names for keys than for locks", rmw.ErrInvalid, key)
	}
	return lock, nil
}

// phase is how far an update has come.
type phase uint8

const (
	queued   phase = iota
	running        // it is its turn: fn is being called, or about to be
	returned       // fn has returned, and the commit is to come
	adrift         // fn is running, but the lock is no longer ours
	answered       // res and err are what Update returns
	left           // its caller no longer waits
)

// update is one call of Update, or of Lock. Only its own goroutine calls fn and reads
// the answer; a tenure gives it its turn and the answer.
type update struct {
	*Store
	ctx     context.Context
	key     rmw.Key
	fn      rmw.UpdateFunc
	section bool // it is a call of Lock, and has no fn
	noWait  bool
	queue   *queue
	arrived time.Time
	wake    chan struct{} // of size one: the phase has become running or answered

	// Guarded by the queue's lock, except that they are the caller's own while the
	// phase is running or answered.
	phase      phase
	prev, next *update
	blocked    time.Time     // since when it waits for others; zero: it does not
	waited     time.Duration // before that
	attempts   int
	lease      *lease
	until      time.Duration // MaxHold, on the watchdog's clock
	given      rmw.Value     // to fn
	trace      *rmw.Trace    // of what fn reads, if it is a hash
	reads      reads
	after      rmw.Value     // what fn returned
	ttl        time.Duration // what that leaves, as in rmw.CheckWrite
	wrote      bool
	token      uint64 // if fn asked for it
	res        rmw.Result
	err        error // of fn, or the answer
}

func (u *update) run() (rmw.Result, error) {
	for u.start() != left {
		if u.turn() {
			break
		}
	}
	return u.res, u.err
}

// start waits for u's turn, or its answer: then it returns left.
func (u *update) start() phase {
	var patience <-chan time.Time
	if u.cfg.MaxWait > 0 {
		u.queue.mu.Lock()
		left := u.cfg.MaxWait - u.waited
		u.queue.mu.Unlock()
		t := time.NewTimer(left)
		defer t.Stop()
		patience = t.C
	}
	if phase := u.await(patience); phase != answered {
		return phase
	}
	return left
}

// await returns when it is u's turn, or u is answered, or has left.
func (u *update) await(patience <-chan time.Time) phase {
	closing := u.gate.Closing
	for {
		why := rmw.ErrClosed
		select {
		case <-u.wake:
			u.queue.mu.Lock()
			defer u.queue.mu.Unlock()
			if u.section && u.phase == running {
				u.queue.tenure.running = nil // it stays parked, and u need not live as long
			}
			return u.phase
		case <-u.ctx.Done():
			why = endOf(u.ctx)
		case <-patience:
			why = redisx.Because(rmw.ErrContended, fmt.Errorf("the lock was taken for the %v that Config.MaxWait allows", u.cfg.MaxWait))
			patience = nil
		case <-closing:
			closing = nil
		}
		if phase := u.leave(why); phase == answered || phase == left {
			return phase
		}
	}
}

// leave ends the waiting of u, whose answer is then in it, unless it must go on:
// only the end of its ctx concerns one whose fn has been called.
func (u *update) leave(why error) phase {
	u.queue.mu.Lock()
	defer u.queue.mu.Unlock()
	ended := u.ctx.Err() != nil
	if u.phase == answered || !ended && (u.phase != queued || u.attempts > 0) {
		return u.phase
	}
	op := u.op()
	switch t := u.queue.tenure; u.phase {
	case queued:
		u.queue.remove(u)
		switch {
		case t != nil && !t.parked() && t.away != nil && ended:
			why = redisx.Because(rmw.ErrUnavailable, why)
		case t != nil && !t.parked() && t.away != nil && errors.Is(why, rmw.ErrContended): // by MaxWait
			why = t.away
		case ended && !u.blocked.IsZero():
			why = redisx.Because(rmw.ErrContended, why)
		}
		if t != nil {
			t.look()
		}
	case running: // but fn is not yet called
		if t.parked() {
			t.unpark(t.resume)
			break
		}
		t.running = nil
		u.attempts--
		t.advance()
		t.look()
	case returned:
		if u.err != nil {
			u.phase, u.res = left, u.result()
			return left
		}
		if op = "commit"; u.wrote {
			why = redisx.Because(rmw.ErrOutcomeUnknown, why)
		}
	}
	u.phase, u.res, u.err = left, u.result(), u.fail(op, why)
	return left
}

// turn calls fn. It reports whether u then has its answer already.
func (u *update) turn() bool {
	ctx := u.lease.enter(u)
	u.noteWait()
	ended := true
	defer func() {
		if ended { // by a panic or runtime.Goexit
			ctx.end(nil)
			u.queue.expel(u)
		}
	}()
	next, err := u.fn(ctx, u.show())
	ended = false
	ctx.end(nil)
	u.token = u.lease.drawn.Load()
	u.judge(ctx.lost(), next, err)
	return !u.queue.give(u) && u.finishAdrift()
}

// noteWait tells that u has its turn.
func (u *update) noteWait() {
	if u.waited > 0 {
		u.note(Event{Kind: EventWaited, Lock: u.queue.lock, N: 1, Took: u.waited})
	}
}

// judge notes what u's fn returned: what it wants written, or how it fails.
func (u *update) judge(lost error, next rmw.Value, err error) {
	u.after, u.wrote, u.err = u.given, false, nil
	u.reads = u.readsOf(next, err)
	next = next.Untraced()
	if err != nil {
		u.err = err
		if lost != nil && u.ctx.Err() == nil && errors.Is(err, context.Canceled) {
			u.err = u.fail("update", redisx.Because(lost, notCanceled{err}))
		}
		return
	}
	if err := endOf(u.ctx); err != nil {
		u.err = u.fail("commit", err)
		return
	}
	wrote, ttl, err := rmw.CheckWrite(u.key, u.given, next)
	switch {
	case err != nil:
		u.err = u.fail("commit", err)
	case wrote:
		u.after, u.wrote, u.ttl = next.WithTTL(0), true, ttl
	}
}

// notCanceled is an error of fn, less the context.Canceled in it: the caller's ctx
// has not ended, and the call may be tried again.
type notCanceled struct{ err error }

func (e notCanceled) Error() string      { return e.err.Error() }
func (e notCanceled) As(target any) bool { return errors.As(e.err, target) }
func (e notCanceled) Is(target error) bool {
	return target != context.Canceled && errors.Is(e.err, target)
}

// succeed answers with what fn returned: a value or an error. The queue's lock is
// held, as for fail and answer.
func (u *update) succeed() {
	if u.err != nil {
		u.answer(u.result(), u.err)
		return
	}
	u.answer(u.success(), nil)
}

func (u *update) success() rmw.Result {
	res := u.result()
	res.Before, res.After, res.Written, res.Token = u.given, u.after, u.wrote, u.token
	return res
}

// result is what a Result tells of an update that failed.
func (u *update) result() rmw.Result { return rmw.Result{Attempts: u.attempts, Waited: u.waitedBy()} }

func (u *update) waitedBy() time.Duration {
	if u.blocked.IsZero() {
		return u.waited
	}
	return u.waited + time.Since(u.blocked)
}

// op is what u does, in errors, until it has its turn.
func (u *update) op() string {
	if u.section {
		return "lock"
	}
	return "acquire"
}

func (u *update) fail(op string, err error) error { return fail(op, u.key, u.attempts, err) }

// answer wakes the caller, unless it has left.
func (u *update) answer(res rmw.Result, err error) {
	if u.phase == left {
		return
	}
	u.res, u.err, u.phase = res, err, answered
	u.wake <- struct{}{}
}
