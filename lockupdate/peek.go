package lockupdate

import (
	"context"
	"fmt"
	"time"

	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/rmw"
)

var _ rmw.Peeker = (*Store)(nil)

// Peek implements [rmw.Peeker] with one round trip: a script, also with
// Config.MasterReads.
//
// Without Lua no command tells both. Then the expiry is asked for between two reads, in
// three round trips, until both show the same value: it had that expiry in between. A
// value that changes each time is an [rmw.ErrContended] after Config.MaxAttempts; one
// that changed and changed back counts as unchanged, as for the guard. And the
// expiry is told by a PTTL, which a proxy may send to a replica that is behind: this
// needs what Config.MasterReads promises, with every Commit of these.
func (s *Store) Peek(ctx context.Context, key rmw.Key) (rmw.Value, time.Duration, error) {
	if err := s.begin(ctx, key); err != nil {
		return rmw.Value{}, 0, fail("peek", key, 0, err)
	}
	defer s.gate.Leave()
	if err := s.dialect.supports(key.Kind); err != nil {
		return rmw.Value{}, 0, fail("peek", key, 0, err)
	}
	v, left, err := s.peek(ctx, key)
	if err != nil {
		return rmw.Value{}, 0, fail("peek", key, 0, redisx.Blame(ctx, err))
	}
	return v, left, nil
}

func (s *Store) peek(ctx context.Context, key rmw.Key) (v rmw.Value, left time.Duration, err error) {
	if s.dialect.peek(key) == nil {
		return s.peekBetween(ctx, key)
	}
	err = s.look(ctx, func() *call { return s.dialect.peek(key) }, func(c *call) (err error) {
		v, left, err = s.dialect.peeked(key.Kind, c)
		return err
	})
	return v, left, err
}

// peekBetween asks for the expiry between two reads: it is that of the value which
// both show. Each waits for the answer before it, as a proxy may execute a
// pipeline in any order.
func (s *Store) peekBetween(ctx context.Context, key rmw.Key) (rmw.Value, time.Duration, error) {
	before, err := s.read(ctx, key)
	for attempt := 1; err == nil && before.Exists(); attempt++ {
		left, gone, errTTL := s.left(ctx, key)
		if errTTL != nil {
			return rmw.Value{}, 0, errTTL
		}
		var now rmw.Value
		switch now, err = s.read(ctx, key); {
		case err != nil:
		case !gone && now.Equal(before):
			return now, left, nil
		case attempt >= s.cfg.MaxAttempts:
			err = fmt.Errorf("%w: it changed %d times while its expiry was asked for", rmw.ErrContended, attempt)
		}
		before = now
	}
	return rmw.Value{}, 0, err
}

// left asks how long a key has left, or whether it is gone.
func (s *Store) left(ctx context.Context, key rmw.Key) (left time.Duration, gone bool, err error) {
	err = s.look(ctx, func() *call { return word("pttl", key.Name) }, func(c *call) error {
		ms, err := c.integer()
		left, gone = redisx.Left(ms)
		return err
	})
	return left, gone, err
}
