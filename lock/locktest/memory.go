package locktest

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/rmw"
)

// MemoryConfig tunes a [Memory]. The zero MemoryConfig works.
type MemoryConfig struct {
	// Lease is how long a lock outlives a holder that is cut off. Default 10 s.
	Lease time.Duration
	// NotReentrant refuses the holder its own lock with rmw.ErrInvalid.
	NotReentrant bool
}

// Memory is a Locker in memory that keeps all that the suite asks for. It waits
// by time.Now, so in a testing/synctest bubble it follows its clock. It is safe
// for concurrent use and has no goroutine. Waiters have no order.
type Memory struct {
	cfg   MemoryConfig
	store *memoryStore

	closing chan struct{}
	closed  bool // guarded by the store's lock, as is cut
	cut     bool
}

var _ lock.Locker = (*Memory)(nil)

// memoryStore holds the locks, as a server does for real Lockers.
type memoryStore struct {
	mu      sync.Mutex
	held    map[string]*memoryHold
	token   uint64                   // the last one drawn
	changed map[string]chan struct{} // closed when the lock may have become free
}

// NewMemory returns a Locker on locks of its own.
func NewMemory(cfg MemoryConfig) *Memory {
	if cfg.Lease == 0 {
		cfg.Lease = 10 * time.Second
	}
	store := &memoryStore{held: map[string]*memoryHold{}, changed: map[string]chan struct{}{}}
	return &Memory{cfg: cfg, store: store, closing: make(chan struct{})}
}

// Peer returns another Locker on the same locks, as another process has it.
func (m *Memory) Peer() *Memory {
	return &Memory{cfg: m.cfg, store: m.store, closing: make(chan struct{})}
}

// Close refuses new calls, and ends waits, with
// rmw.ErrClosed. Locks that are held stay so until their fn return. It may be
// called again.
func (m *Memory) Close() error {
	m.store.mu.Lock()
	defer m.store.mu.Unlock()
	if !m.closed {
		m.closed = true
		close(m.closing)
	}
	return nil
}

// Cut keeps m from its locks until restore is called: it can take, renew and give
// back none. It fits [Faults].
func (m *Memory) Cut() (restore func()) {
	set := func(cut bool) {
		m.store.mu.Lock()
		defer m.store.mu.Unlock()
		m.cut = cut
	}
	set(true)
	return func() { set(false) }
}

// Stall makes all leases that m holds older by d, and does nothing else: as if its
// process had stopped for d and its timers had not fired yet. It fits [Faults].
func (m *Memory) Stall(d time.Duration) {
	m.store.mu.Lock()
	defer m.store.mu.Unlock()
	for _, h := range m.store.held {
		if h.m == m {
			h.expires = h.expires.Add(-d)
		}
	}
}

// TakeAway frees a lock behind its holder's back, which learns of it when it next
// renews. It fits [Faults].
func (m *Memory) TakeAway(_ context.Context, name string) error {
	m.store.mu.Lock()
	defer m.store.mu.Unlock()
	m.store.free(name)
	return nil
}

// WithLock implements [lock.Locker].
func (m *Memory) WithLock(ctx context.Context, name string, fn func(ctx context.Context) error) error {
	return m.run(ctx, name, fn, true)
}

// TryLock implements [lock.Locker].
func (m *Memory) TryLock(ctx context.Context, name string, fn func(ctx context.Context) error) error {
	return m.run(ctx, name, fn, false)
}

func (m *Memory) run(ctx context.Context, name string, fn work, wait bool) (err error) {
	switch {
	case name == "":
		return m.fail(name, fmt.Errorf("%w: the name is empty; name the lock", rmw.ErrInvalid), nil)
	case fn == nil:
		return m.fail(name, fmt.Errorf("%w: fn is nil; pass what shall run under the lock", rmw.ErrInvalid), nil)
	case ctx.Err() != nil:
		return m.fail(name, nil, ctx.Err())
	}
	h, err := m.enter(ctx, name)
	if h == nil && err == nil {
		h, err = m.acquire(ctx, name, wait)
	}
	if err != nil {
		return err
	}
	defer func() { // also when fn panics, or ends its goroutine
		if lost := h.leave(); err == nil && lost != nil {
			err = m.fail(name, lost, nil)
		}
	}()
	ctx, cancel := h.ctxFor(ctx)
	defer cancel()
	return fn(ctx)
}

// acquire waits for the lock, or does not.
func (m *Memory) acquire(ctx context.Context, name string, wait bool) (*memoryHold, error) {
	for {
		h, freed, left, err := m.attempt(name)
		switch {
		case h != nil || err != nil:
			return h, err
		case !wait:
			return nil, m.fail(name, rmw.ErrContended, nil)
		}
		expiry := time.NewTimer(left)
		select {
		case <-freed:
		case <-expiry.C:
		case <-m.closing:
		case <-ctx.Done():
			err = m.fail(name, rmw.ErrContended, ctx.Err())
		}
		expiry.Stop()
		if err != nil {
			return nil, err
		}
	}
}

// attempt takes the lock, or says what to wait for, and for how long at most.
func (m *Memory) attempt(name string) (h *memoryHold, freed <-chan struct{}, left time.Duration, err error) {
	s := m.store
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case m.closed:
		return nil, nil, 0, m.fail(name, rmw.ErrClosed, nil)
	case m.cut:
		return nil, nil, 0, m.fail(name, rmw.ErrUnavailable, nil)
	}
	now := time.Now()
	if cur := s.held[name]; cur != nil && now.Before(cur.expires) {
		if s.changed[name] == nil {
			s.changed[name] = make(chan struct{})
		}
		return nil, s.changed[name], cur.expires.Sub(now), nil
	}
	h = newMemoryHold(m, name, now)
	s.held[name] = h
	return h, nil, 0, nil
}

// free ends a lock and wakes its waiters. s.mu is held.
func (s *memoryStore) free(name string) {
	delete(s.held, name)
	if changed := s.changed[name]; changed != nil {
		close(changed)
		delete(s.changed, name)
	}
}

func (m *Memory) fail(name string, reason, cause error) error {
	return &rmw.Error{Path: "memory", Op: "lock", Key: name, Reason: reason, Cause: cause}
}
