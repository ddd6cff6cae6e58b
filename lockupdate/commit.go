package lockupdate

import (
	"context"
	"errors"
	"time"

	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/rmw"
)

// write commits what a group comes to if the key still holds its base. If it holds
// something else, it returns that and stored=false. With stored=true it returns what the
// key held, if that was not the base but the same in all that the group has read. An error means that nothing was
// written, unless it is an rmw.ErrOutcomeUnknown. With ask it also prolongs the lease
// and learns whether others wait.
//
// A commit is sent once. A command whose answer is lost may be executed later, when a
// proxy gets round to it; a second one could be acknowledged now, and the first
// would still pass the guard once the value is back at the base.
func (t *tenure) write(ctx context.Context, g *group, ask bool) (stored bool, now rmw.Value, err error) {
	if t.cfg.Commit == CommitPlain {
		if err := t.lease.ours(); err != nil {
			return false, rmw.Value{}, redisx.Because(rmw.ErrLockLost, err)
		}
	}
	var renewal []*call
	if ask {
		renewal = []*call{t.renewal()}
		t.heed()
	}
	sent := t.watchdog.now()
	stored, now, err = t.put(ctx, t.writeOf(g), renewal...)
	if ask && renewal[0].cmd != nil {
		t.heard(sent, renewal[0])
	}
	if errors.Is(err, rmw.ErrOutcomeUnknown) && !g.value.Equal(g.base) && t.foundStored(ctx, g.value) {
		return true, rmw.Value{}, nil
	}
	return stored, now, err
}

// writeOf is what a group comes to.
func (t *tenure) writeOf(g *group) write {
	return write{key: t.key, cur: g.base, next: g.value, reads: g.reads, ttl: g.ttl}
}

// foundStored tells, after a lost answer, whether the commit has been executed
// after all. Only where every writer holds the lock can nobody else have stored
// the same, and only while it is still ours.
func (t *tenure) foundStored(ctx context.Context, next rmw.Value) bool {
	if !t.cfg.SoleWriter {
		return false
	}
	for try := 1; try <= tries && t.lease.ours() == nil; try++ {
		if try > 1 && t.pause(ctx, try) != nil {
			return false
		}
		if now, err := t.Store.read(ctx, t.key); err == nil && now.Equal(next) {
			return t.lease.ours() == nil
		}
	}
	return false
}

// put writes if the key still holds what it should, in one round trip along with
// other calls. If it holds something else, put returns that and stored=false. An error
// means that nothing was written, unless it is an rmw.ErrOutcomeUnknown.
func (s *Store) put(ctx context.Context, w write, also ...*call) (stored bool, now rmw.Value, err error) {
	if !w.cur.Exists() && !w.next.Exists() {
		now, err = s.read(ctx, w.key)
		return err == nil && !now.Exists(), now, err
	}
	if kept, unit := s.dialect.expiries(); w.ttl == 0 && w.cur.Exists() && w.next.Exists() && !kept {
		// It has to be told. That costs a round trip, and what others do to the
		// expiry meanwhile is undone.
		var gone bool
		if w.left, gone, err = s.expiresIn(ctx, w.key, unit); err == nil && gone {
			now, err = s.read(ctx, w.key)
		}
		if err != nil || gone {
			return false, now, err
		}
	}
	c, err := s.dialect.commit(w)
	if err != nil {
		return false, rmw.Value{}, err
	}
	s.flights.send(ctx, append([]*call{c}, also...)...)
	v, err := s.dialect.verdict(w.key.Kind, c)
	switch {
	case redisx.OutcomeOf(err) == redisx.Unknown: // what the answer does not tell is unknown
		return false, rmw.Value{}, redisx.Because(rmw.ErrOutcomeUnknown, err)
	case err == nil && !v.stored && !v.known:
		v.now, err = s.read(ctx, w.key)
	}
	return v.stored, v.now, err
}

// commit is put for somebody who does not wait for longer than his ctx lasts.
func (s *Store) commit(ctx context.Context, w write) (stored bool, now rmw.Value, err error) {
	var answer struct {
		stored bool
		now    rmw.Value
		err    error
	}
	var abandoned error
	err = s.outlast(ctx, new(outage), func() error {
		abandoned = s.gate.Await(ctx, func() {
			answer.stored, answer.now, answer.err = s.put(context.WithoutCancel(ctx), w)
		})
		if abandoned != nil {
			return nil
		}
		return answer.err
	})
	switch {
	case abandoned != nil:
		return false, rmw.Value{}, redisx.Because(rmw.ErrOutcomeUnknown, ctx.Err())
	case err != nil:
		return false, rmw.Value{}, err
	}
	return answer.stored, answer.now, answer.err
}

// expiresIn returns what a commit has to set for a key to expire when it would have, 0 if
// that is never; or that the key is gone, so that nothing may be written: it could come
// back meanwhile, with an expiry that nobody has seen.
func (s *Store) expiresIn(ctx context.Context, key rmw.Key, unit time.Duration) (left time.Duration, gone bool, err error) {
	var sent time.Time
	var ms int64
	err = s.look(ctx, func() *call {
		sent = time.Now()
		return word("pttl", key.Name)
	}, func(c *call) (err error) {
		ms, err = c.integer()
		return err
	})
	left = time.Duration(ms) * time.Millisecond
	switch {
	case err != nil:
		return 0, false, err
	case ms == -2:
		return 0, true, nil
	case ms < 0:
		return 0, false, nil
	case ms == 0:
		// Its last moment, of up to a second. Written again it would have another.
		return 0, true, redisx.Sleep(ctx, unit)
	case left%time.Second != 0: // else the server counts in seconds, and none has passed
		// It has run since it was read, and the commit is under way for about as
		// long as the question was.
		left -= time.Since(sent)
	}
	return max(left, time.Millisecond), false, nil
}
