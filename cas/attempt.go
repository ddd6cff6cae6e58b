package cas

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/driver"
)

// errConflict: the key changed between WATCH and EXEC. Nothing was written.
var errConflict = errors.New("the key changed between WATCH and EXEC")

// aborted is the error that fn returned.
type aborted struct{ error }

func (e aborted) Unwrap() error { return e.error }

// unread is a failure before anything could be written, or before EXEC was sent.
type unread struct{ error }

func (e unread) Unwrap() error { return e.error }

// attempt is WATCH, read, fn, EXEC, once.
//
// The commands run on a goroutine of their own, so that the caller can leave when
// ctx ends, fn can run on the caller's goroutine, and the connection is
// unwatched in any case.
func (u *update) attempt(ctx context.Context) (rmw.Result, error) {
	t := startTransaction(ctx, u.Store, u.key)
	defer t.abandon() // no-op once the write was handed over

	u.op = "read"
	cur, err := t.read(ctx)
	if err != nil {
		return rmw.Result{}, unread{err}
	}
	u.op = "exec"
	u.attempts++
	next, err := u.callFn(ctx, cur)
	if err != nil {
		return rmw.Result{}, aborted{err}
	}
	if err := ctx.Err(); err != nil {
		return rmw.Result{}, err
	}
	write, ttl, err := driver.CheckWrite(u.key, cur, next)
	if err != nil {
		return rmw.Result{}, err
	}
	res := rmw.Result{Before: cur, After: cur, Attempts: u.attempts, Waited: u.waited}
	if !write {
		return res, nil
	}
	if err := t.exec(ctx, change{key: u.key, cur: cur, next: next, ttl: ttl}); err != nil {
		return rmw.Result{}, err
	}
	res.After, res.Written = next.WithTTL(0), true
	return res, nil
}

func (u *update) callFn(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
	u.gate.BeginFn()
	defer u.gate.EndFn()
	return u.fn(ctx, cur)
}

// change is the write of a transaction.
type change struct {
	key       rmw.Key
	cur, next rmw.Value
	ttl       time.Duration

	fieldsExpire bool // on this server
}

// transaction is a connection that watches the key.
type transaction struct {
	gate   *redisx.Gate
	reads  chan readResult
	writes chan change
	done   chan error
	over   bool

	ended    chan struct{} // the connection is unwatched and given back; then:
	err      error         // of Watch
	panicked any           // or the value it panicked with: a hook of the client has a bug
}

type readResult struct {
	value rmw.Value
	err   error
}

func startTransaction(ctx context.Context, s *Store, key rmw.Key) *transaction {
	// The channels have room for all that is ever sent, so the goroutine never
	// waits for a caller that has left.
	t := &transaction{
		gate:  s.gate,
		reads: make(chan readResult, 1), writes: make(chan change, 1), done: make(chan error, 1),
		ended: make(chan struct{}),
	}
	// go-redis unwatches with the ctx that Watch was given. If that has ended, a
	// hook may keep it from doing so.
	ctx = context.WithoutCancel(ctx)
	s.gate.Go(func() {
		defer close(t.ended)
		defer func() { t.panicked = recover() }()
		t.err = s.rdb.Watch(ctx, func(tx *redis.Tx) error {
			s.watches.Store(true)
			r := newReading(ctx, key, true)
			r.ask(ctx, tx)
			if key.Kind == rmw.KindHash && r.cmd.Err() == nil && !s.fields.known.Load() {
				s.fields.ask(ctx, tx, r)
			}
			v, err := r.value()
			redisx.DropIfElsewhere(ctx, tx, key.Name, false, err)
			t.reads <- readResult{v, err}
			if err != nil {
				return nil
			}
			if c, ok := <-t.writes; ok {
				c.fieldsExpire = s.fields.expire.Load()
				err := s.exec(ctx, tx, c)
				redisx.DropIfElsewhere(ctx, tx, key.Name, false, err)
				t.done <- err
			}
			return nil
		}, key.Name)
		redisx.DropIfElsewhere(ctx, s.rdb, key.Name, false, t.err)
	})
	return t
}

// errNotWatched: go-redis' ClusterClient returns neither an error nor calls the
// function when its redirects run out, as they do while a slot moves.
var errNotWatched = redisx.Because(rmw.ErrUnavailable, errors.New("the client could not WATCH, and does not say why"))

// read returns the value of the watched key.
func (t *transaction) read(ctx context.Context) (rmw.Value, error) {
	select {
	case r := <-t.reads:
		return r.value, r.err
	case <-ctx.Done():
		return rmw.Value{}, ctx.Err()
	case <-t.gate.GaveUp:
		return rmw.Value{}, rmw.ErrClosed
	case <-t.ended:
	}
	select {
	case r := <-t.reads:
		return r.value, r.err
	default:
		return rmw.Value{}, t.failure(errNotWatched)
	}
}

// failure is why a transaction ended without an answer.
func (t *transaction) failure(otherwise error) error {
	if t.panicked != nil {
		panic(t.panicked)
	}
	if t.err != nil {
		return t.err
	}
	return otherwise
}

// abandon ends the transaction without a write.
func (t *transaction) abandon() {
	if !t.over {
		t.over = true
		close(t.writes)
	}
}

// exec writes, and judges the answer.
func (t *transaction) exec(ctx context.Context, c change) error {
	t.over = true
	t.writes <- c
	select {
	case err := <-t.done:
		return err
	case <-t.ended:
	case <-ctx.Done():
	case <-t.gate.GaveUp:
	}
	select {
	case err := <-t.done: // both at once: the answer is worth more
		return err
	default:
	}
	switch {
	case ctx.Err() != nil:
		return redisx.Because(rmw.ErrOutcomeUnknown, ctx.Err())
	case t.gate.GivenUp():
		return redisx.Because(rmw.ErrOutcomeUnknown, rmw.ErrClosed)
	}
	return redisx.Because(rmw.ErrOutcomeUnknown, t.failure(errNotWatched))
}
