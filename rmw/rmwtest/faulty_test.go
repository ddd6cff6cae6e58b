package rmwtest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/driver"
)

// faulty is a Store with a flaw that no clause finds. Its Update is that of Memory, with the flaw.
type faulty struct {
	*Memory
	flaw string
	// losses counts those of all Stores.
	losses *atomic.Uint64

	mu      sync.Mutex
	closed  bool
	closes  int
	locked  map[string]bool
	stale   *rmw.Value
	lost    int
	running int
	shared  *rmw.Result
	reading map[string]chan struct{}
	read    map[string]rmw.Value
	kept    map[string]entry
	loaded  map[string]time.Time
}

func newFaulty(m *Memory, flaw string, losses *atomic.Uint64) *faulty {
	return &faulty{Memory: m, flaw: flaw, losses: losses, locked: map[string]bool{}, reading: map[string]chan struct{}{},
		read: map[string]rmw.Value{}, kept: map[string]entry{}, loaded: map[string]time.Time{}}
}

func (f *faulty) name(key rmw.Key) rmw.Key {
	if f.flaw == "v04 cuts names at 512 bytes" && len(key.Name) > 512 {
		key.Name = key.Name[:512]
	}
	return key
}

func (f *faulty) is(id string) bool { return strings.HasPrefix(f.flaw, id+" ") }

// Transact is not what these flaws are about.
func (f *faulty) Transact(context.Context, []rmw.Key, rmw.TxFunc) (rmw.TxResult, error) {
	return rmw.TxResult{}, f.fail("transact", rmw.Key{}, 0, rmw.ErrUnsupported)
}

func (f *faulty) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closes++
	if f.closes > 1 && f.is("c09") {
		panic("close of closed channel")
	}
	f.closed = true
	return nil
}

func (f *faulty) Read(ctx context.Context, key rmw.Key) (rmw.Value, error) {
	if err := f.open(ctx); err != nil {
		return rmw.Value{}, f.fail("read", key, 0, err)
	}
	key = f.name(key)
	if f.is("k01") {
		return f.join(ctx, key)
	}
	e, err := f.loadKept(ctx, key)
	if err != nil {
		return rmw.Value{}, f.failed("read", key, 0, err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stale != nil {
		v := *f.stale
		f.stale = nil
		return v, nil
	}
	return e.value, nil
}

func (f *faulty) Peek(ctx context.Context, key rmw.Key) (rmw.Value, time.Duration, error) {
	if err := f.open(ctx); err != nil {
		return rmw.Value{}, 0, f.fail("peek", key, 0, err)
	}
	return f.Memory.Peek(ctx, f.name(key))
}

// open returns the error of a closed Store.
func (f *faulty) open(ctx context.Context) error {
	f.mu.Lock()
	closed, lost := f.closed, f.lost
	f.mu.Unlock()
	switch {
	case closed && f.is("c07"):
		<-ctx.Done()
		<-time.After(24 * time.Hour)
	case closed:
		return rmw.ErrClosed
	case lost >= 3 && f.is("k06"):
		return rmw.ErrUnavailable
	}
	return nil
}

// loadKept is load, with an expired value for a second more under t06.
func (f *faulty) loadKept(ctx context.Context, key rmw.Key) (entry, error) {
	e, err := f.load(ctx, key)
	f.mu.Lock()
	defer f.mu.Unlock()
	old := f.kept[key.Name]
	if f.is("t06") && err == nil && !e.value.Exists() && !old.expires.IsZero() && time.Since(old.expires) < time.Second &&
		time.Since(old.expires) >= 0 && old.value.Kind() == key.Kind {
		return old, nil
	}
	f.kept[key.Name] = e
	return e, err
}

// join returns the answer of a Read that has begun before.
func (f *faulty) join(ctx context.Context, key rmw.Key) (rmw.Value, error) {
	f.mu.Lock()
	wait, running := f.reading[key.Name]
	if !running {
		wait = make(chan struct{})
		f.reading[key.Name] = wait
	}
	f.mu.Unlock()
	if running {
		<-wait
		f.mu.Lock()
		defer f.mu.Unlock()
		return f.read[key.Name], nil
	}
	e, err := f.load(ctx, key)
	<-time.After(2 * time.Millisecond) // the way of the answer
	f.mu.Lock()
	defer f.mu.Unlock()
	f.read[key.Name] = e.value
	delete(f.reading, key.Name)
	close(wait)
	if err != nil {
		return rmw.Value{}, f.fail("read", key, 0, err)
	}
	return e.value, nil
}

// failed dresses an error.
func (f *faulty) failed(op string, key rmw.Key, attempts int, err error) error {
	dressed := f.fail(op, key, attempts, err)
	if f.is("c12") && errors.Is(err, rmw.ErrUnavailable) {
		return fmt.Errorf("cannot reach the server: %w", rmw.ErrUnavailable)
	}
	return dressed
}

func (f *faulty) Update(ctx context.Context, key rmw.Key, fn rmw.UpdateFunc) (res rmw.Result, err error) {
	if err := f.open(ctx); err != nil {
		return rmw.Result{}, f.fail("update", key, 0, err)
	}
	key = f.name(key)
	f.mu.Lock()
	f.running++
	running := f.running
	locked := f.locked[key.Name]
	shared := f.shared
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.running--
		if f.is("k07") && err == nil && res.Written {
			if running == 2 && shared != nil {
				res = *shared
			}
			r := res
			f.shared = &r
		}
	}()
	if locked {
		<-ctx.Done()
		return rmw.Result{}, f.fail("update", key, 0, ctx.Err())
	}
	if f.is("c03") {
		defer func() {
			if p := recover(); p != nil {
				panic(fmt.Sprint(p))
			}
		}()
	}
	for attempt := 1; ; attempt++ {
		cur, err := f.load(ctx, key)
		f.mu.Lock()
		f.loaded[key.Name] = time.Now()
		f.mu.Unlock()
		if err != nil {
			if f.is("f01") && errors.Is(err, rmw.ErrUnavailable) {
				err = rmw.ErrOutcomeUnknown
			}
			return rmw.Result{Attempts: attempt - 1}, f.failed("read", key, attempt-1, err)
		}
		began := time.Now()
		next, err := f.call(ctx, key, fn, cur.value, attempt)
		if err != nil {
			if f.is("c01") && errors.Is(err, rmw.ErrContended) && attempt < 51 {
				continue
			}
			if f.is("c02") && errors.Is(err, context.Canceled) {
				return rmw.Result{Attempts: attempt}, f.fail("update", key, attempt, err)
			}
			if f.is("c11") {
				return rmw.Result{Attempts: attempt, Before: cur.value}, err
			}
			return rmw.Result{Attempts: attempt}, err
		}
		if f.is("c05") && time.Since(began) > 5*time.Second {
			return rmw.Result{Attempts: attempt}, f.fail("update", key, attempt, context.DeadlineExceeded)
		}
		write, ttl, err := driver.CheckWrite(key, cur.value, next)
		if err != nil {
			return rmw.Result{Attempts: attempt}, f.failed("commit", key, attempt, err)
		}
		if !write {
			return rmw.Result{Before: cur.value, After: cur.value, Attempts: attempt}, nil
		}
		stored, err := f.commit(ctx, key, cur, next, ttl, attempt)
		if f.is("c08") && stored {
			f.mu.Lock()
			if f.closed {
				err = rmw.ErrClosed
			}
			f.mu.Unlock()
		}
		switch {
		case err != nil:
			if f.is("c06") {
				err = &rmw.Error{Reason: err, Cause: fmt.Errorf("writing %q %q", next.Text(), next.Fields())}
			}
			return rmw.Result{Attempts: attempt}, f.failed("commit", key, attempt, err)
		case stored:
			return rmw.Result{Before: cur.value, After: next.WithTTL(0), Written: true, Attempts: attempt}, nil
		}
	}
}

// call calls fn.
func (f *faulty) call(ctx context.Context, key rmw.Key, fn rmw.UpdateFunc, cur rmw.Value, attempt int) (next rmw.Value, err error) {
	if attempt < 2 {
		return fn(ctx, cur)
	}
	switch {
	case f.is("c04"):
		return fn(context.Background(), cur)
	case f.is("c10"):
		done := make(chan struct{})
		go func() {
			defer close(done)
			next, err = fn(ctx, cur)
		}()
		<-done
		return next, err
	case f.is("c13"):
		f.mu.Lock()
		f.locked[key.Name] = true
		f.mu.Unlock()
		next, err = fn(ctx, cur)
		f.mu.Lock()
		f.locked[key.Name] = false
		f.mu.Unlock()
		return next, err
	}
	return fn(ctx, cur)
}

// commit sends the write.
func (f *faulty) commit(ctx context.Context, key rmw.Key, cur entry, next rmw.Value, ttl time.Duration, attempt int) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	f.mu.Lock()
	many := f.running > 16
	f.mu.Unlock()
	if f.is("k02") && many {
		return true, nil
	}
	if f.is("g13") || f.is("k08") {
		if now, err := f.load(ctx, key); err != nil || now.version != cur.version {
			return false, err
		}
		cur.version = 0
	}
	kind, delay := f.arrive()
	switch {
	case kind == NoFault:
		return f.write(ctx, key, cur, next, ttl, attempt)
	case kind == Late:
		time.AfterFunc(delay, func() { _, _ = f.write(ctx, key, cur, next, ttl, attempt) })
	case kind != RequestLost:
		_, _ = f.write(ctx, key, cur, next, ttl, attempt)
	}
	fiftieth := f.losses.Add(1)%50 == 0
	f.mu.Lock()
	f.lost++
	if f.is("k05") {
		f.stale = &cur.value
	}
	if f.is("k04") {
		f.locked[key.Name] = true
	}
	f.mu.Unlock()
	err := lost(ctx, kind, rmw.ErrOutcomeUnknown)
	switch {
	case f.is("f02") && fiftieth, f.is("f04") && !next.Exists():
		return true, nil
	case f.is("f03") && fiftieth:
		return false, rmw.ErrUnavailable
	case f.is("f05") && cur.value.Exists(), f.is("f06") && next.Size() > 4096:
		return false, nil // the next attempt sends it again
	case f.is("f07") && attempt == 2:
		return false, rmw.ErrContended
	case f.is("g14"):
		if now, _, _ := f.Get(ctx, key.Name); now.Equal(next) {
			return true, nil
		}
	}
	return false, err
}

// write executes the write in the storage.
func (f *faulty) write(ctx context.Context, key rmw.Key, cur entry, next rmw.Value, ttl time.Duration, attempt int) (bool, error) {
	m := f.Memory
	m.mu.Lock()
	now := m.present(key.Name)
	same := now.version == cur.version || f.confuses(key, cur.value, now.value) ||
		f.is("g12") && attempt >= 11 || f.is("g13") || f.is("k08")
	expires := now.expiry(ttl)
	switch {
	case f.is("g07") && !same && now.value.Equal(next):
		m.mu.Unlock()
		return true, nil
	case !same:
		m.mu.Unlock()
		return false, nil
	}
	switch {
	case f.is("t01") && ttl == 0 && !cur.expires.IsZero():
		expires = time.Now().Add(f.leftThen(key, cur))
	case f.is("t02") && ttl > (1<<31)*time.Millisecond:
		expires = time.Time{}
	case f.is("t03") && ttl > 0:
		expires = time.Now().Add((ttl + time.Second - 1).Truncate(time.Second))
	}
	next = f.changed(next)
	if f.is("t04") && ttl > 0 {
		m.put(key.Name, next, time.Time{})
		m.mu.Unlock()
		if kind, _ := m.arrive(); kind == NoFault || kind == ReplyLost {
			m.mu.Lock()
			m.put(key.Name, next, expires)
			m.mu.Unlock()
		}
		return true, nil
	}
	if f.is("h02") && removes(cur.value, next) {
		m.put(key.Name, cur.value.WithFields(next.Fields()), expires)
		m.mu.Unlock()
		if kind, _ := m.arrive(); kind != NoFault && kind != ReplyLost {
			return false, lost(ctx, kind, rmw.ErrOutcomeUnknown)
		}
		m.mu.Lock()
	}
	m.put(key.Name, next, expires)
	m.mu.Unlock()
	return true, nil
}

// leftThen is the time that the value had left when fn was called.
func (f *faulty) leftThen(key rmw.Key, cur entry) time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	return cur.expires.Sub(f.loaded[key.Name])
}

func removes(cur, next rmw.Value) bool {
	if !cur.Exists() || !next.Exists() || cur.Kind() != rmw.KindHash {
		return false
	}
	for name := range cur.All() {
		if _, ok := next.Field(name); !ok {
			return true
		}
	}
	return false
}
