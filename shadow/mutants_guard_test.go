package shadow_test

import (
	"cmp"
	"context"
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

// unguarded reads, waits, and writes over any update in between.
func unguarded() *mutant {
	return guardedBy(func(_, _, _ rmw.Value) bool { return true })
}

// guardedBy reads, waits, and writes if the guard accepts the value read, the value stored
// now, and the next value.
func guardedBy(guard func(read, now, next rmw.Value) bool) *mutant {
	m := &mutant{Memory: rmwtest.NewMemory()}
	var mu sync.Mutex
	store := func(ctx context.Context, name string, read, next rmw.Value, ttl time.Duration) (bool, error) {
		mu.Lock()
		defer mu.Unlock()
		now, left, err := m.Get(ctx, name)
		if err != nil || !guard(read, now, next) {
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
			if stored, err := store(ctx, key.Name, cur, next, ttl); err != nil || stored {
				return rmw.Result{Before: cur, After: next.WithTTL(0), Written: true, Attempts: attempt}, err
			}
		}
	}
	return m
}

// deletesUnguarded guards its writes but not its deletes.
func deletesUnguarded() *mutant {
	return guardedBy(func(read, now, next rmw.Value) bool { return !next.Exists() || now.Equal(read) })
}

// startsExpiriesAnew restarts the last expiry of a key on an update that must keep it.
func startsExpiriesAnew() *mutant {
	var given sync.Map
	return deciding(func(key rmw.Key, cur, next rmw.Value, err error) (rmw.Value, error) {
		if err != nil || !next.Exists() {
			return next, err
		}
		if ttl := cmp.Or(next.TTL(), key.TTL); ttl != 0 {
			given.Store(key.Name, ttl)
			return next, nil
		}
		if ttl, ok := given.Load(key.Name); ok && !next.Equal(cur) {
			return next.WithTTL(ttl.(time.Duration)), nil
		}
		return next, nil
	})
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

// losesWrites acknowledges one write in twenty without storing it.
func losesWrites() *mutant {
	var count atomic.Int64
	return updating(func(ctx context.Context, m *mutant, key rmw.Key, fn rmw.UpdateFunc) (rmw.Result, error) {
		_, left, err := m.Get(ctx, key.Name)
		if err != nil {
			return rmw.Result{}, err
		}
		res, err := m.Memory.Update(ctx, key, fn)
		if err == nil && res.Written && count.Add(1)%20 == 0 {
			err = m.Set(ctx, key.Name, res.Before, left)
		}
		return res, err
	})
}

// evicts removes one key in twenty right after its write.
func evicts() *mutant {
	var count atomic.Int64
	return after(func(m *mutant, key rmw.Key, res rmw.Result) {
		if res.Written && count.Add(1)%20 == 0 {
			_ = m.Set(context.Background(), key.Name, rmw.Value{}, 0)
		}
	})
}
