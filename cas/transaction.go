package cas

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/rmw"
)

// transaction is a connection that watches keys.
//
// Its commands run on a goroutine of its own, so that the caller can leave when
// ctx ends, fn can run on the caller's goroutine, and the connection is
// unwatched in any case.
type transaction struct {
	gate  *redisx.Gate
	steps chan step
	over  bool

	ended    chan struct{} // the connection is unwatched and given back; then:
	err      error         // of Watch
	panicked any           // or the value it panicked with: a hook of the client has a bug
}

// step sends commands on the connection.
type step struct {
	run  func(ctx context.Context, tx *redis.Tx)
	done chan struct{}
}

func startTransaction(ctx context.Context, s *Store, names ...string) *transaction {
	// The channel has room for the only step under way, so the caller never waits for the goroutine to take it.
	t := &transaction{gate: s.gate, steps: make(chan step, 1), ended: make(chan struct{})}
	// go-redis unwatches with the ctx that Watch was given. If that has ended, a
	// hook may keep it from doing so.
	ctx = context.WithoutCancel(ctx)
	s.gate.Go(func() {
		defer close(t.ended)
		defer func() { t.panicked = recover() }()
		t.err = s.rdb.Watch(ctx, func(tx *redis.Tx) error {
			s.watches.Store(true)
			for st := range t.steps {
				st.run(ctx, tx)
				close(st.done)
			}
			return nil
		}, names...)
		redisx.DropIfElsewhere(ctx, s.rdb, names[0], false, t.err)
	})
	return t
}

// errNotWatched: go-redis' ClusterClient returns neither an error nor calls the
// function when its redirects run out, as they do while a slot moves.
var errNotWatched = redisx.Because(rmw.ErrUnavailable, errors.New("the client could not WATCH, and does not say why"))

// do runs a step. An error means that the caller no longer waits for it, or that it was not run: then the caller must not
// use the variables of run, and end the transaction.
func (t *transaction) do(ctx context.Context, run func(ctx context.Context, tx *redis.Tx)) error {
	st := step{run, make(chan struct{})}
	select {
	case t.steps <- st:
	case <-t.ended:
	}
	select {
	case <-st.done:
		return nil
	case <-t.ended:
	case <-ctx.Done():
	case <-t.gate.GaveUp:
	}
	select {
	case <-st.done: // both at once: the answer is worth more
		return nil
	case <-t.ended:
		return t.failure()
	default:
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return rmw.ErrClosed
}

// failure is why a transaction ended without an answer.
func (t *transaction) failure() error {
	if t.panicked != nil {
		panic(t.panicked)
	}
	if t.err != nil {
		return t.err
	}
	return errNotWatched
}

// end unwatches the keys, unless an EXEC has done that.
func (t *transaction) end() {
	if !t.over {
		t.over = true
		close(t.steps)
	}
}

// read reads a key, which late means is not watched yet.
func (t *transaction) read(ctx context.Context, s *Store, key rmw.Key, late bool) (rmw.Value, error) {
	var v rmw.Value // no named results: a caller that leaves would write them
	var err error
	left := t.do(ctx, func(ctx context.Context, tx *redis.Tx) {
		if late {
			err = tx.Watch(ctx, key.Name).Err()
		}
		if err == nil {
			r := newReading(ctx, key, true)
			r.ask(ctx, tx)
			v, err = r.value()
		}
		if key.Kind == rmw.KindHash && err == nil && !s.fields.known.Load() {
			err = s.fields.ask(ctx, tx, key.Name)
		}
		redisx.DropIfElsewhere(ctx, tx, key.Name, false, err)
	})
	if left != nil {
		return rmw.Value{}, left
	}
	return v, err
}
