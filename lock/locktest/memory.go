package locktest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/lock/driver"
	"github.com/unwatch/unwatch/rmw"
)

// Memory is a Locker in memory that keeps all that the suite asks for. It counts leases by
// time.Now, so that in a testing/synctest bubble it follows the bubble's clock. It is safe
// for concurrent use. Waiters get a lock in the order of their arrival.
type Memory struct {
	*driver.Locker

	cfg   driver.Config
	store *memoryStore
	mine  *memoryClient
}

var (
	_ lock.Locker    = (*Memory)(nil)
	_ lock.Checker   = (*Memory)(nil)
	_ lock.Inspector = (*Memory)(nil)
)

// NewMemory returns a Locker on locks of its own. The zero Config works; Config.Now is ignored.
func NewMemory(cfg driver.Config) *Memory {
	return open(cfg, &memoryStore{locks: map[string]*memoryLock{}})
}

// Peer returns another Locker on the same locks, as another process has it.
func (m *Memory) Peer() *Memory { return open(m.cfg, m.store) }

// Observed is Peer with another Observer.
func (m *Memory) Observed(o lock.Observer) *Memory {
	cfg := m.cfg
	cfg.Observer = o
	return open(cfg, m.store)
}

// Twin returns another Locker over the connection of m: the two share all faults.
func (m *Memory) Twin() *Memory {
	return start(m.cfg, m.mine)
}

func open(cfg driver.Config, store *memoryStore) *Memory {
	cfg = cfg.WithDefaults()
	mine := &memoryClient{memoryStore: store, expiry: cfg.Expiry(), gone: map[string]bool{}}
	store.mu.Lock()
	store.clients = append(store.clients, mine)
	store.mu.Unlock()
	return start(cfg, mine)
}

func start(cfg driver.Config, mine *memoryClient) *Memory {
	m := &Memory{cfg: cfg, store: mine.memoryStore, mine: mine}
	cfg.Now = mine.now
	m.Locker = driver.New(mine, driver.Options{Package: "memory", Service: "memory", Tokens: true}, cfg)
	return m
}

// memoryStore holds the locks, as a server does for real Lockers. It counts leases by a
// monotonic clock, and tokens from a wall clock.
type memoryStore struct {
	mu       sync.Mutex
	locks    map[string]*memoryLock
	clients  []*memoryClient
	token    uint64        // the last one granted
	wall     time.Duration // how far the wall clock was set forward
	requests int
}

type memoryLock struct {
	owner   string // "": it is free
	client  *memoryClient
	token   uint64
	data    []byte
	expires time.Time
	queue   []*memoryWaiter
}

type memoryWaiter struct {
	owner   string
	client  *memoryClient
	expires time.Time     // unless it is renewed
	wake    chan struct{} // it may be its turn
}

// lock returns the lock of a name. mu is held.
func (s *memoryStore) lock(name string) *memoryLock {
	l := s.locks[name]
	if l == nil {
		l = &memoryLock{}
		s.locks[name] = l
	}
	now := time.Now()
	if !now.Before(l.expires) {
		l.owner = ""
	}
	l.queue = slices.DeleteFunc(l.queue, func(w *memoryWaiter) bool { return !now.Before(w.expires) })
	return l
}

// drop takes an owner out of the queue, and wakes the first waiter if the lock is free.
func (l *memoryLock) drop(owner string) {
	l.queue = slices.DeleteFunc(l.queue, func(w *memoryWaiter) bool { return w.owner == owner })
	l.wake()
}

func (l *memoryLock) wake() {
	if l.owner == "" && len(l.queue) > 0 {
		select {
		case l.queue[0].wake <- struct{}{}:
		default:
		}
	}
}

// free ends the hold of an owner.
func (l *memoryLock) free(owner string) {
	if l.owner == owner {
		l.owner = ""
	}
	l.drop(owner)
}

func (l *memoryLock) waiter(owner string) *memoryWaiter {
	for _, w := range l.queue {
		if w.owner == owner {
			return w
		}
	}
	return nil
}

// nextToken is above the last one, and above those before the store lost its data.
func (s *memoryStore) nextToken() uint64 {
	s.token = max(s.token+1, uint64(time.Now().Add(s.wall).UnixMicro()))
	return s.token
}

// memoryClient is the connection and the session of a Memory.
type memoryClient struct {
	*memoryStore

	expiry time.Duration
	ahead  atomic.Int64 // of the clock that measures leases, in nanoseconds

	// Guarded by mu.
	cut    bool            // no request arrives
	broken bool            // the next request finds the connection broken
	mute   bool            // no reply arrives
	slow   bool            // requests are held back
	held   []func()        // those
	gone   map[string]bool // owners that were lost with the session
}

func (c *memoryClient) now() time.Time { return time.Now().Add(time.Duration(c.ahead.Load())) }

var errCut = fmt.Errorf("%w: cut off by a test", rmw.ErrUnavailable)

// request has the store execute a request, unless a fault is in the way.
func (c *memoryClient) request(execute func()) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.requests++
	switch {
	case c.cut:
		return errCut
	case c.broken:
		c.broken = false
		return errCut
	case c.slow:
		c.held = append(c.held, execute)
		return errCut
	}
	execute()
	if c.mute {
		return errCut
	}
	return nil
}

// Acquire implements [driver.Service].
func (c *memoryClient) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	for {
		granted, turn, left, err := c.try(r)
		switch {
		case err != nil:
			return driver.Grant{}, err
		case granted.Token > 0:
			return granted, nil
		case turn == nil:
			return driver.Grant{}, rmw.ErrContended
		}
		t := time.NewTimer(left)
		select {
		case <-turn:
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			_ = c.Release(ctx, r.Name, r.Owner) // the Locker does so as well, but later
			return driver.Grant{}, rmw.ErrContended
		}
		t.Stop()
	}
}

// try takes the lock, or says what to wait for, and for how long at most.
func (c *memoryClient) try(r driver.Request) (granted driver.Grant, turn <-chan struct{}, left time.Duration, err error) {
	since := c.now()
	err = c.request(func() {
		l := c.lock(r.Name)
		if l.owner == "" && (len(l.queue) == 0 || l.queue[0].owner == r.Owner) {
			l.owner, l.client, l.token, l.data, l.expires = r.Owner, c, c.nextToken(), r.Data, time.Now().Add(c.expiry)
		}
		if l.owner == r.Owner {
			l.drop(r.Owner)
			granted = driver.Grant{Token: l.token, Since: since}
			return
		}
		if !r.Wait {
			return
		}
		w := l.waiter(r.Owner)
		if w == nil {
			w = &memoryWaiter{r.Owner, c, time.Now().Add(c.expiry), make(chan struct{}, 1)}
			l.queue = append(l.queue, w)
		}
		next := l.queue[0].expires
		if l.owner != "" && l.expires.Before(next) {
			next = l.expires
		}
		turn, left = w.wake, max(time.Until(next), time.Millisecond)
	})
	return granted, turn, left, err
}

// Renew implements [driver.Service].
func (c *memoryClient) Renew(_ context.Context, holds []*driver.Hold) error {
	return c.request(func() {
		for _, h := range holds {
			l := c.lock(h.Name())
			if w := l.waiter(h.Owner()); w != nil {
				w.expires = time.Now().Add(c.expiry)
			}
			switch {
			case c.gone[h.Owner()]:
				h.Lose(lock.LossSession, "its session ended")
			case h.Waiting():
			case l.owner != h.Owner():
				h.Lose(lock.LossTaken, "it was taken away")
			default:
				l.expires = time.Now().Add(c.expiry)
				if len(l.queue) > 0 {
					h.Want()
				}
			}
		}
	})
}

// Release implements [driver.Service].
func (c *memoryClient) Release(_ context.Context, name, owner string) error {
	return c.request(func() { c.lock(name).free(owner) })
}

// Inspect implements [driver.Service].
func (c *memoryClient) Inspect(_ context.Context, name string) (info lock.Info, err error) {
	err = c.request(func() {
		if l := c.lock(name); l.owner != "" {
			info = lock.Info{Held: true, Left: time.Until(l.expires), Data: l.data, Waiters: len(l.queue) > 0}
			info.Owner, info.Token = l.owner, l.token
		}
	})
	return info, err
}
