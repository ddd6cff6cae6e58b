package locktest

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/rmw"
)

// naiveStore is what a server is to naive Lockers: names, owners and expiries.
type naiveStore struct {
	mu    sync.Mutex
	locks map[string]naiveLock
	token uint64 // the last one drawn
}

type naiveLock struct {
	owner   string
	expires time.Time
}

const naiveLease = 10 * time.Second

// naive is a Locker that polls, as most helpers do, with one flaw. Without any it
// keeps all clauses.
type naive struct {
	*naiveStore
	flaw  flaw
	plain bool
	id    int
	over  <-chan struct{} // the end of the test, for what a flaw leaves behind

	// Guarded by the store's lock.
	seq                  int
	cut, everCut, closed bool
	stalled              time.Duration // how far its clock is ahead
}

func (n *naive) WithLock(ctx context.Context, name string, fn func(ctx context.Context) error) error {
	return n.run(ctx, name, fn, true)
}

func (n *naive) TryLock(ctx context.Context, name string, fn func(ctx context.Context) error) error {
	return n.run(ctx, name, fn, n.flaw == tryWaits)
}

// Lock has a goroutine hold the lock.
func (n *naive) Lock(ctx context.Context, name string) (lock.Hold, error) {
	h := &naiveUnlock{letGo: make(chan struct{}), result: make(chan error, 1)}
	entered := make(chan struct{})
	go func() {
		h.result <- n.run(ctx, name, func(ctx context.Context) error {
			h.ctx = ctx
			close(entered)
			<-h.letGo
			return nil
		}, true)
	}()
	select {
	case <-entered:
		return h, nil
	case err := <-h.result:
		return nil, err
	}
}

// naiveUnlock is a lock.Hold.
type naiveUnlock struct {
	ctx    context.Context
	once   sync.Once
	letGo  chan struct{}
	result chan error
	err    error
}

func (h *naiveUnlock) Context() context.Context { return h.ctx }

func (h *naiveUnlock) Unlock() error {
	h.once.Do(func() {
		close(h.letGo)
		h.err = <-h.result
	})
	return h.err
}

func (n *naive) Close() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.closed = true
	if n.flaw == closesOthers {
		clear(n.locks)
	}
	return nil
}

func (n *naive) disconnect() (restore func()) {
	set := func(cut bool) {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.cut = cut
		n.everCut = true
	}
	set(true)
	return func() { set(false) }
}

func (n *naive) stall(d time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.stalled += d
}

// now is the clock of its process. The store's lock is held.
func (n *naive) now() time.Time { return time.Now().Add(n.stalled) }

func (n *naive) key(name string) string {
	switch n.flaw {
	case oneForAll:
		return "lock"
	case trims:
		return strings.TrimSpace(name)
	case hashTag:
		if tag := regexp.MustCompile(`\{(.+?)\}`).FindStringSubmatch(name); tag != nil {
			return tag[1]
		}
	case truncates:
		return name[:min(len(name), 200)]
	case lowers:
		return strings.ToLower(name)
	}
	return name
}

type naiveKey struct {
	n   *naive
	key string
}

func (n *naive) run(ctx context.Context, name string, fn work, wait bool) (err error) {
	switch {
	case name == "" && n.flaw != anyName, fn == nil && n.flaw != callsNil:
		return rmw.ErrInvalid
	case ctx.Err() != nil && n.flaw != ignoresEnded:
		return ctx.Err()
	}
	key := n.key(name)
	h, err := n.join(ctx, key)
	if err != nil {
		return err
	}
	if h == nil {
		if h, err = n.acquire(ctx, key, wait); err != nil {
			return err
		}
	} else if n.flaw == innerGivesAway {
		defer h.release()
	}
	if n.flaw == swallowsPanic {
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("panic: %v", p)
			}
		}()
	}
	returned := false
	defer func() {
		if returned || n.flaw != keepsOnPanic {
			lost := h.leave(ctx, err != nil || !returned)
			if lost && err == nil && n.flaw != hidesLoss {
				err = rmw.ErrLockLost
			}
		}
	}()
	err = n.call(ctx, h, fn)
	returned = true
	if err != nil && n.flaw == wrapsError {
		err = fmt.Errorf("lock: %w", err)
	}
	return err
}

// call runs fn with a ctx of its own.
func (n *naive) call(ctx context.Context, h *naiveHold, fn work) (err error) {
	if n.flaw == freshCtx {
		ctx = context.Background()
	}
	outer := ctx
	ctx, cancel := context.WithCancelCause(context.WithValue(ctx, naiveKey{n, h.key}, h))
	defer func() {
		if n.flaw != outerGivesAway { // whose inner fn would notice
			cancel(nil)
		}
	}()
	n.mu.Lock()
	if h.cancel == nil {
		h.cancel = cancel
	}
	n.mu.Unlock()
	ctx = naiveContext{ctx, outer, h}
	if n.flaw != elsewhere {
		return fn(ctx)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		err = fn(ctx)
	}()
	<-done
	return err
}

// join enters the hold that ctx carries.
func (n *naive) join(ctx context.Context, key string) (*naiveHold, error) {
	h, _ := ctx.Value(naiveKey{n, key}).(*naiveHold)
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case h == nil || h.users == 0 && n.flaw != foreverOwner || n.flaw == waitsForItself:
		return nil, nil
	case n.flaw == goroutineOwner && h.goroutine != goroutine():
		return nil, nil
	case n.plain:
		return nil, rmw.ErrInvalid
	}
	h.users++
	return h, nil
}

func (n *naive) acquire(ctx context.Context, key string, wait bool) (*naiveHold, error) {
	n.mu.Lock()
	n.seq++
	owner := fmt.Sprintf("%d:%d", n.id, n.seq)
	n.token++
	token := n.token
	asleep := n.flaw == losesWakeUp && n.seq%3 == 0
	closed := n.closed && n.flaw == waitsClosed
	n.mu.Unlock()
	if closed {
		return nil, rmw.ErrClosed
	}
	for {
		h, err := n.attempt(key, owner)
		if h != nil && n.flaw == earlyToken {
			h.token = token
		}
		if h != nil || !errors.Is(err, rmw.ErrContended) || !wait {
			return h, err
		}
		poll := time.NewTimer(5 * time.Millisecond)
		select {
		case <-poll.C:
			if asleep {
				<-ctx.Done()
			}
			if n.flaw == ignoresCtx {
				continue
			}
			if ctx.Err() == nil {
				continue
			}
		case <-ctx.Done():
			if n.flaw == ignoresCtx {
				<-poll.C
				continue
			}
		}
		if n.flaw == ghost {
			go func() {
				for n.isTaken(key) {
					<-time.After(5 * time.Millisecond)
				}
				_, _ = n.attempt(key, owner)
			}()
		}
		if n.flaw == plainCtxError {
			return nil, ctx.Err()
		}
		return nil, errors.Join(rmw.ErrContended, ctx.Err())
	}
}

func (n *naive) isTaken(key string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return time.Now().Before(n.locks[key].expires)
}

func (n *naive) attempt(key, owner string) (*naiveHold, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case n.closed && n.flaw != worksClosed && n.flaw != waitsClosed:
		return nil, rmw.ErrClosed
	case n.cut && n.flaw == downIsTaken:
		return nil, rmw.ErrContended
	case n.cut && n.flaw != failsOpen, n.everCut && n.flaw == staysDown:
		return nil, rmw.ErrUnavailable
	}
	cur := n.locks[key]
	taken := time.Now().Before(cur.expires)
	if taken && n.flaw != noLock && (n.flaw != processOwner || !strings.HasPrefix(cur.owner, fmt.Sprintf("%d:", n.id))) &&
		(n.flaw != failsOpen || !n.cut) {
		return nil, rmw.ErrContended
	}
	if n.flaw == checkThenSet {
		n.mu.Unlock()
		<-time.After(time.Millisecond)
		n.mu.Lock()
	}
	n.locks[key] = naiveLock{owner, time.Now().Add(naiveLease)}
	h := &naiveHold{n: n, key: key, owner: owner, goroutine: goroutine(), users: 1, ended: make(chan struct{})}
	n.token++
	if h.token = n.token; n.flaw == ownTokens {
		h.token = uint64(n.seq)
	}
	h.prolong(n.now())
	if n.flaw != neverRenews {
		go h.renew()
	}
	return h, nil
}
