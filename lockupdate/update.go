package lockupdate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/unwatch/unwatch/lockupdate/internal/driver"
	"github.com/unwatch/unwatch/lockupdate/internal/holder"
	"github.com/unwatch/unwatch/lockupdate/internal/values"
	"github.com/unwatch/unwatch/rmw"
)

// Update implements [rmw.Updater]; the package doc tells how. fn runs on the
// caller's goroutine and under the lock of key, so an Update of the same key from
// within fn would wait for itself: with fn's ctx it is refused with
// [rmw.ErrInvalid], with any other it costs the outer one its lock after
// [Config.MaxHold]. Within [Store.WithLock] of the same key it runs under that lock.
func (s *Store) Update(ctx context.Context, key rmw.Key, fn rmw.UpdateFunc) (rmw.Result, error) {
	if err := s.beginValue(ctx, key); err != nil {
		return rmw.Result{}, driver.Fail("update", key, 0, err)
	}
	defer s.gate.Leave()
	if fn == nil {
		return rmw.Result{}, driver.Fail("update", key, 0, errNoFn)
	}
	lock, err := s.lockName(key.Name)
	if err != nil {
		return rmw.Result{}, driver.Fail("update", key, 0, err)
	}
	if err := rmw.CheckTx(ctx, s, key.Name); err != nil {
		return rmw.Result{}, driver.Fail("update", key, 0, err)
	}
	if s.sealing(ctx, key.Name) {
		return rmw.Result{}, driver.Fail("update", key, 0, errNested)
	}
	res, err := s.update(ctx, key, lock, fn)
	if errors.Is(err, values.ErrSealed) && res.Attempts < s.cfg.MaxAttempts {
		return s.updateSealing(ctx, key, lock, fn, res)
	}
	return res, err
}

func (s *Store) update(ctx context.Context, key rmw.Key, lock string, fn rmw.UpdateFunc) (rmw.Result, error) {
	call := s.queues.NewUpdate(ctx, key, lock, fn)
	switch outer := s.keeper.Held(ctx, lock); {
	case outer != nil && outer.Section():
		return call.UpdateNested(outer)
	case outer != nil: // the outer Update would never see the write of the inner one
		return rmw.Result{}, driver.Fail("update", key, 0, errNested)
	case s.cfg.LockOnDemand && call.EnterUnlocked():
		return s.updateUnlocked(ctx, key, lock, call)
	}
	return call.UpdateUnderLock()
}

// updateSealing is an update that seals the key as updates of several keys do, so that it has its turn among them. It holds the
// lock for fn, which may ask for it.
func (s *Store) updateSealing(
	ctx context.Context, key rmw.Key, lock string, fn rmw.UpdateFunc, tried rmw.Result,
) (res rmw.Result, err error) {
	var done bool
	began := time.Now()
	errLock := s.WithLock(ctx, key.Name, func(ctx context.Context) error {
		waited := time.Since(began)
		var tx rmw.TxResult
		tx, err = s.several.Update(ctx, key, func(ctx context.Context, t *rmw.Tx) error {
			next, err := fn(ctx, t.Get(key))
			if err == nil {
				t.Put(key, next)
			}
			return err
		}, tried.Attempts)
		done = true
		res = rmw.Result{Attempts: tx.Attempts, Waited: tried.Waited + waited + tx.Waited}
		if err == nil {
			c := tx.Changes[0]
			res.Before, res.After, res.Written = c.Before, c.After, c.Written
			if held := s.keeper.Held(ctx, lock); held != nil {
				res.Token = held.Drawn(0)
			}
		}
		return nil
	})
	if !done {
		return tried, driver.Fail("update", key, tried.Attempts, errLock)
	}
	return res, err
}

// sealing reports whether ctx is that of an fn of an update that has sealed the key.
func (s *Store) sealing(ctx context.Context, key string) bool {
	return rmw.CheckTx(ctx, s.several, key) != nil
}

// updateUnlocked is an update without the lock, in two round trips on this goroutine. If
// the key is contended, the update goes on under the lock.
func (s *Store) updateUnlocked(ctx context.Context, key rmw.Key, lock string, call *holder.Call) (rmw.Result, error) {
	value, held, err := s.values.ReadAndLook(ctx, key, lock)
	switch {
	case err != nil:
		return call.LeaveUnlocked("read", err)
	case held:
		return call.UpdateContended()
	}
	if !call.CallUnlocked(value) {
		return call.LeaveUnlocked("", nil)
	}
	if answered, err := call.CommitAlone(); answered {
		return call.LeaveUnlocked("commit", err)
	}
	return call.UpdateContended()
}

var errNested = fmt.Errorf("%w: an Update of this key from within its own UpdateFunc would wait for itself; "+
	"compute it all in one UpdateFunc, or update again after the outer call has returned", rmw.ErrInvalid)
