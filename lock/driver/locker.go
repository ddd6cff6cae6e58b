package driver

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"strconv"
	"sync"
	"time"

	"github.com/unwatch/unwatch/internal/callback"
	"github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/rmw"
)

// Locker is a [lock.Locker] over a [Service]. It is safe for concurrent use, and reentrant.
// Make it with [New].
type Locker struct {
	name    string // of the package, in errors
	label   string // of the service, in events
	service Service
	tokens  bool
	cfg     Config
	margin  time.Duration
	delays  bool  // a lost lock is released after its lock delay only
	err     error // why nothing can work

	observer *callback.Func[told]

	closing context.Context
	close   context.CancelFunc
	running sync.WaitGroup // calls, releases and the keeper's loop

	mu      sync.Mutex // guards the fields below, and the holds
	id      string
	owners  uint64
	holds   map[*Hold]struct{}
	keeping bool
	renewAt time.Time
	wake    chan struct{}
	events  callback.Log[told]
}

var (
	_ lock.Locker    = (*Locker)(nil)
	_ lock.Checker   = (*Locker)(nil)
	_ lock.Inspector = (*Locker)(nil)
)

// Options describe a Service to New.
type Options struct {
	Package string // of the Locker, in errors
	Service string // in events; see lock.Event
	Tokens  bool   // its grants have tokens

	// Margin is the part of each lease, at its end, in which the lock no longer counts as
	// held. It covers the difference of the clocks of this process and of the service, and
	// the time that a function needs to notice the loss. Default a tenth of the lease.
	Margin time.Duration

	// NoDelay frees a lost lock when its function has returned, in spite of Config.LockDelay.
	NoDelay bool
}

// New makes a Locker. All its calls return the error of a Config that cannot work.
func New(s Service, o Options, cfg Config) *Locker {
	l := &Locker{
		name: o.Package, label: o.Service, service: s, tokens: o.Tokens, cfg: cfg.WithDefaults(), err: cfg.Validate(),
		id: rand.Text(), holds: map[*Hold]struct{}{}, wake: make(chan struct{}, 1),
	}
	l.delays = cfg.LockDelay > 0 && !o.NoDelay
	if l.margin = o.Margin; l.margin == 0 {
		l.margin = l.cfg.Lease / 10
	}
	if observe := cfg.Observer; observe != nil {
		l.observer = callback.New(l.name+": Config.Observer", nil, func(t told) { observe(t.ctx, t.event) })
	}
	l.closing, l.close = context.WithCancel(context.Background())
	return l
}

// Close refuses new calls, ends those that wait for a lock with rmw.ErrClosed, and waits for
// the functions that run and for the releases of their locks. Do not call it from within
// such a function. It may be called again; its error is always nil.
func (l *Locker) Close() error {
	l.mu.Lock()
	l.close()
	l.mu.Unlock()
	l.running.Wait()
	return nil
}

// WithLock implements [lock.Locker].
func (l *Locker) WithLock(ctx context.Context, name string, fn func(ctx context.Context) error) error {
	return l.run(ctx, name, fn, true)
}

// TryLock implements [lock.Locker].
func (l *Locker) TryLock(ctx context.Context, name string, fn func(ctx context.Context) error) error {
	return l.run(ctx, name, fn, false)
}

// Lock implements [lock.Locker].
func (l *Locker) Lock(ctx context.Context, name string) (lock.Hold, error) {
	s, err := l.enter(ctx, name, true)
	if err != nil {
		return nil, err // not a nil *section, which is no nil Hold
	}
	return s, nil
}

func (l *Locker) run(ctx context.Context, name string, fn func(ctx context.Context) error, wait bool) error {
	if fn == nil {
		return l.fail("lock", name, fmt.Errorf("%w: fn is nil; pass what shall run under the lock", rmw.ErrInvalid))
	}
	s, err := l.enter(ctx, name, wait)
	if err != nil {
		return err
	}
	defer func() { _ = s.Unlock() }() // also if fn panics or ends its goroutine
	if err := fn(s.ctx); err != nil {
		return err
	}
	return s.Unlock()
}

// Check implements [lock.Checker].
func (l *Locker) Check(ctx context.Context, s lock.Sequencer) error {
	return l.ask(ctx, "check", s.Name, func() (err error) {
		held := false
		if service, ok := l.service.(Checker); ok {
			held, err = service.Check(ctx, s)
		} else {
			var info lock.Info
			info, err = l.service.Inspect(ctx, s.Name)
			held = info.Held && info.Owner == s.Owner && info.Token == s.Token
		}
		if err == nil && !held {
			err = fmt.Errorf("%w: this holding of the lock has ended", rmw.ErrLockLost)
		}
		return err
	})
}

// Inspect implements [lock.Inspector].
func (l *Locker) Inspect(ctx context.Context, name string) (info lock.Info, err error) {
	err = l.ask(ctx, "inspect", name, func() error {
		info, err = l.service.Inspect(ctx, name)
		return err
	})
	if err != nil {
		return lock.Info{}, err
	}
	info.Name = name
	return info, nil
}

// ask calls the service.
func (l *Locker) ask(ctx context.Context, op, name string, call func() error) error {
	if err := l.usable(ctx, name); err != nil {
		return l.fail(op, name, err)
	}
	if !l.begin() {
		return l.fail(op, name, rmw.ErrClosed)
	}
	defer l.running.Done()
	if err := call(); err != nil {
		return l.fail(op, name, blame(ctx, err))
	}
	return nil
}

// Renew renews all leases now, and not when they are due. A Service calls it when it learns
// that its session has ended or its connection has failed.
func (l *Locker) Renew() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.renewAt = l.cfg.Now()
	l.poke()
}

func (l *Locker) usable(ctx context.Context, name string) error {
	switch {
	case l.err != nil:
		return l.err
	case name == "":
		return fmt.Errorf("%w: the name is empty; name the lock", rmw.ErrInvalid)
	case ctx.Err() != nil:
		return &rmw.Error{Path: l.name, Op: "lock", Key: name, Cause: ended(ctx)}
	}
	return nil
}

// begin admits a call, which must end with running.Done.
func (l *Locker) begin() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closing.Err() != nil {
		return false
	}
	l.running.Add(1)
	return true
}

// enter takes the lock, or joins the holding of ctx.
func (l *Locker) enter(ctx context.Context, name string, wait bool) (*section, error) {
	if err := l.usable(ctx, name); err != nil {
		return nil, l.fail("lock", name, err)
	}
	h, err := l.join(ctx, name)
	if h == nil && err == nil {
		if !l.begin() {
			return nil, l.fail("lock", name, rmw.ErrClosed)
		}
		if h, err = l.acquire(ctx, name, wait); err != nil {
			l.running.Done()
		}
	}
	if err != nil {
		return nil, l.fail("lock", name, err)
	}
	return h.section(ctx), nil
}

// acquire asks for the lock until it is granted or the wait ends.
func (l *Locker) acquire(ctx context.Context, name string, wait bool) (*Hold, error) {
	waiting, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	defer context.AfterFunc(l.closing, func() { stop(rmw.ErrClosed) })()
	if l.cfg.MaxWait > 0 {
		defer time.AfterFunc(l.cfg.MaxWait, func() { stop(errWaited) }).Stop()
	}
	h := l.newHold(ctx, name, stop)
	if l.cfg.Observer != nil {
		defer time.AfterFunc(lock.WaitingAfter, h.announce).Stop()
	}
	contended := false
	for try := 0; ; try++ {
		sent := l.cfg.Now()
		grant, err := l.service.Acquire(waiting, Request{Name: name, Owner: h.owner, Data: lock.DataOf(ctx), Wait: wait, Tries: try})
		if err == nil {
			if waiting.Err() == nil && h.granted(grant, sent) {
				return h, nil
			}
			err = errLate
			contended = contended || wait // the lock was taken until the wait ended
		}
		refused := errors.Is(err, rmw.ErrContended)
		contended = contended || refused
		if refused && wait && l.pause(waiting, try+1) {
			continue
		}
		if ended(waiting) != nil {
			err = endOf(ctx, waiting, contended)
		} else {
			err = blame(waiting, err)
		}
		if !refused || wait {
			l.release(h, 0) // the lock, or its place among those that wait
		}
		h.refused(err)
		return nil, err
	}
}

// pause waits before another attempt. It returns false if the wait ends first.
func (l *Locker) pause(waiting context.Context, attempt int) bool {
	t := time.NewTimer(l.cfg.Poll.Delay(attempt, mathrand.Float64()))
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-waiting.Done():
		return false
	}
}

// release frees the lock at the service after a delay and in the background, also if the reply
// to a request was lost. It tries again until the service has answered, the lease has ended or the
// Locker is closed. If it is closed during the delay, it leaves the lock to the service, which
// ends the lease.
func (l *Locker) release(h *Hold, delay time.Duration) (done <-chan struct{}) {
	released := make(chan struct{})
	l.running.Go(func() {
		defer close(released)
		if delay > 0 {
			t := time.NewTimer(delay)
			defer t.Stop()
			select {
			case <-t.C:
			case <-l.closing.Done():
				return
			}
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(h.caller), l.cfg.Expiry())
		defer cancel()
		for try := 1; ; try++ {
			one, cancel := context.WithTimeout(ctx, max(l.cfg.Lease/4, time.Millisecond))
			err := l.service.Release(one, h.name, h.owner)
			cancel()
			if err == nil || l.closing.Err() != nil || !l.pause(ctx, try) {
				return
			}
		}
	})
	return released
}

func (l *Locker) nextOwnerLocked() string {
	l.owners++
	return l.id + "-" + strconv.FormatUint(l.owners, 36)
}
