package locktest

import (
	"context"
	"time"

	"github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/rmw"
)

// naiveHold is one acquisition.
type naiveHold struct {
	n          *naive
	key, owner string
	goroutine  string
	token      uint64
	users      int
	lost       bool
	until      time.Time // when it counts as lost
	cancel     context.CancelCauseFunc
	ended      chan struct{}
}

// naiveContext is fn's ctx, whose Err looks at the clock.
type naiveContext struct {
	context.Context

	outer context.Context // the caller's
	h     *naiveHold
}

func (c naiveContext) Err() error {
	c.h.n.mu.Lock()
	if c.h.n.flaw != stallUntold {
		c.h.expire()
	}
	c.h.n.mu.Unlock()
	_ = c.outer.Err() // so that an outer lock looks at its clock
	return c.Context.Err()
}

func (c naiveContext) Value(key any) any {
	if key == (lock.ContextKey{}) && c.h.n.flaw != outerToken {
		return c.h
	}
	return c.Context.Value(key)
}

func (h *naiveHold) Token(context.Context) (uint64, error) {
	h.n.mu.Lock()
	defer h.n.mu.Unlock()
	switch {
	case h.n.plain:
		return 0, rmw.ErrUnsupported
	case h.lost && h.n.flaw != tokenOfTheLost:
		return 0, rmw.ErrLockLost
	case h.users == 0 && h.n.flaw != tokenOfTheEnded:
		return 0, rmw.ErrInvalid
	case h.n.flaw == changingToken:
		h.n.token++
		return h.n.token, nil
	}
	return h.token, nil
}

func (h *naiveHold) Sequencer(ctx context.Context) (lock.Sequencer, error) {
	token, err := h.Token(ctx)
	return lock.Sequencer{Name: h.key, Owner: h.owner, Token: token}, err
}

func (h *naiveHold) State() lock.State {
	h.n.mu.Lock()
	defer h.n.mu.Unlock()
	if h.lost || h.users == 0 {
		return lock.Lost
	}
	return lock.Safe
}

// expire counts the lock as lost when its time is up. The store's lock is held.
func (h *naiveHold) expire() {
	if h.users > 0 && !h.lost && !h.n.now().Before(h.until) {
		h.lose()
	}
}

func (h *naiveHold) lose() {
	h.lost = true
	if h.n.flaw == noCause {
		h.cancel(nil)
	} else {
		h.cancel(rmw.ErrLockLost)
	}
}

func (h *naiveHold) prolong(now time.Time) {
	h.until = now.Add(naiveLease * 9 / 10)
	if h.n.flaw == noticesLate {
		h.until = now.Add(naiveLease * 11 / 10)
	}
}

// renew prolongs the lease until the hold ends.
func (h *naiveHold) renew() {
	for {
		tick := time.NewTimer(naiveLease / 20)
		select {
		case <-tick.C:
		case <-h.ended:
			tick.Stop()
			return
		case <-h.n.over:
			tick.Stop()
			return
		}
		h.n.mu.Lock()
		mine := h.n.locks[h.key].owner == h.owner || h.n.flaw == recreates || h.n.flaw == processOwner
		switch {
		case !h.n.cut && mine:
			h.n.locks[h.key] = naiveLock{h.owner, time.Now().Add(naiveLease)}
			h.prolong(h.n.now())
		case !h.n.cut || !h.n.now().Before(h.until):
			h.lose()
			h.n.mu.Unlock()
			return
		}
		h.n.mu.Unlock()
	}
}

func (h *naiveHold) leave(ctx context.Context, failed bool) (lost bool) {
	h.n.mu.Lock()
	if h.n.flaw != stallHidden {
		h.expire()
	}
	h.users--
	users := h.users
	lost = h.lost
	h.n.mu.Unlock()
	switch {
	case h.n.flaw == innerFailureGivesAway && failed, h.n.flaw == outerGivesAway && ctx.Value(naiveKey{h.n, h.key}) == nil:
		h.release()
	case h.n.flaw == callersCtx && ctx.Err() != nil:
	case users == 0:
		h.release()
	}
	if users == 0 {
		close(h.ended)
	}
	return lost
}

func (h *naiveHold) release() {
	h.n.mu.Lock()
	defer h.n.mu.Unlock()
	if h.n.cut {
		return
	}
	if h.n.locks[h.key].owner == h.owner || h.n.flaw == releasesAnyones {
		delete(h.n.locks, h.key)
	}
}
