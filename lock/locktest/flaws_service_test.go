package locktest

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/lock/driver"
	"github.com/unwatch/unwatch/rmw"
)

// enqueue puts a waiter at a place in the queue, for as long as it is renewed and for more.
func enqueue(more time.Duration, place func(s *flawedService, l *memoryLock) int) func(*flawedService, *memoryLock, *driver.Request) {
	return func(s *flawedService, l *memoryLock, r *driver.Request) {
		if !r.Wait || l.owner == "" && len(l.queue) == 0 || l.owner == r.Owner || l.waiter(r.Owner) != nil {
			return
		}
		w := &memoryWaiter{r.Owner, s.memoryClient, time.Now().Add(s.expiry + more), make(chan struct{}, 1)}
		l.queue = slices.Insert(l.queue, place(s, l), w)
	}
}

// leased changes the lease of a lock that was granted.
func leased(by time.Duration) func(*flawedService, *memoryLock, *driver.Grant) {
	return func(_ *flawedService, l *memoryLock, _ *driver.Grant) { l.expires = l.expires.Add(by) }
}

// token gives a grant a token of its own.
func token(next func(s *flawedService, l *memoryLock) uint64) func(*flawedService, *memoryLock, *driver.Grant) {
	return func(s *flawedService, l *memoryLock, g *driver.Grant) {
		g.Token = next(s, l)
		l.token = g.Token
	}
}

func poll(_ *flawedService, _ *memoryLock, r *driver.Request) { r.Wait = false }

// unanswered takes a request without an answer for one that was refused.
func unanswered(fault func(s *flawedService) bool) func(context.Context, *flawedService, driver.Request) (driver.Grant, error) {
	return func(ctx context.Context, s *flawedService, r driver.Request) (driver.Grant, error) {
		grant, err := s.memoryClient.Acquire(ctx, r)
		s.mu.Lock()
		defer s.mu.Unlock()
		if errors.Is(err, rmw.ErrUnavailable) && fault(s) {
			return grant, rmw.ErrContended
		}
		return grant, err
	}
}

// freesAny has a release free the lock of any owner.
func freesAny(frees func(s *flawedService, owner string) bool) func(context.Context, *flawedService, string, string) error {
	return func(ctx context.Context, s *flawedService, name, owner string) error {
		s.mu.Lock()
		anyOwner := frees(s, owner)
		s.data.heard[owner] = s.mute
		s.mu.Unlock()
		if !anyOwner {
			return s.memoryClient.Release(ctx, name, owner)
		}
		return s.request(func() {
			l := s.lock(name)
			l.free(l.owner)
		})
	}
}

// longer is more than the slack of a Target after a lease.
const longer = 1500 * time.Millisecond

// expire brings the ends of all leases nearer by d.
func (m *flawedData) expire(d time.Duration) {
	m.store.locked(func() {
		for _, l := range m.store.locks {
			l.expires = l.expires.Add(-d)
			l.drop("")
		}
	})
}

// clocks sets the wall clock and changes leases.
func clocks(change func(m *flawedData, d time.Duration)) func(*Target, *flawedData) {
	return func(t *Target, m *flawedData) {
		t.Faults.Clock = func(d time.Duration) {
			m.SetClock(d)
			change(m, d)
		}
	}
}

// serviceFlaws are those of a lock service and of its client.
func serviceFlaws() map[string]flaw {
	return map[string]flaw{
		"looks whether the lock is free, and takes it in a second step": {
			fails: "excludes",
			acquire: func(ctx context.Context, s *flawedService, r driver.Request) (driver.Grant, error) {
				free := false
				s.at(r.Name, func(l *memoryLock) { free = l.owner == "" })
				if free {
					<-time.After(time.Millisecond)
					s.at(r.Name, func(l *memoryLock) { l.owner, l.queue = "", nil })
				}
				return s.memoryClient.Acquire(ctx, r)
			},
		},
		"takes all of a process for one owner": {
			fails: "excludes runs",
			asked: func(s *flawedService, l *memoryLock, _ *driver.Request) {
				if l.client == s.memoryClient {
					l.owner, l.queue = "", nil
				}
			},
		},
		"loses a wake-up": {
			fails: "excludes",
			acquire: func(ctx context.Context, s *flawedService, r driver.Request) (driver.Grant, error) {
				asleep := false
				s.at(r.Name, func(*memoryLock) {
					s.seq++
					asleep = s.seq%3 == 0 && r.Wait
				})
				r.Wait = r.Wait && !asleep
				grant, err := s.memoryClient.Acquire(ctx, r)
				if isContended(err) && asleep {
					<-ctx.Done()
				}
				return grant, err
			},
		},
		"does not come back with the store": {
			only: "unavailable",
			acquire: func(ctx context.Context, s *flawedService, r driver.Request) (driver.Grant, error) {
				down := false
				s.at(r.Name, func(*memoryLock) {
					s.down = s.down || s.cut
					down = s.down
				})
				if down {
					return driver.Grant{}, errCut
				}
				return s.memoryClient.Acquire(ctx, r)
			},
		},
		"takes a lost reply for a refusal": {only: "acquire-reply-lost", acquire: unanswered(func(s *flawedService) bool {
			return s.mute
		})},
		"takes a late reply for a refusal": {only: "late-acquire", acquire: unanswered(func(s *flawedService) bool {
			return s.slow
		})},
		"polls":                               {fails: "order bounded-waiting no-herd", asked: poll, config: constantPoll},
		"keeps the place of a crashed waiter": {only: "waiter-crashes", asked: enqueue(time.Hour, last)},
		"serves the last waiter before the others": {only: "order", asked: enqueue(0, beforeLast)},
		"serves first who had the lock before": {only: "bounded-waiting", asked: enqueue(0, func(s *flawedService, l *memoryLock) int {
			if s.data.had[s.memoryClient] {
				return 0
			}
			return len(l.queue)
		}), granted: func(s *flawedService, _ *memoryLock, _ *driver.Grant) { s.data.had[s.memoryClient] = true }},
		"waits on without its session": {only: "waiter-loses-session", renews: func(s *flawedService, holds []*driver.Hold) bool {
			for _, h := range holds {
				if h.Waiting() {
					delete(s.gone, h.Owner())
				}
			}
			return true
		}},
		"wakes all waiters": {only: "no-herd", release: func(ctx context.Context, s *flawedService, name, owner string) error {
			defer s.at(name, func(l *memoryLock) {
				for _, w := range l.queue {
					select {
					case w.wake <- struct{}{}:
					default:
					}
				}
			})
			return s.memoryClient.Release(ctx, name, owner)
		}},

		"keeps the lock of a crashed holder": {fails: "dies", granted: leased(time.Hour)},
		"ends leases early":                  {fails: "dies", granted: leased(-6 * time.Second)},
		"ignores the lock delay":             {fails: "dies lock-delay-returned", granted: leased(-2 * time.Second)},
		"keeps the lock of a holder that is cut off for longer": {only: "dies", target: func(t *Target, m *flawedData) {
			t.Faults.Cut = func(l lock.Locker) func() {
				m.expire(-longer)
				return l.(*flawed).Cut()
			}
			clocks(func(m *flawedData, _ time.Duration) { m.expire(longer) })(t, m)
		}},
		"delays the lock after a release, too": {
			fails: "runs excludes",
			release: func(_ context.Context, s *flawedService, name, _ string) error {
				return s.request(func() { s.lock(name).expires = time.Now().Add(2 * time.Second) })
			},
		},
		"does not renew": {fails: "renewed taken-away", renews: func(*flawedService, []*driver.Hold) bool { return false }},
		"takes a lost lock back with a renewal": {
			fails: "taken-away not-anothers",
			renews: func(s *flawedService, holds []*driver.Hold) bool {
				for _, h := range holds {
					if l := s.lock(h.Name()); !h.Waiting() {
						l.owner, l.expires = h.Owner(), time.Now().Add(s.expiry)
					}
				}
				return false
			},
		},
		"tells fn only when the lease is over": {fails: "cut-off", options: func(o *driver.Options) { o.Margin = -3 * time.Second }},
		"prolongs each lease by a little less": {only: "for-ever", renews: func(s *flawedService, _ []*driver.Hold) bool {
			s.expiry -= s.expiry / 100
			return true
		}},
		"loses all locks with one": {only: "one-of-many", renews: func(s *flawedService, holds []*driver.Hold) bool {
			for _, h := range holds {
				if !h.Waiting() && s.lock(h.Name()).owner != h.Owner() && !s.gone[h.Owner()] {
					for _, h := range holds {
						h.Lose(lock.LossTaken, "another lock was lost")
					}
				}
			}
			return true
		}},
		"only claims to lose all locks with one": {fails: "one-of-many", target: func(t *Target, _ *flawedData) { t.Session = true }},
		"keeps a lock alive of whose grant it never heard": {
			fails:   "acquire-reply-lost late-acquire",
			asked:   func(s *flawedService, _ *memoryLock, _ *driver.Request) { s.expiry = time.Hour },
			granted: func(s *flawedService, l *memoryLock, _ *driver.Grant) { s.data.heard[l.owner] = true },
			release: func(ctx context.Context, s *flawedService, name, owner string) error {
				heard := false
				s.at(name, func(*memoryLock) { heard = s.data.heard[owner] })
				if !heard {
					return nil
				}
				return s.memoryClient.Release(ctx, name, owner)
			},
		},
		"frees the lock of any owner": {fails: "not-anothers release-reply-lost late-release", release: freesAny(
			func(*flawedService, string) bool { return true })},
		"frees the lock of any owner by a late release": {only: "late-release", release: freesAny(
			func(s *flawedService, _ string) bool { return s.slow })},
		"frees the lock of any owner by a repeated release": {only: "release-reply-lost", release: freesAny(
			func(s *flawedService, owner string) bool { return s.data.heard[owner] })},
		"renews a lock that was held for MaxHold": {
			fails: "max-hold",
			renews: func(s *flawedService, _ []*driver.Hold) bool {
				for _, l := range s.locks {
					l.expires = time.Now().Add(time.Hour)
				}
				return true
			},
			release: func(context.Context, *flawedService, string, string) error { return nil },
		},
		"ends a lock before MaxHold": {only: "max-hold", config: func(cfg *driver.Config) {
			cfg.MaxHold = max(0, cfg.MaxHold-time.Second)
		}},

		"counts tokens in each process by itself": {fails: "token", granted: token(func(s *flawedService, _ *memoryLock) uint64 {
			s.seq++
			return s.seq
		})},
		"draws the token before it has the lock": {
			fails: "token",
			asked: func(s *flawedService, _ *memoryLock, r *driver.Request) {
				r.Wait = false
				if r.Tries == 0 {
					s.data.tokens[r.Owner] = s.nextToken()
				}
			},
			granted: token(func(s *flawedService, l *memoryLock) uint64 { return s.data.tokens[l.owner] }),
		},
		"counts tokens in data that can be lost": {
			only: "token-over-failover",
			granted: token(func(s *flawedService, _ *memoryLock) uint64 {
				s.data.count++
				return s.data.count
			}),
			target: func(t *Target, m *flawedData) {
				t.Faults.Forget = func() {
					m.count = 0
					m.Forget()
				}
			},
		},
		"takes tokens from the wall clock": {fails: "token-over-failover", granted: token(func(s *flawedService, _ *memoryLock) uint64 {
			return uint64(time.Now().Add(s.wall).UnixMicro())
		})},

		"forgets locks in a restart":  {only: "restart", target: func(t *Target, m *flawedData) { t.Faults.Restart = m.Forget }},
		"forgets locks in a failover": {only: "failover", target: func(t *Target, m *flawedData) { t.Faults.Failover = m.Forget }},
		"ties locks to a connection": {only: "reconnect", target: func(t *Target, _ *flawedData) {
			t.Faults.Reconnect = t.Faults.Expire
		}},
		"ends leases if the wall clock is set forward": {only: "clock-forward", target: clocks(func(m *flawedData, d time.Duration) {
			m.expire(max(0, d))
		})},
		"prolongs leases if the wall clock is set back": {only: "clock-back", target: clocks(func(m *flawedData, d time.Duration) {
			m.expire(min(0, d))
		})},

		"shows the data of an earlier holder": {fails: "data", asked: func(_ *flawedService, l *memoryLock, r *driver.Request) {
			if r.Data == nil {
				r.Data = l.data
			}
		}},
		"cuts data at a zero byte": {only: "data", asked: func(_ *flawedService, _ *memoryLock, r *driver.Request) {
			r.Data, _, _ = bytes.Cut(r.Data, []byte{0})
		}},
		"tells that others wait when none do": {fails: "wanted", renews: func(_ *flawedService, holds []*driver.Hold) bool {
			for _, h := range holds {
				h.Want()
			}
			return true
		}},
	}
}

func last(_ *flawedService, l *memoryLock) int { return len(l.queue) }

// beforeLast is the place before the last waiter.
func beforeLast(_ *flawedService, l *memoryLock) int {
	if l.owner == "" {
		return len(l.queue)
	}
	return max(len(l.queue)-1, 0)
}

func constantPoll(cfg *driver.Config) {
	cfg.Poll = rmw.Backoff{Base: 5 * time.Millisecond, Max: 5 * time.Millisecond}
}
