package lockupdate

import (
	"context"
	"fmt"
	"time"

	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/lockupdate/internal/driver"
	"github.com/unwatch/unwatch/rmw"
)

// Inspect implements [lock.Inspector], with one round trip and one command. The Owner is
// "unwatch:id:time" for a Store, with one id for all locks of the Store; other programs of
// the same layout use other names. The Age is by our clock and that of the owner. Token is
// 0, since tokens are counted apart from the lock, and there is no Data. Without Lua, the
// answer may be older, if a proxy reads from replicas.
func (s *Store) Inspect(ctx context.Context, name string) (lock.Info, error) {
	key := rmw.Key{Name: name}
	h, err := s.inspect(ctx, key)
	if err != nil {
		return lock.Info{}, driver.Fail("inspect", key, 0, redisx.Blame(ctx, err))
	}
	return lock.Info{
		Sequencer: lock.Sequencer{Name: name, Owner: h.Owner},
		Held:      h.Owner != "", Left: h.TTL, Age: h.Age, Waiters: h.HasWaiters,
	}, nil
}

// Check implements [lock.Checker], as [Store.Inspect] does. It compares the Owner, which no
// other holding has. The holding of a Store goes on from one of its calls to the next, as
// long as no other process comes between them; so does the Sequencer.
func (s *Store) Check(ctx context.Context, q lock.Sequencer) error {
	key := rmw.Key{Name: q.Name}
	h, err := s.inspect(ctx, key)
	switch {
	case err != nil:
		return driver.Fail("check", key, 0, redisx.Blame(ctx, err))
	case h.Owner == "" || h.Owner != q.Owner:
		return driver.Fail("check", key, 0, errHoldingEnded)
	}
	return nil
}

var errHoldingEnded = fmt.Errorf("%w: this holding of the lock has ended", rmw.ErrLockLost)

func (s *Store) inspect(ctx context.Context, key rmw.Key) (driver.LockState, error) {
	if err := s.begin(ctx, key); err != nil {
		return driver.LockState{}, err
	}
	defer s.gate.Leave()
	name, err := s.lockName(key.Name)
	if err != nil {
		return driver.LockState{}, err
	}
	cmds := s.transport.Driver.Inspect(name)
	var state driver.LockState
	_, err = s.transport.Query(ctx, func() (err error) {
		state, err = s.transport.Driver.Inspected(name, cmds, time.Now())
		return err
	}, cmds...)
	return state, err
}
