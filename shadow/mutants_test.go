package shadow_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/driver"
	"github.com/unwatch/unwatch/rmw/rmwtest"
)

// mutant is a path with a fault: a Memory with some of its methods replaced.
type mutant struct {
	*rmwtest.Memory
	update func(ctx context.Context, key rmw.Key, fn rmw.UpdateFunc) (rmw.Result, error)
	read   func(ctx context.Context, key rmw.Key) (rmw.Value, error)
	peek   func(ctx context.Context, key rmw.Key) (rmw.Value, time.Duration, error)
}

// newMutant is a path without a fault.
func newMutant() *mutant {
	m := rmwtest.NewMemory()
	return &mutant{m, m.Update, m.Read, m.Peek}
}

func (m *mutant) Update(ctx context.Context, key rmw.Key, fn rmw.UpdateFunc) (rmw.Result, error) {
	return m.update(ctx, key, fn)
}

func (m *mutant) Read(ctx context.Context, key rmw.Key) (rmw.Value, error) { return m.read(ctx, key) }

func (m *mutant) Peek(ctx context.Context, key rmw.Key) (rmw.Value, time.Duration, error) {
	return m.peek(ctx, key)
}

// before is a path that does something before each update. An error ends the update.
func before(do func(ctx context.Context, key rmw.Key) error) *mutant {
	m := newMutant()
	m.update = func(ctx context.Context, key rmw.Key, fn rmw.UpdateFunc) (rmw.Result, error) {
		if err := do(ctx, key); err != nil {
			return rmw.Result{}, &rmw.Error{Path: "mutant", Op: "test", Key: key.Name, Reason: err, Cause: ctx.Err()}
		}
		return m.Memory.Update(ctx, key, fn)
	}
	return m
}

// after is a path that does something after each update, before it answers.
func after(do func(m *mutant, key rmw.Key, res *rmw.Result)) *mutant {
	m := newMutant()
	m.update = func(ctx context.Context, key rmw.Key, fn rmw.UpdateFunc) (rmw.Result, error) {
		res, err := m.Memory.Update(ctx, key, fn)
		if err == nil {
			do(m, key, &res)
		}
		return res, err
	}
	return m
}

// calling is a path that calls another fn.
func calling(wrap func(key rmw.Key, fn rmw.UpdateFunc) rmw.UpdateFunc) *mutant {
	m := newMutant()
	m.update = func(ctx context.Context, key rmw.Key, fn rmw.UpdateFunc) (rmw.Result, error) {
		return m.Memory.Update(ctx, key, wrap(key, fn))
	}
	return m
}

// deciding is a path that changes the results of fn.
func deciding(change func(key rmw.Key, cur, next rmw.Value, err error) (rmw.Value, error)) *mutant {
	return calling(func(key rmw.Key, fn rmw.UpdateFunc) rmw.UpdateFunc {
		return func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
			next, err := fn(ctx, cur)
			return change(key, cur, next, err)
		}
	})
}

// storing is a path that changes the values that it stores.
func storing(change func(v rmw.Value) rmw.Value) *mutant {
	return deciding(func(_ rmw.Key, cur, next rmw.Value, err error) (rmw.Value, error) {
		if err != nil || !next.Exists() || next.Equal(cur) {
			return next, err
		}
		return change(next).WithTTL(next.TTL()), nil
	})
}

// editing is a path that changes the JSON objects that it stores.
func editing(change func(doc map[string]any)) *mutant {
	return storing(func(v rmw.Value) rmw.Value {
		var doc map[string]any
		dec := json.NewDecoder(strings.NewReader(v.Text()))
		dec.UseNumber()
		if dec.Decode(&doc) != nil {
			return v
		}
		change(doc)
		text, err := json.Marshal(doc)
		if err != nil {
			panic(err)
		}
		return rmw.Bytes(text)
	})
}

// keyed is a path that changes the keys.
func keyed(change func(key *rmw.Key)) *mutant {
	m := newMutant()
	m.update = func(ctx context.Context, key rmw.Key, fn rmw.UpdateFunc) (rmw.Result, error) {
		change(&key)
		return m.Memory.Update(ctx, key, fn)
	}
	m.read = func(ctx context.Context, key rmw.Key) (rmw.Value, error) {
		change(&key)
		return m.Memory.Read(ctx, key)
	}
	m.peek = func(ctx context.Context, key rmw.Key) (rmw.Value, time.Duration, error) {
		change(&key)
		return m.Memory.Peek(ctx, key)
	}
	return m
}

func dropsZeroFields() *mutant {
	return editing(func(doc map[string]any) {
		maps.DeleteFunc(doc, func(_ string, v any) bool { return v == json.Number("0") })
	})
}

// delayed is a path that answers an update late.
func delayed(by time.Duration) *mutant {
	return after(func(*mutant, rmw.Key, *rmw.Result) { <-time.After(by) })
}

// startsExpiriesAnew restarts the last expiry of a key on an update that must keep it. It
// remembers only expiries that expiryOf returns.
func startsExpiriesAnew(expiryOf func(key rmw.Key, next rmw.Value) time.Duration) *mutant {
	var given sync.Map
	return deciding(func(key rmw.Key, cur, next rmw.Value, err error) (rmw.Value, error) {
		if err != nil || !next.Exists() {
			return next, err
		}
		if ttl := expiryOf(key, next); ttl != 0 {
			given.Store(key.Name, ttl)
		} else if ttl, ok := given.Load(key.Name); ok && cmp.Or(next.TTL(), key.TTL) == 0 && !next.Equal(cur) {
			next = next.WithTTL(ttl.(time.Duration))
		}
		return next, nil
	})
}

func anyExpiry(key rmw.Key, next rmw.Value) time.Duration { return cmp.Or(next.TTL(), key.TTL) }
func keyExpiry(key rmw.Key, _ rmw.Value) time.Duration    { return key.TTL }
func ownExpiry(_ rmw.Key, next rmw.Value) time.Duration   { return next.TTL() }

// forgetsRefusals succeeds where fn returns an error.
func forgetsRefusals() *mutant {
	return deciding(func(_ rmw.Key, cur, next rmw.Value, err error) (rmw.Value, error) {
		if err != nil {
			return cur, nil
		}
		return next, nil
	})
}

var errOther = errors.New("something went wrong")

// renamesRefusals replaces the errors of fn.
func renamesRefusals() *mutant {
	return deciding(func(_ rmw.Key, _, next rmw.Value, err error) (rmw.Value, error) {
		if err != nil {
			err = errOther
		}
		return next, err
	})
}

// readsLate reads from a replica that is behind.
func readsLate() *mutant {
	var previous sync.Map
	m := after(func(_ *mutant, key rmw.Key, res *rmw.Result) {
		if res.Written {
			previous.Store(key.Name, res.Before)
		}
	})
	m.read = func(ctx context.Context, key rmw.Key) (rmw.Value, error) {
		if v, ok := previous.LoadAndDelete(key.Name); ok { // only the first read is late
			return v.(rmw.Value), nil
		}
		return m.Memory.Read(ctx, key)
	}
	return m
}

// every reports true at each n-th call.
func every(n int64) func() bool {
	var count atomic.Int64
	return func() bool { return count.Add(1)%n == 0 }
}

// losesWrites acknowledges one write in twenty without storing it.
func losesWrites() *mutant {
	m, lost := newMutant(), every(20)
	m.update = func(ctx context.Context, key rmw.Key, fn rmw.UpdateFunc) (rmw.Result, error) {
		_, left, err := m.Get(ctx, key.Name)
		if err != nil {
			return rmw.Result{}, err
		}
		res, err := m.Memory.Update(ctx, key, fn)
		if err == nil && res.Written && lost() {
			err = m.Set(ctx, key.Name, res.Before, left)
		}
		return res, err
	}
	return m
}

// appliesTwice is a client that retries a commit whose reply was lost.
func appliesTwice() *mutant {
	m, lost := newMutant(), every(7)
	m.update = func(ctx context.Context, key rmw.Key, fn rmw.UpdateFunc) (rmw.Result, error) {
		res, err := m.Memory.Update(ctx, key, fn)
		if lost() && err == nil && res.Written {
			if again, errAgain := m.Memory.Update(ctx, key, fn); errAgain == nil {
				return again, nil
			}
		}
		return res, err
	}
	return m
}

// appliesTwiceUnderContention applies an update twice after two failed attempts.
func appliesTwiceUnderContention() *mutant {
	m := newMutant()
	m.update = func(ctx context.Context, key rmw.Key, fn rmw.UpdateFunc) (rmw.Result, error) {
		res, err := m.Memory.Update(ctx, key, func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
			<-time.After(time.Millisecond)
			return fn(ctx, cur)
		})
		if err == nil && res.Attempts > 2 {
			return m.Memory.Update(ctx, key, fn)
		}
		return res, err
	}
	return m
}

// guardedBy reads, waits, and writes if the guard accepts the value read, the value stored
// now, and the next value.
func guardedBy(guard func(read, now, next rmw.Value) bool) *mutant {
	return guardedAt(func(_ int, read, now, next rmw.Value) bool { return guard(read, now, next) })
}

// guardedAt is guardedBy with the number of the attempt.
func guardedAt(guard func(attempt int, read, now, next rmw.Value) bool) *mutant {
	m := newMutant()
	var mu sync.Mutex
	store := func(ctx context.Context, attempt int, name string, read, next rmw.Value, ttl time.Duration) (bool, error) {
		mu.Lock()
		defer mu.Unlock()
		now, left, err := m.Get(ctx, name)
		if err != nil || !guard(attempt, read, now, next) {
			return false, err
		}
		return true, m.Set(ctx, name, next, cmp.Or(ttl, left))
	}
	m.update = func(ctx context.Context, key rmw.Key, fn rmw.UpdateFunc) (rmw.Result, error) {
		for attempt := 1; ; attempt++ {
			cur, _, err := m.Get(ctx, key.Name)
			if err != nil {
				return rmw.Result{}, err
			}
			next, err := fn(ctx, cur)
			if err != nil {
				return rmw.Result{Attempts: attempt}, err
			}
			write, ttl, err := driver.CheckWrite(key, cur, next)
			if err != nil || !write {
				return rmw.Result{Before: cur, After: cur, Attempts: attempt}, err
			}
			<-time.After(time.Millisecond)
			if stored, err := store(ctx, attempt, key.Name, cur, next, ttl); err != nil || stored {
				return rmw.Result{Before: cur, After: next.WithTTL(0), Written: true, Attempts: attempt}, err
			}
		}
	}
	return m
}

// unguarded reads, waits, and writes over any update in between.
func unguarded() *mutant { return guardedBy(func(_, _, _ rmw.Value) bool { return true }) }

// guardsTheBeginning compares the length and the first kilobyte of a value.
func guardsTheBeginning() *mutant {
	beginning := func(v rmw.Value) string {
		var text strings.Builder
		text.WriteString(v.Text())
		for _, name := range slices.Sorted(maps.Keys(v.Fields())) {
			field, _ := v.Field(name)
			fmt.Fprint(&text, name, len(field), field[:min(len(field), 1024)])
		}
		return fmt.Sprint(v.Exists(), len(v.Text()), text.String()[:min(len(text.String()), 1024)])
	}
	return guardedBy(func(read, now, _ rmw.Value) bool { return beginning(read) == beginning(now) })
}

// guardsNoFields guards a hash only if fn read all of its fields.
func guardsNoFields() *mutant {
	m := unguarded()
	rash := m.update
	m.update = func(ctx context.Context, key rmw.Key, fn rmw.UpdateFunc) (rmw.Result, error) {
		if key.Kind != rmw.KindHash {
			return m.Memory.Update(ctx, key, fn)
		}
		res, err := rash(ctx, key, func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
			traced := driver.Traced(cur)
			next, err := fn(ctx, traced)
			if _, partly := driver.Reads(traced, next, err); err == nil && !partly {
				return rmw.Value{}, errOther
			}
			return driver.Untraced(next), err
		})
		if errors.Is(err, errOther) {
			return m.Memory.Update(ctx, key, fn)
		}
		return res, err
	}
	return m
}

// leasesForTooShort has a lock with a lease of 15 ms, and no guard.
func leasesForTooShort() *mutant {
	m := unguarded()
	write := m.update
	var mu sync.Mutex
	leases := map[string]time.Time{}
	take := func(name string) (taken bool) {
		mu.Lock()
		defer mu.Unlock()
		if time.Now().Before(leases[name]) {
			return false
		}
		leases[name] = time.Now().Add(15 * time.Millisecond)
		return true
	}
	m.update = func(ctx context.Context, key rmw.Key, fn rmw.UpdateFunc) (rmw.Result, error) {
		for !take(key.Name) {
			<-time.After(time.Millisecond)
		}
		res, err := write(ctx, key, fn)
		mu.Lock()
		defer mu.Unlock()
		delete(leases, key.Name)
		return res, err
	}
	return m
}

// outlivesItsLease excludes other writers, but one call in five takes longer than its lease
// and writes all the same. In 1,000 runs, that was found 43 times in the median, and at
// least 27 times. (One call in twenty was found 5 times, and in one run of 250 not at all,
// as no other update came between.)
func outlivesItsLease() *mutant {
	m, stalls := unguarded(), every(5)
	rash := m.update
	m.update = func(ctx context.Context, key rmw.Key, fn rmw.UpdateFunc) (rmw.Result, error) {
		if !stalls() {
			return m.Memory.Update(ctx, key, fn)
		}
		return rash(ctx, key, func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
			next, err := fn(ctx, cur)
			<-time.After(10 * time.Millisecond)
			return next, err
		})
	}
	return m
}
