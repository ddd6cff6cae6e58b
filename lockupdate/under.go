package lockupdate

import (
	"fmt"

	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/rmw"
)

// runUnder is an Update under a lock that its ctx holds already. If that is another
// Update's, it cannot be: the outer one would never see what the inner one wrote.
func (u *update) runUnder(outer *turnContext) (rmw.Result, error) {
	if !outer.section {
		return rmw.Result{}, u.fail("update", fmt.Errorf("%w: an Update of this key from within its own UpdateFunc would wait for itself; "+
			"compute it all in one UpdateFunc, or update again after the outer call has returned", rmw.ErrInvalid))
	}
	var err error
	if u.given, err = u.Store.read(u.ctx, u.key); err != nil {
		return rmw.Result{}, u.fail("read", redisx.Blame(u.ctx, err))
	}
	for {
		u.attempts++
		u.callUnder(outer)
		switch {
		case u.err != nil:
			return u.result(), u.err
		case !u.wrote:
			return u.success(), nil
		}
		stored, now, err := u.commitNow()
		switch {
		case err != nil:
			return u.result(), u.fail("commit", redisx.Blame(u.ctx, err))
		case stored:
			return u.success(), nil
		case u.attempts >= u.cfg.MaxAttempts:
			return u.result(), u.fail("commit", rmw.ErrContended)
		}
		u.given = now
	}
}

// callUnder calls fn with a ctx that tells that it is an Update's.
func (u *update) callUnder(outer *turnContext) {
	ctx := &turnContext{parent: u.ctx, name: u.key.Name, lease: outer.lease, depth: 1}
	defer ctx.end(nil)
	next, err := u.fn(ctx, u.show())
	u.token = outer.lease.drawn.Load()
	u.judge(nil, next, err)
}

// write is what the update comes to by itself.
func (u *update) write() write {
	return write{key: u.key, cur: u.given, next: u.after, reads: u.reads, ttl: u.ttl}
}

// commitNow writes what fn returned if the key still holds what fn was given. It is
// the caller's own command: nobody else's depends on it.
func (u *update) commitNow() (stored bool, now rmw.Value, err error) {
	stored, now, err = u.Store.commit(u.ctx, u.write())
	switch {
	case err == nil && stored && now.Exists():
		u.rebase(now)
	case err == nil && !stored:
		u.note(Event{Kind: EventConflicted, Lock: u.cfg.LockName(u.key.Name), N: 1})
	}
	return stored, now, err
}
