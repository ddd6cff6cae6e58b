package redlock

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/unwatch/unwatch/rmw"
)

// hold is a lock that has been taken. It is shared by the fn that it was taken for
// and those that are nested in it, and given back by the last of them.
type hold struct {
	*round
	taken time.Time

	kept  context.Context // ends, with the reason as its cause, when the lock is lost
	lose  context.CancelCauseFunc
	over  chan struct{} // closed when the last has left
	ended chan struct{} // closed when keep has returned

	mu    sync.Mutex
	users int
	until time.Time // when it counts as lost
}

// newHold keeps the lock that the round has won. The last to leave leaves the gate
// for the call that has taken it: an inner fn may run on for longer than that.
func newHold(r *round) *hold {
	h := &hold{
		round: r, taken: r.now(), over: make(chan struct{}), ended: make(chan struct{}),
		users: 1, until: r.began.Add(r.cfg.usable()),
	}
	h.kept, h.lose = context.WithCancelCause(context.Background())
	r.gate.Go(h.keep)
	return h
}

// renewal is one attempt to prolong the lock, with the answers of the nodes.
type renewal struct {
	sent       time.Time
	ours, gone int // nodes
}

// renewed is a node's answer to a renewal.
type renewed struct {
	of   *renewal
	ours bool
	err  error
}

// keep renews the lock at half, and counts it as lost when that did not succeed on
// a majority in time, by our monotonic clock and whatever becomes of the commands.
func (h *hold) keep() {
	defer close(h.ended)
	answers := make(chan renewed)
	half := h.cfg.usable() / 2
	renewAt, last := h.began.Add(half), h.taken.Add(h.cfg.MaxHold)
	clock := time.NewTimer(0)
	defer clock.Stop()
	for {
		now, until := h.now(), h.deadline()
		switch {
		case !now.Before(last):
			h.lose(fmt.Errorf("%w: held for the %v that Config.MaxHold allows", rmw.ErrLockLost, h.cfg.MaxHold))
			return
		case !now.Before(until):
			h.lose(h.notRenewed())
			return
		case !now.Before(renewAt):
			h.renew(now, answers)
			renewAt = now.Add(h.cfg.NodeTimeout + h.cfg.Lease/16) // should this one come to nothing
		}
		clock.Reset(earliest(renewAt, until, last).Sub(now))
		select {
		case <-h.over:
			return
		case <-clock.C:
		case a := <-answers:
			switch done, lost := h.count(a); {
			case lost:
				h.lose(fmt.Errorf("%w: it is gone from a majority of the nodes, or another's", rmw.ErrLockLost))
				return
			case done:
				renewAt = a.of.sent.Add(half)
			}
		}
	}
}

// renew sends a renewal to all nodes. A node that has lost the lock, or never had
// it, does not get it back: that would count it into a majority.
func (h *hold) renew(now time.Time, answers chan<- renewed) {
	rn := &renewal{sent: now}
	for _, n := range h.nodes {
		h.gate.Go(func() {
			ctx, cancel := h.bounded()
			defer cancel()
			ours, err := renewScript.run(ctx, n, h.name, h.owner, h.cfg.Lease.Milliseconds())
			select {
			case answers <- renewed{rn, ours, err}:
			case <-h.ended:
			}
		})
	}
}

// count counts an answer. done: with it, the lock is renewed; lost: with it, no
// majority can have it any more.
func (h *hold) count(a renewed) (done, lost bool) {
	switch {
	case a.err != nil: // it may be renewed all the same, which counts for nothing
	case a.ours:
		a.of.ours++
	default:
		a.of.gone++
	}
	if a.ours && a.of.ours == h.quorum {
		h.mu.Lock()
		defer h.mu.Unlock()
		if until := a.of.sent.Add(h.cfg.usable()); until.After(h.until) { // they may overtake each other
			h.until = until
			return true, false
		}
	}
	return false, a.of.gone > len(h.nodes)-h.quorum
}

func (h *hold) deadline() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.until
}

func (h *hold) notRenewed() error {
	return fmt.Errorf("%w: no majority of the nodes renewed it within its %v", rmw.ErrLockLost, h.cfg.Lease)
}

// leave ends one function under the lock. The last one gives it back, and waits
// for the nodes that have granted it, but no longer than NodeTimeout: they are a
// majority, so after that others can have the lock. It returns why the lock was
// lost, if it was.
func (h *hold) leave() error {
	lost := h.lost()
	h.mu.Lock()
	h.users--
	last := h.users == 0
	h.mu.Unlock()
	if last {
		close(h.over)
		h.giveBack(context.Background(), (*vote).has)
		h.gate.Leave()
	}
	return lost
}

// lost returns why the lock counts as lost, if it does. It looks at the clock itself:
// after a stop of the process, fn may run before keep does.
func (h *hold) lost() error {
	if !h.now().Before(h.deadline()) {
		h.lose(h.notRenewed())
	}
	return context.Cause(h.kept)
}

func earliest(first time.Time, others ...time.Time) time.Time {
	for _, t := range others {
		if t.Before(first) {
			first = t
		}
	}
	return first
}
