package cas

import (
	"context"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/rmw"
)

// session is a connection that watches several keys. It has a goroutine of its own, so that the caller can leave when ctx
// ends, and the connection is unwatched in any case.
type session struct {
	store *Store
	ctx   context.Context // of the commands; it does not end
	work  chan func(tx *redis.Tx)
	over  bool
	ended chan struct{} // the connection is unwatched and given back; then:
	err   error         // of Watch
	panic any           // of a hook of the client
}

// watch returns a session that watches the keys.
func (s *Store) watch(ctx context.Context, names ...string) *session {
	c := &session{store: s, ctx: context.WithoutCancel(ctx), work: make(chan func(*redis.Tx), 1), ended: make(chan struct{})}
	s.gate.Go(func() {
		defer close(c.ended)
		defer func() { c.panic = recover() }()
		c.err = s.rdb.Watch(c.ctx, func(tx *redis.Tx) error {
			s.watches.Store(true)
			for work := range c.work {
				work(tx)
			}
			return nil
		}, names...)
		redisx.DropIfElsewhere(c.ctx, s.rdb, names[0], false, c.err)
	})
	return c
}

// end unwatches the keys, behind the caller.
func (c *session) end() {
	if !c.over {
		c.over = true
		close(c.work)
	}
}

// do has work done on the connection. left reports whether the caller has left before the end of work, which goes on.
func (c *session) do(ctx context.Context, work func(tx *redis.Tx) error) (left bool, err error) {
	done := make(chan error, 1)
	select {
	case c.work <- func(tx *redis.Tx) { done <- work(tx) }:
	case <-c.ended:
	}
	select {
	case err := <-done:
		return false, err
	case <-c.ended:
	case <-ctx.Done():
		return true, ctx.Err()
	case <-c.store.gate.GaveUp:
		return true, rmw.ErrClosed
	}
	select {
	case err := <-done: // both at once: the answer is worth more
		return false, err
	default:
	}
	switch {
	case c.panic != nil:
		panic(c.panic)
	case c.err != nil:
		return true, c.err
	}
	return true, errNotWatched
}
