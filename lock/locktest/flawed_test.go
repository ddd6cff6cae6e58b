package locktest

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/unwatch/unwatch/internal/goroutine"
	"github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/lock/driver"
	"github.com/unwatch/unwatch/rmw"
)

// flaw is a mistake that lock helpers make: hooks in a Memory. A nil hook changes nothing.
type flaw struct {
	fails string // the clauses that must fail
	only  string // or the only clause that fails
	plain bool   // of a Locker that is not reentrant, and has neither tokens nor lock.Checker and lock.Inspector

	config  func(cfg *driver.Config)
	options func(o *driver.Options)
	target  func(t *Target, m *flawedData)

	// Hooks of the service. Of these, asked, granted and renews run while it is locked. A renewal ends with renews
	// if that returns false.
	asked   func(s *flawedService, l *memoryLock, r *driver.Request)
	acquire func(ctx context.Context, s *flawedService, r driver.Request) (driver.Grant, error)
	granted func(s *flawedService, l *memoryLock, g *driver.Grant)
	renews  func(s *flawedService, holds []*driver.Hold) bool
	release func(ctx context.Context, s *flawedService, name, owner string) error

	// Hooks of the Locker.
	key     func(name string) string
	run     func(c call) error // around WithLock and TryLock
	runsNil bool               // also without an fn
	lock    func(ctx context.Context, l *flawed, name string) (lock.Hold, error)
	close   func(l *flawed) error
	inspect func(l *flawed, info *lock.Info)
	check   func(l *flawed, info lock.Info, s lock.Sequencer) bool

	// event changes an event, and returns how often it is told.
	event func(e *lock.Event) int
}

// flawed is a Memory with a flaw.
type flawed struct {
	*Memory

	flaw   flaw
	plain  bool // it is not reentrant
	data   *flawedData
	closed atomic.Bool
	inside atomic.Int64 // its sections
}

// memoryLocker is a Memory, or one with a flaw.
type memoryLocker interface {
	lock.Locker
	Cut() (restore func())
	Stall(d time.Duration)
	LoseReply() (restore func())
	Late() (deliver func())
	Reconnect()
	Expire()
}

// MemoryTarget declares all that a Memory with this Config can. begin opens a Locker over a peer of m.
func MemoryTarget(m *Memory, cfg driver.Config, begin func(tb testing.TB, peer *Memory) lock.Locker) Target {
	return Target{
		Open:    func(tb testing.TB) lock.Locker { return begin(tb, m.Peer()) },
		Observe: func(tb testing.TB, o lock.Observer) lock.Locker { return begin(tb, m.Observed(o)) },
		Share: func(tb testing.TB) (a, b lock.Locker) {
			first := m.Peer()
			return begin(tb, first), begin(tb, first.Twin())
		},
		Lease: cfg.WithDefaults().Lease, LockDelay: cfg.LockDelay, MaxHold: cfg.MaxHold,
		Reentrant: true, Tokens: true, Wanted: true, Ordered: true, Jeopardy: true, Checks: true, Inspects: true, Data: true,
		SteadyClock: true,
		Requests:    m.Requests,
		Patience:    time.Hour,
		Faults: Faults{
			TakeAway:  m.TakeAway,
			Cut:       func(l lock.Locker) func() { return l.(memoryLocker).Cut() },
			Stall:     func(l lock.Locker, d time.Duration) { l.(memoryLocker).Stall(d) },
			LoseReply: func(l lock.Locker) func() { return l.(memoryLocker).LoseReply() },
			Late:      func(l lock.Locker) func() { return l.(memoryLocker).Late() },
			Reconnect: func(l lock.Locker) { l.(memoryLocker).Reconnect() },
			Expire:    func(l lock.Locker) { l.(memoryLocker).Expire() },
			Restart:   m.Restart, Failover: m.Failover, Forget: m.Forget, Clock: m.SetClock,
		},
	}
}

// flawedTarget has flawed Lockers. It declares all that a Memory can, or what the clause needs instead.
func flawedTarget(f flaw, clause string) Target {
	cfg, plain := driver.Config{LockDelay: 2 * time.Second}, f.plain || clause == "nested-refused" || clause == "token-none"
	if strings.HasSuffix(clause, "max-hold") {
		cfg.MaxHold = time.Minute
	}
	declared := cfg
	if f.config != nil {
		f.config(&cfg)
	}
	m := NewMemory(cfg)
	data := &flawedData{
		Memory: m, heard: map[string]bool{}, had: map[*memoryClient]bool{}, tokens: map[string]uint64{}, last: map[string]lock.Info{},
		since: map[string]time.Time{}, queued: map[string]int{},
	}
	begin := func(tb testing.TB, m *Memory) lock.Locker {
		options := driver.Options{Package: "memory", Service: "memory", Tokens: !plain}
		if f.options != nil {
			f.options(&options)
		}
		cfg := m.cfg
		cfg.Now = m.mine.now
		m.Locker = driver.New(&flawedService{memoryClient: m.mine, flaw: f, data: data}, options, cfg)
		tb.Cleanup(func() { _ = m.Close() })
		return &flawed{Memory: m, flaw: f, plain: plain, data: data}
	}
	t := MemoryTarget(m, declared, begin)
	t.Observe = func(tb testing.TB, o lock.Observer) lock.Locker { return begin(tb, m.Observed(f.observer(o))) }
	t.SlackAfterLease = time.Second
	if plain {
		t.Reentrant, t.Tokens, t.Wanted, t.Checks, t.Inspects, t.Data = false, false, false, false, false, false
	}
	if f.target != nil {
		f.target(&t, data)
	}
	return t
}

// call is a call of WithLock or TryLock.
type call struct {
	l     *flawed
	ctx   context.Context
	name  string
	fn    work
	wait  bool
	outer *outerCall // with this ctx and this name; nil: none
	inner bool       // ctx holds a lock
}

type outerKey struct {
	l    *flawed
	name string
}

type outerCall struct {
	goroutine string
	over      atomic.Bool
}

// again reports whether ctx holds the same lock.
func (c call) again() bool { return c.outer != nil && !c.outer.over.Load() }

func (l *flawed) WithLock(ctx context.Context, name string, fn func(ctx context.Context) error) error {
	return l.run(ctx, name, fn, true)
}

func (l *flawed) TryLock(ctx context.Context, name string, fn func(ctx context.Context) error) error {
	return l.run(ctx, name, fn, false)
}

func (l *flawed) run(ctx context.Context, name string, fn work, wait bool) error {
	if l.flaw.key != nil {
		name = l.flaw.key(name)
	}
	outer, _ := ctx.Value(outerKey{l, name}).(*outerCall)
	c := call{l: l, ctx: ctx, name: name, fn: fn, wait: wait, outer: outer, inner: ctx.Value(lock.ContextKey{}) != nil}
	if l.flaw.run == nil || fn == nil && !l.flaw.runsNil {
		return c.next(ctx, fn)
	}
	return l.flaw.run(c)
}

// next makes the call without the flaw.
func (c call) next(ctx context.Context, fn work) error {
	if c.l.plain && c.again() && ctx.Value(outerKey{c.l, c.name}) != nil {
		return rmw.ErrInvalid
	}
	take := c.l.Memory.TryLock
	if c.wait {
		take = c.l.Memory.WithLock
	}
	if fn == nil {
		return take(ctx, c.name, nil)
	}
	mine := &outerCall{goroutine: goroutine.ID()}
	defer mine.over.Store(true)
	return take(ctx, c.name, func(ctx context.Context) error {
		return fn(context.WithValue(ctx, outerKey{c.l, c.name}, mine))
	})
}

// change changes the lock at the service.
func (l *flawed) change(name string, change func(l *memoryLock)) {
	l.store.locked(func() { change(l.store.lock(name)) })
}

// keep leaves the lock to an owner that does not exist.
func (c call) keep() { c.l.change(c.name, func(l *memoryLock) { l.owner = "nobody" }) }

func (c call) takeAway() { _ = c.l.TakeAway(c.ctx, c.name) }

func (l *flawed) Lock(ctx context.Context, name string) (lock.Hold, error) {
	if l.flaw.key != nil {
		name = l.flaw.key(name)
	}
	switch {
	case l.plain:
		return l.plainLock(ctx, name)
	case l.flaw.lock == nil:
		return l.Memory.Lock(ctx, name)
	}
	return l.flaw.lock(ctx, l, name)
}

func (l *flawed) plainLock(ctx context.Context, name string) (lock.Hold, error) {
	key, mine := outerKey{l, name}, &outerCall{}
	if outer, ok := ctx.Value(key).(*outerCall); ok && !outer.over.Load() {
		return nil, rmw.ErrInvalid
	}
	h, err := l.Memory.Lock(ctx, name)
	if err != nil {
		return nil, err
	}
	return changedHold{h, erringContext{context.WithValue(h.Context(), key, mine), h.Context().Err}, func() error {
		mine.over.Store(true)
		return h.Unlock()
	}}, nil
}

func (l *flawed) Close() error {
	if l.flaw.close == nil {
		return l.Memory.Close()
	}
	return l.flaw.close(l)
}

func (l *flawed) Inspect(ctx context.Context, name string) (lock.Info, error) {
	info, err := l.Memory.Inspect(ctx, name)
	if l.flaw.inspect != nil && err == nil {
		l.flaw.inspect(l, &info)
	}
	return info, err
}

func (l *flawed) Check(ctx context.Context, s lock.Sequencer) error {
	if l.flaw.check != nil {
		if info, err := l.Inspect(ctx, s.Name); err == nil && l.flaw.check(l, info, s) {
			return nil
		}
	}
	return l.Memory.Check(ctx, s)
}

// observer is an Observer between the Locker and o.
func (f flaw) observer(o lock.Observer) lock.Observer {
	return func(ctx context.Context, e lock.Event) {
		times := 1
		if f.event != nil {
			times = f.event(&e)
		}
		for range times {
			o(ctx, e)
		}
	}
}

// flawedData is shared by the Lockers of a Target, which are peers of the Memory.
type flawedData struct {
	*Memory

	count  uint64
	heard  map[string]bool        // owners that heard of their grant, or not of their release
	had    map[*memoryClient]bool // they held a lock
	tokens map[string]uint64      // of owners
	last   map[string]lock.Info
	since  map[string]time.Time // of names and owners
	queued map[string]int
}

// flawedService is the service of a Memory with a flaw.
type flawedService struct {
	*memoryClient

	flaw flaw
	data *flawedData
	seq  uint64
	down bool
}

// at changes a lock at the store.
func (s *flawedService) at(name string, change func(l *memoryLock)) {
	s.locked(func() { change(s.lock(name)) })
}

func (s *flawedService) Acquire(ctx context.Context, r driver.Request) (grant driver.Grant, err error) {
	if s.flaw.asked != nil {
		s.at(r.Name, func(l *memoryLock) { s.flaw.asked(s, l, &r) })
	}
	if s.flaw.acquire != nil {
		grant, err = s.flaw.acquire(ctx, s, r)
	} else {
		grant, err = s.memoryClient.Acquire(ctx, r)
	}
	if err == nil && s.flaw.granted != nil {
		s.at(r.Name, func(l *memoryLock) { s.flaw.granted(s, l, &grant) })
	}
	return grant, err
}

func (s *flawedService) Renew(ctx context.Context, holds []*driver.Hold) error {
	if s.flaw.renews != nil {
		s.mu.Lock()
		renews := s.flaw.renews(s, holds)
		s.mu.Unlock()
		if !renews {
			return nil
		}
	}
	return s.memoryClient.Renew(ctx, holds)
}

func (s *flawedService) Release(ctx context.Context, name, owner string) error {
	if s.flaw.release == nil {
		return s.memoryClient.Release(ctx, name, owner)
	}
	return s.flaw.release(ctx, s, name, owner)
}
