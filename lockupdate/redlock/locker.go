package redlock

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/unwatch/unwatch/internal/leaseclock"
	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/lock/driver"
	"github.com/unwatch/unwatch/rmw"
)

// Locker is a [lock.Locker]: a majority of independent masters grants its locks.
// It is safe for concurrent use. Make it with [New], and Close it when done.
//
// It is reentrant through the ctx: fn's ctx, or one derived from it, may be used to
// take the same lock again, on any goroutine, at no cost. The lock's key on the nodes
// is its name itself.
//
// The error rmw.ErrUnavailable means that no majority of the nodes answered: the Locker
// does not wait for any to come back. The error rmw.ErrUnsupported means that a majority
// refuses the commands, or the password.
type Locker struct {
	*driver.Locker

	service *service
}

var (
	_ lock.Locker    = (*Locker)(nil)
	_ lock.Checker   = (*Locker)(nil)
	_ lock.Inspector = (*Locker)(nil)
)

// New makes a Locker over at least one node. All users of
// the same locks must have the same nodes; their order does not matter.
//
// Make it an odd number, three or five. With two, or four, one more node has to
// agree than with one, or three, and no more of them may fail. One is no quorum
// but works.
//
// Nodes or a Config that cannot work are reported by every call.
func New(nodes []Node, cfg Config) *Locker {
	s := &service{
		nodes: slices.Clone(nodes), quorum: len(nodes)/2 + 1, cfg: cfg.withDefaults(),
		err: errors.Join(checkNodes(nodes), cfg.Validate()), gate: redisx.NewGate(), now: leaseclock.New().Time,
		rounds: map[string]*round{},
	}
	options := driver.Options{Package: "redlock", Service: "redlock", Margin: s.cfg.Drift + s.cfg.Lease/20}
	tuned := driver.Config{Now: func() time.Time { return s.now() }}
	if s.err == nil { // the Service reports it
		tuned.Lease, tuned.LockDelay, tuned.MaxWait, tuned.MaxHold = s.cfg.Lease, s.cfg.LockDelay, s.cfg.MaxWait, s.cfg.MaxHold
		tuned.Poll, tuned.Observer = s.cfg.Poll, s.cfg.Observer
	}
	return &Locker{driver.New(s, options, tuned), s}
}

func checkNodes(nodes []Node) error {
	if len(nodes) == 0 {
		return fmt.Errorf("%w: redlock.New needs at least one node; use three or five", rmw.ErrInvalid)
	}
	for i, n := range nodes {
		if redisx.IsNil(n) {
			return fmt.Errorf("%w: redlock.New needs clients, and node %d is nil", rmw.ErrInvalid, i)
		}
		if err := redisx.CheckClient("redlock.New", fmt.Sprintf(" as node %d", i), n); err != nil {
			return err
		}
		if !reflect.ValueOf(n).Comparable() {
			continue
		}
		if first := slices.Index(nodes[:i], n); first >= 0 {
			return fmt.Errorf("%w: redlock.New needs independent masters, and nodes %d and %d are the same", rmw.ErrInvalid, first, i)
		}
	}
	return nil
}

// Close refuses new calls, ends those that wait for a lock with [rmw.ErrClosed], and
// waits for fn that run, and until all commands have been answered or the clients
// have given up on them, as their ReadTimeout says. After the last fn it waits for the
// clients at most 10 s: then the error tells how many commands are left. Do not call it
// from within fn, and call it before the clients' Close. It may be called again.
func (l *Locker) Close() error {
	err := l.Locker.Close()
	if left := l.service.gate.Close(); left != nil {
		err = errors.Join(err, fmt.Errorf("redlock: %w", left))
	}
	return err
}

// Acquire implements [driver.Service]. Each call is one attempt, by an owner of its own.
func (s *service) Acquire(ctx context.Context, request driver.Request) (driver.Grant, error) {
	if s.err != nil {
		return driver.Grant{}, s.err
	}
	r := s.newRound(ctx, request)
	err := s.majority(ctx, r.take)
	if err == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.rounds[request.Owner] = r
		return driver.Grant{Since: r.began}, nil
	}
	r.giveBack(ctx, (*vote).owes) // so that nothing of this attempt is in the way of the next one
	return driver.Grant{}, err
}

// Renew implements [driver.Service]. A node that has lost the lock, or never had it,
// does not get it back: that would count it into a majority.
func (s *service) Renew(ctx context.Context, holds []*driver.Hold) error {
	var asked sync.WaitGroup
	for _, h := range holds {
		r := s.round(h.Owner())
		if r == nil {
			continue // it waits
		}
		asked.Go(func() {
			switch err := s.majority(ctx, r.renew); {
			case err == nil:
			case errors.Is(err, errGone):
				h.Lose(lock.LossTaken, "it is gone from a majority of the nodes (expired, or held by another owner)")
			default:
				h.Fail(err)
			}
		})
	}
	asked.Wait()
	return nil
}

// Release implements [driver.Service]. It waits for the nodes that have granted the
// lock, but no longer than NodeTimeout: they are a majority, so after that others can
// have the lock.
func (s *service) Release(ctx context.Context, _, owner string) error {
	r := s.round(owner)
	if r == nil {
		return nil // Acquire has given it back
	}
	s.mu.Lock()
	delete(s.rounds, owner)
	s.mu.Unlock()
	r.giveBack(ctx, (*vote).has)
	return nil
}

// Inspect implements [driver.Service]. A lock is held if a majority of the nodes has the
// same owner. If too many nodes are silent to tell, the error is rmw.ErrUnavailable.
func (s *service) Inspect(ctx context.Context, name string) (lock.Info, error) {
	if s.err != nil {
		return lock.Info{}, s.err
	}
	owners, failures := make([]string, len(s.nodes)), s.silence()
	votes, most, silent := map[string]int{}, 0, len(s.nodes)
	for a := range s.ask(ctx, func(ctx context.Context, node int) (_ bool, err error) {
		owners[node], err = get(ctx, s.nodes[node], name)
		return false, err
	}) {
		if failures[a.node] = a.err; a.err != nil {
			continue
		}
		silent--
		owner := owners[a.node]
		if owner == "" {
			continue
		}
		votes[owner]++
		if most = max(most, votes[owner]); most == s.quorum {
			return lock.Info{Held: true, Sequencer: lock.Sequencer{Owner: withoutTry(owner)}}, nil
		}
	}
	if most+silent >= s.quorum {
		if ctx.Err() != nil {
			return lock.Info{}, ctx.Err()
		}
		return lock.Info{}, unreached(failures, len(s.nodes)-s.quorum)
	}
	return lock.Info{}, nil
}
