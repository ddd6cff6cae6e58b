package rmwtest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/unwatch/unwatch/rmw"
)

// naive is a Store with one flaw. Without any it keeps the whole contract.
type naive struct {
	*Memory
	flaw   flaw
	mu     sync.Mutex // for what follows
	cache  map[string]rmw.Value
	peeked map[string]peeked
	last   *rmw.Value // what fn returned last
	locks  map[string]chan struct{}

	end chan struct{} // closed when the goroutines that the flaw leaves behind shall end
}

// call runs fn, where the flaw has it run.
func (n *naive) call(ctx context.Context, fn rmw.UpdateFunc, cur rmw.Value) (next rmw.Value, err error) {
	if n.flaw != elsewhere {
		return fn(ctx, cur)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		next, err = fn(ctx, cur)
	}()
	<-done
	return next, err
}

// haunt is the first copy of a commit that was sent twice: it stores its value
// later, once the key holds again what it expects.
func (n *naive) haunt(key rmw.Key, next rmw.Value) {
	time.AfterFunc(200*time.Millisecond, func() {
		if now, _, _ := n.Get(context.Background(), key.Name); !now.Exists() {
			_ = n.Set(context.Background(), key.Name, next, rmw.NoTTL)
		}
	})
}

func newNaive(m *Memory, f flaw) *naive {
	return &naive{
		Memory: m, flaw: f, cache: map[string]rmw.Value{}, peeked: map[string]peeked{},
		locks: map[string]chan struct{}{}, end: make(chan struct{}),
	}
}

func (n *naive) Read(ctx context.Context, key rmw.Key) (rmw.Value, error) {
	if lock := n.lock(key); lock != nil && n.flaw == readWaits {
		lock <- struct{}{}
		<-lock
	}
	v, err := n.Memory.Read(ctx, key)
	n.mu.Lock()
	defer n.mu.Unlock()
	if v, ok := n.cache[key.Name]; ok && n.flaw == cachesReads {
		return v, nil
	}
	n.cache[key.Name] = v
	return v, err
}

// peeked is the result of a Peek.
type peeked struct {
	value rmw.Value
	left  time.Duration
}

func (n *naive) Peek(ctx context.Context, key rmw.Key) (rmw.Value, time.Duration, error) {
	v, left, err := n.Memory.Peek(ctx, key)
	n.mu.Lock()
	defer n.mu.Unlock()
	old, seen := n.peeked[key.Name]
	if !seen && err == nil && v.Exists() {
		n.peeked[key.Name] = peeked{v, left}
	}
	switch {
	case n.flaw == peeksNoTTL && left > 0:
		left = rmw.NoTTL
	case n.flaw == peeksStale && seen:
		v, left = old.value, old.left
	case n.flaw == peeksOldTTL && seen && v.Exists():
		left = old.left
	case n.flaw == peeksApart && err == nil:
		_, left, err = n.Memory.Peek(ctx, key)
	case n.flaw == peeksRounded && left > 0:
		left = (left - time.Nanosecond).Truncate(time.Millisecond) // the least it tells is 1ms
	case n.flaw == peeksAnyKind && errors.Is(err, rmw.ErrWrongKind),
		n.flaw == peeksAtOdds && errors.Is(err, rmw.ErrUnavailable):
		return rmw.Value{}, 0, nil
	}
	return v, left, err
}

func (n *naive) Update(ctx context.Context, key rmw.Key, fn rmw.UpdateFunc) (res rmw.Result, err error) {
	if fn == nil {
		return n.Memory.Update(ctx, key, nil)
	}
	if n.flaw == clobbersKind {
		if v, _, _ := n.Get(ctx, key.Name); v.Exists() && v.Kind() != key.Kind {
			_ = n.Set(ctx, key.Name, rmw.Value{}, 0)
		}
	}
	if n.flaw == leaks {
		go func() { <-n.end }()
	}
	returned := false // not so if fn panics
	if lock := n.lock(key); lock != nil {
		select {
		case lock <- struct{}{}:
			defer func() {
				if n.flaw != locksForever || returned {
					<-lock
				}
			}()
		case <-ctx.Done():
			return rmw.Result{}, ctx.Err()
		}
	}
	if n.flaw == swallowsPanic {
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("panic: %v", p)
			}
		}()
	}
	res, err = n.Memory.Update(ctx, key, func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
		if n.flaw == emptyIsAbsent && cur.Text() == "" && cur.Len() == 0 {
			cur = rmw.Value{}
		}
		next, err := n.call(ctx, fn, cur)
		n.mu.Lock()
		n.last = &next
		n.mu.Unlock()
		if err != nil && n.flaw == wrapsFnError {
			return next, errors.New("update failed: " + err.Error())
		}
		if err != nil {
			return next, err
		}
		return n.spoil(key, cur, next)
	})
	if n.flaw == ignoresCtx && errors.Is(err, context.Canceled) && res.Attempts > 0 {
		res, err = n.Memory.Update(context.WithoutCancel(ctx), key, fn)
	}
	if n.flaw == retriesBlindly && errors.Is(err, rmw.ErrOutcomeUnknown) {
		res, err = n.Memory.Update(ctx, key, fn)
	}
	if n.flaw == resends && errors.Is(err, rmw.ErrOutcomeUnknown) && n.last != nil {
		next := *n.last
		if now, _, _ := n.Get(ctx, key.Name); !now.Equal(next) {
			res, err = n.Memory.Update(ctx, key, func(context.Context, rmw.Value) (rmw.Value, error) { return next, nil })
			n.haunt(key, next)
		}
	}
	if n.flaw == countsOne {
		res.Attempts = min(res.Attempts, 1)
	}
	if n.flaw == hidesUnknown && errors.Is(err, rmw.ErrOutcomeUnknown) {
		err = rmw.ErrUnavailable
	}
	if errors.Is(err, errDone) {
		res, err = rmw.Result{Written: true, Attempts: res.Attempts}, nil
	}
	returned = true
	return res, err
}

// spoil does on the storage what the flaw does, just before the commit.
func (n *naive) spoil(key rmw.Key, cur, next rmw.Value) (rmw.Value, error) {
	now, ttl, _ := n.Get(context.Background(), key.Name)
	switch {
	case n.overlooks(cur, now, next),
		n.flaw == immortal && !now.Exists() && cur.Exists(),
		n.flaw == wholeHash && key.Kind == rmw.KindHash && !now.Equal(cur):
		_ = n.Set(context.Background(), key.Name, next, ttl)
		return next, errDone
	case n.flaw == dropsTTL && !next.Equal(cur):
		return next.WithTTL(rmw.NoTTL), nil
	case n.flaw == wholeSeconds && next.Exists():
		if ttl > 0 && ttl < time.Second || key.TTL > 0 && key.TTL < time.Second {
			return next.WithTTL(rmw.NoTTL), nil
		}
	case n.flaw == ignoresValueTTL && next.TTL() != 0 && !next.Equal(cur):
		return next.WithTTL(0), nil
	case n.flaw == losesLarge && next.Size() > 2<<20:
		return cur, nil
	case n.flaw == writesUnchanged && key.TTL != 0:
		return next.WithTTL(key.TTL), nil
	}
	return next, nil
}

// compared is the part of a value that a flawed guard compares.
var compared = map[flaw]func(v rmw.Value) string{
	guardsLength: func(v rmw.Value) string {
		if v.Kind() == rmw.KindHash {
			return content(v)
		}
		return strconv.Itoa(v.Size())
	},
	guardsNames: func(v rmw.Value) string {
		if v.Kind() == rmw.KindHash {
			return fmt.Sprint(slices.Sorted(maps.Keys(v.Fields())))
		}
		return v.Text()
	},
	guardsLetters:   func(v rmw.Value) string { return strings.ToLower(content(v)) },
	guardsAllButOne: func(v rmw.Value) string { return first(content(v), len(content(v))-1) },
	guardsStart:     func(v rmw.Value) string { return first(content(v), 2<<10) },
	guardsMiB:       func(v rmw.Value) string { return first(content(v), 2<<20) },
}

// content is the same text for equal values.
func content(v rmw.Value) string {
	if v.Kind() == rmw.KindHash {
		return fmt.Sprint(v.Fields())
	}
	return v.Text()
}

// first returns the first n bytes of s.
func first(s string, n int) string { return s[:max(0, min(n, len(s)))] }

// overlooks tells that the flawed guard lets next replace now, though fn was given cur.
func (n *naive) overlooks(cur, now, next rmw.Value) bool {
	switch part, ok := compared[n.flaw]; {
	case now.Equal(cur):
		return false
	case ok:
		return now.Exists() == cur.Exists() && part(now) == part(cur)
	case n.flaw == deletesByLength:
		return !next.Exists() && compared[guardsLength](now) == compared[guardsLength](cur)
	case n.flaw == deletesByNames:
		return !next.Exists() && compared[guardsNames](now) == compared[guardsNames](cur)
	}
	return n.flaw == plainSet || n.flaw == plainDelete && !next.Exists()
}

var errDone = errors.New("already written, past the guard")

// lock returns the lock that the flaw has an Update hold, nil if there is none.
func (n *naive) lock(key rmw.Key) chan struct{} {
	name := key.Name
	switch n.flaw {
	case readWaits, locksForever, txLocksAsNamed:
	case sharesLocks:
		number, _ := strconv.Atoi(name[strings.LastIndex(name, ":")+1:]) // see check.key
		name = strconv.Itoa(number % 16)
	default:
		return nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.locks[name] == nil {
		n.locks[name] = make(chan struct{}, 1)
	}
	return n.locks[name]
}
