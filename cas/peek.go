package cas

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/rmw"
)

var _ rmw.Peeker = (*Store)(nil)

// errOddTTL: PTTL and the reading are of one moment, and do not fit.
var errOddTTL = errors.New("PTTL says that there is no key, and there is one; is a proxy rewriting replies?")

// Peek implements [rmw.Peeker] with one round trip: MULTI, PTTL, a GET or an HGETALL,
// and EXEC. So it is refused, unlike Read, where transactions are: a Store that has not
// done one yet finds that out by a WATCH before.
func (s *Store) Peek(ctx context.Context, key rmw.Key) (rmw.Value, time.Duration, error) {
	if err := s.begin(ctx, key); err != nil {
		return rmw.Value{}, 0, fail("peek", key, 0, err)
	}
	defer s.gate.Leave()
	for o := (redisx.Outage{}); ; {
		p := peeking{reading: newReading(ctx, key, false), ttl: redis.NewIntCmd(ctx, "pttl", key.Name)}
		if err := s.gate.Await(ctx, func() {
			p.failed = p.ask(ctx, s)
			redisx.DropAfterExec(ctx, s.rdb, key.Name, s.watches.Load(), p.failed)
		}); err != nil {
			return rmw.Value{}, 0, fail("peek", key, 0, err)
		}
		v, left, err := p.result()
		if errors.Is(err, rmw.ErrWrongKind) {
			if err = s.open(ctx, key, err); err == nil {
				continue
			}
		}
		switch {
		case err == nil:
			return v, left, nil
		case s.gate.Closed() || !o.Another(ctx, err):
			return rmw.Value{}, 0, fail("peek", key, 0, o.EndOf(ctx, err))
		}
	}
}

// peeking is a reading and a PTTL in one transaction. go-redis may repeat it, as a
// whole: it depends on nothing before its MULTI.
type peeking struct {
	reading
	ttl    *redis.IntCmd
	failed error // of the client
}

// ask asks for the expiry first: before Redis 7, a key may expire between two commands
// of a transaction, and then there is no value either.
func (p *peeking) ask(ctx context.Context, s *Store) error {
	if err := s.tryWatch(ctx, p.key); err != nil {
		return err
	}
	pipe := s.rdb.TxPipeline()
	if err := pipe.BatchProcess(ctx, p.ttl, p.cmd); err != nil {
		return err
	}
	_, err := pipe.Exec(ctx)
	return err
}

// tryWatch returns nil where keys can be watched. If MULTI is refused,
// as by Codis, go-redis leaves the other replies unread, and may take late ones
// for those of the next command on that connection. A WATCH is refused by itself.
func (s *Store) tryWatch(ctx context.Context, key rmw.Key) error {
	if s.watches.Load() {
		return nil
	}
	ctx = context.WithoutCancel(ctx) // see startTransaction
	err := s.rdb.Watch(ctx, func(*redis.Tx) error {
		s.watches.Store(true)
		return nil
	}, key.Name)
	if err == nil && !s.watches.Load() {
		return errNotWatched
	}
	return err
}

func (p *peeking) result() (rmw.Value, time.Duration, error) {
	v, err := p.value()
	switch {
	case redis.HasErrorPrefix(err, "EXECABORT"):
		err = refusal([]redis.Cmder{p.cmd, p.ttl}, err)
	case p.cmd.Err() == nil && p.ttl.Err() == nil && p.failed != nil && !errors.Is(p.failed, redis.Nil):
		err = p.failed // nothing was sent, or another command of the transaction failed
	case err == nil:
		err = p.ttl.Err()
	}
	if err != nil || !v.Exists() {
		return rmw.Value{}, 0, err
	}
	left, gone := redisx.Left(p.ttl.Val())
	if gone {
		return rmw.Value{}, 0, errOddTTL
	}
	return v, left, nil
}
