package locktest

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/lock/driver"
	"github.com/unwatch/unwatch/rmw"
)

// flawed is a Memory with a flaw.
type flawed struct {
	*Memory

	flaw flaw
}

// flawedTarget has flawed Lockers. It declares all that a Memory can.
func flawedTarget(f flaw) Target {
	cfg := driver.Config{LockDelay: 2 * time.Second}
	if f == polls {
		cfg.Poll = rmw.Backoff{Base: 5 * time.Millisecond, Max: 5 * time.Millisecond}
	}
	maxHold := time.Duration(0)
	if f == neverEnds || f == untimely || f == lossNameless || f == allExpired || f == maxHoldExpired {
		maxHold = time.Minute
		cfg.MaxHold = maxHold
	}
	if f == untimely {
		cfg.MaxHold = maxHold - time.Second
	}
	m := NewMemory(cfg)
	data := &flawedData{granted: map[string]bool{}, last: map[string]lock.Info{}, had: map[*memoryClient]bool{}}
	begin := func(tb testing.TB, m *Memory) lock.Locker {
		m.start(flawedService{m.mine, f, data})
		tb.Cleanup(func() { _ = m.Close() })
		return flawed{m, f}
	}
	restart, failover, forget, setClock := m.Restart, m.Failover, m.Forget, m.SetClock
	reconnect := (*Memory).Reconnect
	switch f {
	case forgetsLocks:
		restart = m.Forget
	case forgetsReplica:
		failover = m.Forget
	case tokensOfData:
		forget = func() { data.count = 0; m.Forget() }
	case wallLeases, wallRests:
		setClock = func(d time.Duration) {
			m.SetClock(d)
			if (d > 0) == (f == wallLeases) {
				m.expire(d)
			}
		}
	case crashedLonger:
		setClock = func(d time.Duration) { m.SetClock(d); m.expire(longer) }
	case connectionLocks:
		reconnect = (*Memory).Expire
	}
	return Target{
		Open:    func(tb testing.TB) lock.Locker { return begin(tb, m.Peer()) },
		Observe: func(tb testing.TB, o lock.Observer) lock.Locker { return begin(tb, m.Observed(f.observer(o))) },
		Share: func(tb testing.TB) (a, b lock.Locker) {
			first := m.Peer()
			return begin(tb, first), begin(tb, first.Twin())
		},
		Reentrant: true, Tokens: true, Lease: 10 * time.Second, LockDelay: 2 * time.Second, SlackAfterLease: time.Second,
		MaxHold: maxHold, Wanted: true,
		Session: f == claimsSession, Ordered: true, Jeopardy: true, Checks: true, Inspects: true, Data: true, SteadyClock: true,
		Requests: m.Requests,
		Patience: time.Hour,
		Faults: Faults{
			TakeAway: m.TakeAway,
			Cut: func(l lock.Locker) func() {
				if f == crashedLonger {
					m.expire(-longer)
				}
				return l.(flawed).Cut()
			},
			Stall:     func(l lock.Locker, d time.Duration) { l.(flawed).Stall(d) },
			LoseReply: func(l lock.Locker) func() { return l.(flawed).LoseReply() },
			Late:      func(l lock.Locker) func() { return l.(flawed).Late() },
			Reconnect: func(l lock.Locker) { reconnect(l.(flawed).Memory) },
			Expire:    func(l lock.Locker) { l.(flawed).Expire() },
			Restart:   restart, Failover: failover, Forget: forget, Clock: setClock,
		},
	}
}

const longer = 1500 * time.Millisecond

// expire brings the ends of all leases nearer by d.
func (m *Memory) expire(d time.Duration) {
	m.store.mu.Lock()
	defer m.store.mu.Unlock()
	for _, l := range m.store.locks {
		l.expires = l.expires.Add(-d)
		l.drop("")
	}
}

// flawedData is shared by the flawed services of a test.
type flawedData struct {
	count   uint64
	granted map[string]bool // owners that heard of it, or not of their release
	last    map[string]lock.Info
	had     map[*memoryClient]bool // they held a lock
}

// flawedService is the service of a Memory with a flaw.
type flawedService struct {
	*memoryClient

	flaw flaw
	data *flawedData
}

// at changes a lock at the store.
func (s flawedService) at(name string, change func(l *memoryLock)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(s.lock(name))
}

func (s flawedService) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	switch s.flaw {
	case polls:
		r.Wait = false
	case keepsGhost:
		s.expiry = time.Hour
	case deadWaiterStays, secondFirst, againFirst:
		s.at(r.Name, func(l *memoryLock) {
			free := l.owner == "" && (s.flaw != againFirst || len(l.queue) == 0)
			if !r.Wait || free || l.owner == r.Owner || l.waiter(r.Owner) != nil {
				return
			}
			w, place := &memoryWaiter{r.Owner, s.memoryClient, time.Now().Add(s.expiry), make(chan struct{}, 1)}, len(l.queue)
			switch {
			case s.flaw == deadWaiterStays:
				w.expires = time.Now().Add(time.Hour)
			case s.flaw == secondFirst:
				place = max(place-1, 0)
			case s.data.had[s.memoryClient]:
				place = 0
			}
			l.queue = slices.Insert(l.queue, place, w)
		})
	case keepsData:
		s.at(r.Name, func(l *memoryLock) {
			if r.Data == nil {
				r.Data = l.data
			}
		})
	case cutsData:
		for i, b := range r.Data {
			if b == 0 {
				r.Data = r.Data[:i]
				break
			}
		}
	}
	grant, err := s.memoryClient.Acquire(ctx, r)
	switch {
	case errors.Is(err, rmw.ErrUnavailable) && s.refusal():
		return grant, rmw.ErrContended
	case err != nil:
		return grant, err
	}
	s.at(r.Name, func(l *memoryLock) {
		s.data.had[s.memoryClient] = true
		switch s.flaw {
		case neverExpires:
			l.expires = l.expires.Add(time.Hour)
		case expiresEarly:
			l.expires = l.expires.Add(-s.expiry / 2)
		case ignoresDelay:
			l.expires = l.expires.Add(-2 * time.Second)
		case keepsGhost:
			s.data.granted[r.Owner] = true
		case tokensOfData:
			s.data.count++
			grant.Token = s.data.count
			l.token = grant.Token
		case tokensOfClock:
			grant.Token = uint64(time.Now().Add(s.wall).UnixMicro())
			l.token = grant.Token
		}
	})
	return grant, nil
}

// refusal reports whether an unanswered request counts as refused.
func (s flawedService) refusal() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.flaw == lossIsRefusal && s.mute || s.flaw == lateIsRefusal && s.slow
}

func (s flawedService) Renew(ctx context.Context, holds []*driver.Hold) error {
	s.mu.Lock()
	switch s.flaw {
	case waitsWithout:
		for _, h := range holds {
			if h.Waiting() {
				delete(s.gone, h.Owner())
			}
		}
	case drifts:
		s.expiry -= s.expiry / 100
	case losesAll:
		for _, h := range holds {
			if !h.Waiting() && s.lock(h.Name()).owner != h.Owner() && !s.gone[h.Owner()] {
				for _, h := range holds {
					h.Lose(lock.LossTaken, "another lock was lost")
				}
			}
		}
	}
	if s.flaw == neverEnds {
		for _, l := range s.locks {
			l.expires = time.Now().Add(time.Hour)
		}
	}
	s.mu.Unlock()
	if s.flaw == wantedAlways {
		for _, h := range holds {
			h.Want()
		}
	}
	return s.memoryClient.Renew(ctx, holds)
}

func (s flawedService) Release(ctx context.Context, name, owner string) error {
	switch s.flaw {
	case keepsGhost:
		if !s.data.granted[owner] {
			return nil
		}
	case neverEnds:
		return nil
	case delaysRelease:
		return s.request(func() { s.lock(name).expires = time.Now().Add(2 * time.Second) })
	case frees, freesLate, freesAgain:
		s.mu.Lock()
		anyOwner := s.flaw == frees || s.flaw == freesLate && s.slow || s.flaw == freesAgain && s.data.granted[owner]
		s.data.granted[owner] = s.mute
		s.mu.Unlock()
		if anyOwner {
			return s.request(func() {
				l := s.lock(name)
				l.free(l.owner)
			})
		}
	case wakesAll:
		defer s.at(name, func(l *memoryLock) {
			for _, w := range l.queue {
				select {
				case w.wake <- struct{}{}:
				default:
				}
			}
		})
	}
	return s.memoryClient.Release(ctx, name, owner)
}

func (s flawedService) Inspect(ctx context.Context, name string) (lock.Info, error) {
	info, err := s.memoryClient.Inspect(ctx, name)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.flaw == showsLast {
		if info.Held {
			s.data.last[name] = info
		} else {
			info = s.data.last[name]
		}
	}
	return info, err
}
