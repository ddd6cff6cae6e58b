package etcdlock

import (
	"context"
	"encoding/hex"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"

	"github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/rmw"
)

// Prefix begins all keys. The lock's name follows in hexadecimal: with slashes, one name could be a prefix
// of another.
const Prefix = "/lock/"

// Locker is a [lock.Locker] over etcd. It is safe for concurrent use, and not reentrant.
type Locker struct {
	client *clientv3.Client
	ttl    time.Duration
	now    func() time.Time // measures leases; tests replace it

	closing context.Context
	close   context.CancelFunc
	mu      sync.Mutex // orders Close and new calls
	running sync.WaitGroup
}

var _ lock.Locker = (*Locker)(nil)

// New makes a Locker over a client, which the caller still owns. ttl is the time that a lock outlives its
// crashed process, in whole seconds.
func New(client *clientv3.Client, ttl time.Duration) *Locker {
	l := &Locker{client: client, ttl: max(ttl.Truncate(time.Second), time.Second), now: time.Now}
	l.closing, l.close = context.WithCancel(context.Background())
	return l
}

// Close refuses new calls, cancels waiting ones, and waits for running functions.
func (l *Locker) Close() error {
	l.mu.Lock()
	l.close()
	l.mu.Unlock()
	l.running.Wait()
	return nil
}

// WithLock runs fn while no other holder of the lock runs. It waits for the lock until ctx ends, in the
// order of arrival. fn's ctx ends with the cause rmw.ErrLockLost when the lease does. A timer closes its
// Done, which is late after a stall of the process. Its own Err checks the clock; Err of a derived ctx does
// not.
//
// The error is fn's own, or an [rmw.Error]. The reason rmw.ErrLockLost means that fn returned no error, but
// may not have been exclusive. With the reasons rmw.ErrInvalid, ErrClosed and ErrUnavailable, and with
// ErrContended, if ctx ended first, fn was not called.
func (l *Locker) WithLock(ctx context.Context, name string, fn func(ctx context.Context) error) error {
	return l.run(ctx, name, fn, (*concurrency.Mutex).Lock)
}

// TryLock is [Locker.WithLock] without waiting: rmw.ErrContended if the lock is held.
func (l *Locker) TryLock(ctx context.Context, name string, fn func(ctx context.Context) error) error {
	return l.run(ctx, name, fn, (*concurrency.Mutex).TryLock)
}

// held is the key of the lock in fn's ctx.
type held struct {
	locker *Locker
	name   string
}

// lockContext is fn's ctx. Its Err checks the clock.
type lockContext struct {
	context.Context

	tenure   *tenure
	name     string
	lose     context.CancelCauseFunc
	returned atomic.Bool // fn has returned
}

func (c *lockContext) Err() error {
	if !c.tenure.alive() {
		c.lose(rmw.ErrLockLost)
	}
	return c.Context.Err()
}

func (c *lockContext) Value(key any) any {
	if key == (lock.ContextKey{}) {
		return c
	}
	return c.Context.Value(key)
}

func (l *Locker) begin() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closing.Err() != nil {
		return false
	}
	l.running.Add(1)
	return true
}

func (l *Locker) run(
	ctx context.Context, name string, fn func(ctx context.Context) error, lock func(*concurrency.Mutex, context.Context) error,
) error {
	fail := func(op string, reason, cause error) error {
		return &rmw.Error{Path: "etcdlock", Op: op, Key: name, Reason: reason, Cause: cause}
	}
	if name == "" || fn == nil {
		return fail("acquire", rmw.ErrInvalid, nil)
	}
	if t, ok := ctx.Value(held{l, name}).(*tenure); ok && t.alive() {
		return fail("acquire", rmw.ErrInvalid, errors.New("it is held by this very ctx"))
	}
	if !l.begin() {
		return fail("acquire", rmw.ErrClosed, nil)
	}
	defer l.running.Done()
	if err := context.Cause(ctx); err != nil {
		return fail("acquire", nil, err)
	}
	t, err := l.grant(ctx)
	if err != nil {
		if cause := ctx.Err(); cause != nil {
			return fail("acquire", nil, cause)
		}
		return fail("acquire", rmw.ErrUnavailable, err)
	}
	defer t.end()
	waiting, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	defer context.AfterFunc(t.ctx, func() { stop(errLease) })()
	defer context.AfterFunc(l.closing, func() { stop(rmw.ErrClosed) })()
	mutex := concurrency.NewMutex(t.session, Prefix+hex.EncodeToString([]byte(name)))
	if err := lock(mutex, waiting); err != nil {
		switch {
		case ctx.Err() != nil:
			return fail("acquire", rmw.ErrContended, ctx.Err())
		case l.closing.Err() != nil:
			return fail("acquire", rmw.ErrClosed, nil)
		case errors.Is(err, concurrency.ErrLocked):
			return fail("acquire", rmw.ErrContended, nil)
		}
		return fail("acquire", rmw.ErrUnavailable, err)
	}
	t.token = uint64(mutex.Header().Revision)
	under, lose := context.WithCancelCause(context.WithValue(ctx, held{l, name}, t))
	defer lose(nil)
	defer context.AfterFunc(t.ctx, func() { lose(rmw.ErrLockLost) })()
	if !t.alive() {
		return fail("acquire", rmw.ErrUnavailable, errLease)
	}
	fnCtx := &lockContext{Context: under, tenure: t, name: name, lose: lose}
	defer fnCtx.returned.Store(true)
	if err := fn(fnCtx); err != nil {
		return err
	}
	if !t.alive() {
		return fail("hold", rmw.ErrLockLost, nil)
	}
	return nil
}
