package shadow_test

import (
	"context"
	"maps"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/unwatch/unwatch/rmw"
)

// probedFaults are found by the probes of the free run only.
func probedFaults() []fault {
	return []fault{
		{"takes an equal write for its own", "free lost_update ", guardedBy(func(read, now, next rmw.Value) bool {
			return now.Equal(read) || now.Equal(next)
		})},
		{"guards empty as absent", "free lost_update ", guardedBy(func(read, now, _ rmw.Value) bool {
			return now.Equal(read) || now.Len()+read.Len() == 0 && now.Text() == read.Text()
		})},
		{"guards no added field", "free lost_update ", guardedBy(func(read, now, _ rmw.Value) bool {
			return now.Equal(read) || read.Len() > 0 && now.WithFields(read.Fields()).Equal(now)
		})},
		{"guards an empty field as none", "free lost_update ", guardedBy(func(read, now, _ rmw.Value) bool {
			return withoutEmpty(read).Equal(withoutEmpty(now))
		})},
		{"forces its tenth attempt", "free lost_update ", guardedAt(func(attempt int, read, now, _ rmw.Value) bool {
			return attempt >= 10 || now.Equal(read)
		})},
		{"shows an expired value for a second", "free ttl ", showsExpired(true)},
		{"gives an expired value to fn", "free ttl ", showsExpired(false)},
		{"stays locked after a panic", "free error_class ", staysLocked(true)},
		{"stays locked, and ignores ctx", "free error_class ", staysLocked(false)},
		{"answers with an earlier error", "free error_class ", answersEarlierErrors()},
		{"leaks a goroutine", "free error_class ", after(func(*mutant, rmw.Key, *rmw.Result) { go pass(time.Hour) })},
		{"rounds expiries to minutes", "free ttl ", roundsExpiries(time.Minute)},
		{"tells the first value as the one before", "free value ", tellsFirst()},
		{"counts too many attempts", "free value ", after(func(_ *mutant, _ rmw.Key, res *rmw.Result) { res.Attempts++ })},
	}
}

func withoutEmpty(v rmw.Value) rmw.Value {
	if v.Kind() != rmw.KindHash {
		return v
	}
	return v.Edit(func(fields map[string]string) {
		maps.DeleteFunc(fields, func(_, value string) bool { return value == "" })
	}).WithTTL(0)
}

// showsExpired is a path that shows an expired value for another second: to reads, or to updates.
func showsExpired(toReads bool) *mutant {
	type known struct {
		v   rmw.Value
		end time.Time
	}
	var all sync.Map
	m := newMutant()
	expired := func(name string) (rmw.Value, bool) {
		last, ok := all.Load(name)
		if !ok || time.Since(last.(known).end) > time.Second {
			return rmw.Value{}, false
		}
		return last.(known).v, true
	}
	if toReads {
		m.read = func(ctx context.Context, key rmw.Key) (rmw.Value, error) {
			v, err := m.Memory.Read(ctx, key)
			if old, ok := expired(key.Name); err == nil && ok && !v.Exists() {
				v = old
			}
			return v, err
		}
	}
	m.update = func(ctx context.Context, key rmw.Key, fn rmw.UpdateFunc) (rmw.Result, error) {
		res, err := m.Memory.Update(ctx, key, func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
			if old, ok := expired(key.Name); ok && !toReads && !cur.Exists() {
				cur = old
			}
			return fn(ctx, cur)
		})
		all.Delete(key.Name)
		if v, left, errNow := m.Get(ctx, key.Name); errNow == nil && v.Exists() && left > 0 {
			all.Store(key.Name, known{v, time.Now().Add(left)})
		}
		return res, err
	}
	return m
}

// staysLocked has a lock of each key, which a panic of fn leaves locked.
func staysLocked(heedsCtx bool) *mutant {
	var locks sync.Map
	m := newMutant()
	m.update = func(ctx context.Context, key rmw.Key, fn rmw.UpdateFunc) (rmw.Result, error) {
		for wait := time.Millisecond; ; wait *= 2 {
			if _, taken := locks.LoadOrStore(key.Name, true); !taken {
				break
			}
			if heedsCtx && ctx.Err() != nil || wait > time.Hour { // at the latest, at the end of the test
				return rmw.Result{}, &rmw.Error{Path: "mutant", Op: "lock", Key: key.Name, Reason: rmw.ErrContended, Cause: ctx.Err()}
			}
			<-time.After(wait)
		}
		res, err := m.Memory.Update(ctx, key, fn)
		locks.Delete(key.Name)
		return res, err
	}
	return m
}

// answersEarlierErrors returns an error of fn to all updates of the key within 100 ms.
func answersEarlierErrors() *mutant {
	type failure struct {
		err error
		at  time.Time
	}
	var all sync.Map
	m := newMutant()
	m.update = func(ctx context.Context, key rmw.Key, fn rmw.UpdateFunc) (rmw.Result, error) {
		if last, ok := all.Load(key.Name); ok && time.Since(last.(failure).at) < 100*time.Millisecond {
			return rmw.Result{}, last.(failure).err
		}
		res, err := m.Memory.Update(ctx, key, fn)
		if err != nil {
			all.Store(key.Name, failure{err, time.Now()})
		}
		return res, err
	}
	return m
}

// roundsExpiries rounds expiries up.
func roundsExpiries(to time.Duration) *mutant {
	round := func(d time.Duration) time.Duration {
		if d > 0 {
			d = (d + to - 1).Truncate(to)
		}
		return d
	}
	m := newMutant()
	m.update = func(ctx context.Context, key rmw.Key, fn rmw.UpdateFunc) (rmw.Result, error) {
		key.TTL = round(key.TTL)
		return m.Memory.Update(ctx, key, func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
			next, err := fn(ctx, cur)
			return next.WithTTL(round(next.TTL())), err
		})
	}
	return m
}

// tellsFirst has the value of the first attempt in Result.Before.
func tellsFirst() *mutant {
	m := guardedBy(func(read, now, _ rmw.Value) bool { return now.Equal(read) })
	inner := m.update
	m.update = func(ctx context.Context, key rmw.Key, fn rmw.UpdateFunc) (rmw.Result, error) {
		var first *rmw.Value
		res, err := inner(ctx, key, func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
			if first == nil {
				first = &cur
			}
			return fn(ctx, cur)
		})
		if err == nil && first != nil {
			res.Before = *first
		}
		return res, err
	}
	return m
}

// twice calls fn twice in each attempt, as the contract permits.
func twice() *mutant {
	return calling(func(_ rmw.Key, fn rmw.UpdateFunc) rmw.UpdateFunc {
		return func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
			_, _ = fn(ctx, cur)
			return fn(ctx, cur)
		}
	})
}

// elsewhere runs fn on a goroutine of its own, where a panic would end the process.
func elsewhere() *mutant {
	return calling(func(_ rmw.Key, fn rmw.UpdateFunc) rmw.UpdateFunc {
		return func(ctx context.Context, cur rmw.Value) (next rmw.Value, err error) {
			done := make(chan struct{})
			go func() {
				defer close(done)
				next, err = fn(ctx, cur)
			}()
			<-done
			return next, err
		}
	})
}

// refusesBinary refuses texts that are not UTF-8, and those with a NUL.
func refusesBinary() *mutant {
	return deciding(func(_ rmw.Key, _, next rmw.Value, err error) (rmw.Value, error) {
		if err == nil && (!utf8.ValidString(next.Text()) || strings.Contains(next.Text(), "\x00")) {
			err = rmw.ErrInvalid
		}
		return next, err
	})
}
