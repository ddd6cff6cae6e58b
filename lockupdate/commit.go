package lockupdate

import (
	"context"
	"errors"
	"time"

	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/rmw"
)

// write commits what a group comes to if the key still holds its base. If it holds
// something else, it returns that and stored=false. An error means that nothing was
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
	var question []*call
	if ask {
		question = []*call{t.question()}
		t.heed()
	}
	sent := t.watchdog.now()
	stored, now, err = t.put(ctx, write{key: t.key, cur: g.base, next: g.value, ttl: g.ttl}, question...)
	if ask && question[0].cmd != nil {
		t.heard(sent, question[0])
	}
	if errors.Is(err, rmw.ErrOutcomeUnknown) && !g.value.Equal(g.base) && t.foundStored(ctx, g.value) {
		return true, rmw.Value{}, nil
	}
	return stored, now, err
}

// question is a renewal, whose answer may tell whether others wait.
func (t *tenure) question() *call {
	return t.dialect.renew(t.lock, t.lease.owner, t.cfg.Lease)
}

// ask asks whether others wait.
func (t *tenure) ask() {
	t.heed()
	c, sent := t.question(), t.watchdog.now()
	t.flights.send(t.ctx, c)
	t.heard(sent, c)
}

// heard takes in the answer to the question.
func (t *tenure) heard(sent time.Duration, question *call) {
	held, note, err := t.dialect.answer(question)
	lost := t.watchdog.renewed(t.lease, sent, held, err)
	if held {
		t.note(Event{Kind: EventRenewed, N: 1, Took: t.watchdog.now() - sent})
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.checked = time.Now()
	t.lost = t.lost || lost
	t.yield = t.yield || note > 0
}

// heed looks for the note of those who wait, where it is not in the lock.
func (t *tenure) heed() {
	c := t.dialect.heed(t.lock)
	t.aside(c, func() {
		if t.dialect.heeded(t.owner, c) > 0 {
			t.mu.Lock()
			t.yield = true
			t.mu.Unlock()
			t.look()
		}
	})
}

// aside sends a call, if there is one, for which nobody waits, and calls then with the
// answer; unless the one before is still on its way.
func (t *tenure) aside(c *call, then func()) {
	if c == nil || !t.busyAside.CompareAndSwap(false, true) {
		return
	}
	ctx := t.ctx
	t.gate.Go(func() {
		defer t.busyAside.Store(false)
		t.flights.send(ctx, c)
		then()
	})
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
		if w.left, gone, err = s.expiry(ctx, w.key, unit); err == nil && gone {
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

// expiry returns what a commit has to set for a key to expire when it would have, 0 if
// that is never; or that the key is gone, so that nothing may be written: it could come
// back meanwhile, with an expiry that nobody has seen.
func (s *Store) expiry(ctx context.Context, key rmw.Key, unit time.Duration) (left time.Duration, gone bool, err error) {
	var sent time.Time
	var ms int64
	err = s.look(ctx, func() *call {
		sent = time.Now()
		return word("pttl", key.Name)
	}, func(c *call) (err error) {
		ms, err = c.cmd.Int64()
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
