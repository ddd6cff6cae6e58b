package redlock

import (
	"context"
	"iter"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/lock/driver"
	"github.com/unwatch/unwatch/rmw"
)

// service is the [driver.Service] of a Locker.
type service struct {
	nodes  []Node
	quorum int
	cfg    Config
	err    error // why nothing can work
	gate   *redisx.Gate
	now    func() time.Time // what leases are measured by; a test can let it jump

	mu     sync.Mutex
	rounds map[string]*round // that have won, by the owner of the Request
}

// round is one attempt to take a lock. It has an owner of its own, so that its late
// commands cannot touch the next attempt.
type round struct {
	*service
	name, owner string
	ctx         context.Context // of the commands: the caller's, without its end
	began       time.Time
	votes       []*vote
}

// vote is the answer of a node to a round.
type vote struct {
	node    int           // its index
	settled chan struct{} // closed once the client has returned, however late

	// Set before settled is closed.
	granted bool
	doubt   bool // a SET may have been executed, or may be yet
}

func (s *service) newRound(ctx context.Context, request driver.Request) *round {
	r := &round{
		service: s, name: request.Name, owner: request.Owner + ":" + strconv.Itoa(request.Tries),
		ctx: context.WithoutCancel(ctx), began: s.now(),
	}
	for i := range s.nodes {
		r.votes = append(r.votes, &vote{node: i, settled: make(chan struct{})})
	}
	return r
}

// withoutTry returns the owner of the Request from that of a round.
func withoutTry(owner string) string {
	return owner[:max(strings.LastIndexByte(owner, ':'), 0)]
}

// round returns the round that has won the lock for an owner, or nil.
func (s *service) round(owner string) *round {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rounds[owner]
}

func (r *round) take(ctx context.Context, node int) (granted bool, err error) {
	v := r.votes[node]
	defer close(v.settled)
	v.granted, v.doubt, err = take(ctx, r.nodes[node], r.name, r.owner, r.cfg.expiry())
	return v.granted, err
}

func (r *round) renew(ctx context.Context, node int) (ours bool, err error) {
	return renewScript.run(ctx, r.nodes[node], r.name, r.owner, r.cfg.expiry().Milliseconds())
}

// request asks one node, and returns whether it agrees.
type request = func(ctx context.Context, node int) (yes bool, err error)

// answer is that of a node to a request.
type answer struct {
	node int
	yes  bool
	err  error
}

// ask sends a request to all nodes at once, and yields the answers as they come, but
// none after NodeTimeout or the end of ctx.
func (s *service) ask(ctx context.Context, send request) iter.Seq[answer] {
	answers := make(chan answer, len(s.nodes))
	for i := range s.nodes {
		s.gate.Go(func() {
			ctx, cancel := s.bounded(context.WithoutCancel(ctx))
			defer cancel()
			yes, err := send(ctx, i)
			answers <- answer{i, yes, err}
		})
	}
	return func(yield func(answer) bool) {
		timeout := time.NewTimer(s.cfg.NodeTimeout)
		defer timeout.Stop()
		for range s.nodes {
			select {
			case a := <-answers:
				if !yield(a) {
					return
				}
			case <-timeout.C:
				return
			case <-ctx.Done():
				return
			}
		}
	}
}

// bounded returns the ctx for the commands of one node.
func (s *service) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, s.cfg.NodeTimeout)
}

// majority sends a request to all nodes and waits until a majority surely agrees, or
// surely does not. It returns nil if it does, and otherwise errGone if a majority
// cannot agree any more, rmw.ErrContended if the nodes are split, or another error.
func (s *service) majority(ctx context.Context, send request) error {
	failures := s.silence()
	var yes, no, failed int
	spare := len(s.nodes) - s.quorum // more than these cannot be missing
	for a := range s.ask(ctx, send) {
		failures[a.node] = a.err
		switch {
		case a.err != nil:
			failed++
		case a.yes:
			yes++
		default:
			no++
		}
		switch {
		case yes == s.quorum:
			return nil
		case no > spare:
			return errGone
		case failed > spare:
			return unreached(failures, spare)
		}
	}
	switch silent := len(s.nodes) - yes - no; {
	case ctx.Err() != nil:
		return ctx.Err()
	case silent > spare:
		return unreached(failures, spare)
	}
	return rmw.ErrContended
}
