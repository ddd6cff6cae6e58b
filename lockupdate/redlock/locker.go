package redlock

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/rmw"
)

// Locker is a [lock.Locker]: a majority of independent masters grants its locks.
// It is safe for concurrent use. Make it with [New], and Close it when done.
//
// It is reentrant through the ctx: fn's ctx, or one derived from it, may be used to
// take the same lock again, on any goroutine, at no cost.
type Locker struct {
	nodes  []Node
	quorum int
	cfg    Config
	err    error // why nothing can work
	gate   *redisx.Gate
	now    func() time.Time // what leases are measured by; a test can let it jump

	id   string
	last atomic.Uint64
}

var _ lock.Locker = (*Locker)(nil)

// New makes a Locker over at least one node. All users of
// the same locks must have the same nodes; their order does not matter.
//
// Make it an odd number, three or five. With two, or four, one more node has to
// agree than with one, or three, and no more of them may fail. One is no quorum
// but works.
//
// Nodes or a Config that cannot work are reported by every call.
func New(nodes []Node, cfg Config) *Locker {
	return &Locker{
		nodes: slices.Clone(nodes), quorum: len(nodes)/2 + 1,
		cfg: cfg.withDefaults(), err: errors.Join(checkNodes(nodes), cfg.Validate()),
		gate: redisx.NewGate(), now: time.Now, id: uuid.NewString(),
	}
}

func checkNodes(nodes []Node) error {
	if len(nodes) == 0 {
		return fmt.Errorf("%w: redlock.New needs at least one node; use three or five", rmw.ErrInvalid)
	}
	for i, n := range nodes {
		if redisx.IsNil(n) {
			return fmt.Errorf("%w: redlock.New needs clients, and node %d is nil", rmw.ErrInvalid, i)
		}
		if redisx.IsFullDuplex(n) {
			return fmt.Errorf("%w: redlock.New cannot use an AutoPipeliner with FullDuplex as node %d, whose commands no hook can refuse; "+
				"use the client itself, or AutoPipelineOptions without FullDuplex", rmw.ErrInvalid, i)
		}
		if !reflect.ValueOf(n).Comparable() {
			continue
		}
		if first := slices.Index(nodes[:i], n); first >= 0 {
			return fmt.Errorf("%w: redlock.New needs independent masters, and nodes %d and %d are the same", rmw.ErrInvalid, first, i)
		}
	}
	return nil
}

// WithLock waits for the lock name, runs fn under it on the caller's goroutine, and
// gives the lock back when fn ends, be it by a panic or by runtime.Goexit. fn's ctx
// ends, with cause [rmw.ErrLockLost], before the lock can end without us, as far as
// our clock can tell. Its Done is closed by a timer, which is late after a stop of the
// process; its own Err looks at the clock, that of a ctx derived from it does not. The
// lock's key on the nodes is name itself.
//
// It returns fn's own error, or an [*rmw.Error] with one of these reasons:
//
//   - rmw.ErrContended: the wait was given up, after MaxWait or with ctx; then the
//     error of ctx is in it as well.
//   - rmw.ErrLockLost: fn returned nil, but was not alone for all of its time, or
//     may not have been.
//   - rmw.ErrUnavailable: no majority of the nodes answered. It is not waited for
//     any to come back.
//   - rmw.ErrUnsupported: a majority refuses the commands, or the password.
//   - rmw.ErrInvalid: no name, no fn, or nodes or a Config that cannot work.
//   - rmw.ErrClosed: the Locker was closed before the lock was taken.
//   - none, and ctx's error as its Cause: ctx ended before others were in the way.
//
// Except for ErrLockLost, fn was then not called.
func (l *Locker) WithLock(ctx context.Context, name string, fn func(ctx context.Context) error) error {
	return l.run(ctx, name, fn, true)
}

// TryLock is WithLock that does not wait: [rmw.ErrContended] if the lock is taken,
// or if concurrent attempts split the votes.
func (l *Locker) TryLock(ctx context.Context, name string, fn func(ctx context.Context) error) error {
	return l.run(ctx, name, fn, false)
}

// Close refuses new calls, ends those that wait for a lock with [rmw.ErrClosed], and
// waits for fn that run, and until all commands have been answered or the clients
// have given up on them, as their ReadTimeout says. Do not call it from within fn,
// and call it before the clients' Close. It may be called again; its error is
// always nil.
func (l *Locker) Close() error {
	l.gate.Close()
	return nil
}

func (l *Locker) run(ctx context.Context, name string, fn func(ctx context.Context) error, wait bool) (err error) {
	if err := l.usable(ctx, name, fn); err != nil {
		return fail("lock", name, err)
	}
	h, err := l.join(ctx, name)
	if h == nil && err == nil {
		if err := l.gate.Enter(); err != nil {
			return fail("lock", name, err)
		}
		if h, err = l.acquire(ctx, name, wait); err != nil {
			l.gate.Leave()
		}
	}
	if err != nil {
		return fail("lock", name, err)
	}
	defer func() { // also when fn panics, or ends its goroutine
		if lost := h.leave(); err == nil && lost != nil {
			err = fail("hold", name, lost)
		}
	}()
	ctx, done := h.ctxFor(ctx)
	defer done()
	return fn(ctx)
}

func (l *Locker) usable(ctx context.Context, name string, fn func(ctx context.Context) error) error {
	switch {
	case l.err != nil:
		return l.err
	case name == "":
		return fmt.Errorf("%w: the name is empty; name the lock", rmw.ErrInvalid)
	case fn == nil:
		return fmt.Errorf("%w: fn is nil; pass what shall run under the lock", rmw.ErrInvalid)
	case ctx.Err() != nil:
		return endOf(ctx)
	}
	return nil
}

// acquire asks until a majority grants the lock.
func (l *Locker) acquire(ctx context.Context, name string, wait bool) (*hold, error) {
	began := time.Now()
	for attempt := 1; ; attempt++ {
		r := l.ask(ctx, name)
		err := r.decide(ctx)
		if err == nil && ctx.Err() == nil {
			return newHold(r), nil
		}
		r.undo(ctx)
		contended := attempt > 1 || errors.Is(err, rmw.ErrContended)
		switch {
		case ctx.Err() != nil && contended:
			return nil, redisx.Because(rmw.ErrContended, endOf(ctx))
		case ctx.Err() != nil:
			return nil, endOf(ctx)
		case !errors.Is(err, rmw.ErrContended), !wait:
			return nil, err
		}
		if err := l.pause(ctx, began, attempt); err != nil {
			return nil, err
		}
	}
}

// pause waits between attempts.
func (l *Locker) pause(ctx context.Context, began time.Time, attempt int) error {
	d := l.cfg.Poll.Delay(attempt, jitter())
	if l.cfg.MaxWait > 0 {
		left := l.cfg.MaxWait - time.Since(began)
		if left <= 0 {
			return fmt.Errorf("%w: waited for the %v that Config.MaxWait allows", rmw.ErrContended, l.cfg.MaxWait)
		}
		d = min(d, left)
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		if l.gate.Closed() {
			return rmw.ErrClosed
		}
		return nil
	case <-ctx.Done():
		return redisx.Because(rmw.ErrContended, endOf(ctx))
	case <-l.gate.Closing:
		return rmw.ErrClosed
	}
}

// nextOwner names an acquisition as no other in any process is.
func (l *Locker) nextOwner() string { return l.id + ":" + strconv.FormatUint(l.last.Add(1), 10) }

// jitter is a random number in [0, 1).
func jitter() float64 { return rand.Float64() }
