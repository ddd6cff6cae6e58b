package redlock

import (
	"context"
	"time"

	"github.com/unwatch/unwatch/rmw"
)

// round is one attempt to take a lock. It has an owner of its own, so that its late
// commands cannot touch the next attempt.
type round struct {
	*Locker
	name, owner string
	ctx         context.Context // of the commands: the caller's, without its end
	began       time.Time
	votes       []*vote
	answers     chan *vote
}

// vote is the answer of a node to a round.
type vote struct {
	node    int           // its index
	settled chan struct{} // closed once the client has returned, however late

	// Set before settled is closed.
	granted bool
	doubt   bool  // a SET may have been executed, or may be yet
	err     error // why there is no answer; nil if it granted or refused
}

// ask sends the nodes the request for a lock, all at once.
func (l *Locker) ask(ctx context.Context, name string) *round {
	r := &round{
		Locker: l, name: name, owner: l.nextOwner(), ctx: context.WithoutCancel(ctx), began: l.now(),
		votes: make([]*vote, len(l.nodes)), answers: make(chan *vote, len(l.nodes)),
	}
	for i := range r.votes {
		v := &vote{node: i, settled: make(chan struct{})}
		r.votes[i] = v
		l.gate.Go(func() {
			ctx, cancel := r.bounded()
			defer cancel()
			v.granted, v.doubt, v.err = take(ctx, l.nodes[i], r.name, r.owner, l.cfg.Lease)
			close(v.settled)
			r.answers <- v
		})
	}
	return r
}

// bounded returns the ctx for the commands of one node.
func (r *round) bounded() (context.Context, context.CancelFunc) {
	return context.WithTimeout(r.ctx, r.cfg.NodeTimeout)
}

// decide waits until the lock is surely won or lost, but no longer than
// NodeTimeout or ctx. It returns nil if a majority has granted it in time,
// rmw.ErrContended if a majority has answered, but not so, or another error.
func (r *round) decide(ctx context.Context) error {
	timeout := time.NewTimer(r.cfg.NodeTimeout)
	defer timeout.Stop()
	failures := make([]error, len(r.votes))
	for i := range failures {
		failures[i] = errSilent
	}
	var granted, refused, failed int
	spare := len(r.votes) - r.quorum // more than these cannot be missing
	for open := len(r.votes); open > 0; open-- {
		select {
		case v := <-r.answers:
			failures[v.node] = v.err
			switch {
			case v.granted:
				granted++
			case v.err == nil:
				refused++
			default:
				failed++
			}
		case <-timeout.C:
			failed += open
			open = 0
		case <-ctx.Done():
			return ctx.Err()
		}
		switch {
		case granted == r.quorum:
			return r.inTime()
		case refused > spare:
			return rmw.ErrContended
		case failed > spare:
			return unreached(failures, spare)
		}
	}
	return rmw.ErrContended
}

// inTime fails if the majority came too late to be of use.
func (r *round) inTime() error {
	if elapsed := r.now().Sub(r.began); elapsed >= r.cfg.usable() {
		return tooLate(elapsed, r.cfg.Lease)
	}
	return nil
}
