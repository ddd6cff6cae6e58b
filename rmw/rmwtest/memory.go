package rmwtest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/driver"
)

// Memory is a Store in memory that keeps the whole contract. Values expire by
// time.Now, so in a testing/synctest bubble they follow its clock. It is safe
// for concurrent use, has no goroutine and needs no Close.
//
// It is optimistic: updates of one key run side by side, and those that find
// the value changed run again.
type Memory struct {
	mu      sync.Mutex
	entries map[string]entry
	version uint64
	armed   *armed
}

type entry struct {
	value   rmw.Value
	expires time.Time // zero: never
	version uint64
}

// NewMemory returns an empty Memory.
func NewMemory() *Memory { return &Memory{entries: map[string]entry{}} }

var (
	_ rmw.Store  = (*Memory)(nil)
	_ rmw.Peeker = (*Memory)(nil)
	_ Direct     = (*Memory)(nil)
	_ Faults     = (*Memory)(nil)
)

// memoryAttempts bounds an Update as the real paths do.
const memoryAttempts = 10_000

// Read implements [rmw.Reader].
func (m *Memory) Read(ctx context.Context, key rmw.Key) (rmw.Value, error) {
	e, err := m.load(ctx, key)
	if err != nil {
		return rmw.Value{}, m.fail("read", key, 0, err)
	}
	return e.value, nil
}

// Peek implements [rmw.Peeker].
func (m *Memory) Peek(ctx context.Context, key rmw.Key) (rmw.Value, time.Duration, error) {
	e, err := m.load(ctx, key)
	switch {
	case err != nil:
		return rmw.Value{}, 0, m.fail("peek", key, 0, err)
	case !e.value.Exists():
		return rmw.Value{}, 0, nil
	case e.expires.IsZero():
		return e.value, rmw.NoTTL, nil
	}
	return e.value, max(time.Until(e.expires), time.Millisecond), nil
}

// Update implements [rmw.Updater].
func (m *Memory) Update(ctx context.Context, key rmw.Key, fn rmw.UpdateFunc) (rmw.Result, error) {
	if fn == nil {
		return rmw.Result{}, m.fail("update", key, 0, fmt.Errorf("%w: the UpdateFunc is nil", rmw.ErrInvalid))
	}
	if err := rmw.CheckTx(ctx, m, key.Name); err != nil {
		return rmw.Result{}, m.fail("update", key, 0, err)
	}
	for attempt := 1; attempt <= memoryAttempts; attempt++ {
		cur, err := m.load(ctx, key)
		if err != nil {
			return rmw.Result{Attempts: attempt - 1}, m.fail("read", key, attempt-1, err)
		}
		next, err := fn(ctx, cur.value)
		if err != nil {
			return rmw.Result{Attempts: attempt}, err
		}
		write, ttl, err := driver.CheckWrite(key, cur.value, next)
		if err != nil {
			return rmw.Result{Attempts: attempt}, m.fail("commit", key, attempt, err)
		}
		if !write {
			return rmw.Result{Before: cur.value, After: cur.value, Attempts: attempt}, nil
		}
		switch stored, err := m.commit(ctx, key, cur, next, ttl); {
		case err != nil:
			return rmw.Result{Attempts: attempt}, m.fail("commit", key, attempt, err)
		case stored:
			return rmw.Result{Before: cur.value, After: next.WithTTL(0), Written: true, Attempts: attempt}, nil
		}
	}
	return rmw.Result{Attempts: memoryAttempts}, m.fail("commit", key, memoryAttempts, rmw.ErrContended)
}

// load returns the present entry; its version is 0 if there is none.
func (m *Memory) load(ctx context.Context, key rmw.Key) (entry, error) {
	if err := key.Validate(); err != nil {
		return entry{}, err
	}
	if err := m.ask(ctx); err != nil {
		return entry{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.present(key.Name)
	if e.value.Exists() && e.value.Kind() != key.Kind {
		return entry{}, rmw.ErrWrongKind
	}
	return e, nil
}

// ask is a command that only reads.
func (m *Memory) ask(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if kind, _ := m.arrive(); kind != NoFault {
		return lost(ctx, kind, rmw.ErrUnavailable)
	}
	return nil
}

// commit stores next if the entry is still cur.
func (m *Memory) commit(ctx context.Context, key rmw.Key, cur entry, next rmw.Value, ttl time.Duration) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	switch kind, delay := m.arrive(); kind {
	case NoFault:
		return m.swap(key.Name, cur, next, ttl), nil
	case RequestLost:
		return false, lost(ctx, kind, rmw.ErrOutcomeUnknown)
	case Late:
		time.AfterFunc(delay, func() { m.swap(key.Name, cur, next, ttl) })
		return false, lost(ctx, kind, rmw.ErrOutcomeUnknown)
	default:
		m.swap(key.Name, cur, next, ttl)
		return false, lost(ctx, kind, rmw.ErrOutcomeUnknown)
	}
}

// swap stores next if the entry is still cur, and reports whether it was.
func (m *Memory) swap(name string, cur entry, next rmw.Value, ttl time.Duration) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.present(name)
	if now.version != cur.version {
		return false
	}
	m.put(name, next, now.expiry(ttl))
	return true
}

// expiry is when a value that replaces e expires.
func (e entry) expiry(ttl time.Duration) time.Time {
	switch {
	case ttl == rmw.NoTTL:
		return time.Time{}
	case ttl > 0:
		return time.Now().Add(ttl)
	}
	return e.expires
}

// present returns the entry unless it has expired. m.mu is held.
func (m *Memory) present(name string) entry {
	e := m.entries[name]
	if !e.expires.IsZero() && !time.Now().Before(e.expires) {
		delete(m.entries, name)
		return entry{}
	}
	return e
}

// put stores or, for the zero Value, deletes. m.mu is held.
func (m *Memory) put(name string, v rmw.Value, expires time.Time) {
	if !v.Exists() {
		delete(m.entries, name)
		return
	}
	m.version++
	m.entries[name] = entry{value: v.WithTTL(0), expires: expires, version: m.version}
}

// Get implements [Direct].
func (m *Memory) Get(_ context.Context, name string) (rmw.Value, time.Duration, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.present(name)
	if e.expires.IsZero() {
		return e.value, rmw.NoTTL, nil
	}
	return e.value, time.Until(e.expires), nil
}

// Set implements [Direct].
func (m *Memory) Set(_ context.Context, name string, v rmw.Value, ttl time.Duration) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	var expires time.Time
	if ttl > 0 {
		expires = time.Now().Add(ttl)
	}
	m.put(name, v, expires)
	return nil
}

// Append implements [Direct].
func (m *Memory) Append(_ context.Context, key rmw.Key, id string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.present(key.Name)
	next := rmw.String(e.value.Text() + id + ",")
	if key.Kind == rmw.KindHash {
		next = e.value.With(id, "x")
	}
	m.put(key.Name, next, e.expires)
	return nil
}

// fail dresses an error of the Store's own.
func (m *Memory) fail(op string, key rmw.Key, attempts int, err error) error {
	e := &rmw.Error{Path: "memory", Op: op, Key: key.Name, Attempts: attempts}
	var inner *rmw.Error
	switch {
	case errors.As(err, &inner):
		e.Reason, e.Cause = inner.Reason, inner.Cause
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		e.Cause = err
	default:
		e.Reason = err // one of rmw's, or wrapping one with more text
	}
	return e
}
