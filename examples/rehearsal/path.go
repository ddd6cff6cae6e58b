package main

import (
	"cmp"
	"context"
	"io"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/cas"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/driver"
)

// service applies one event to its room, on any path. It returns the number of attempts.
type service func(ctx context.Context, e event) (tries int, err error)

// store is a store of Unwatch.
type store interface {
	rmw.Store
	Close() error
}

// path is one way to update rooms.
type path struct {
	name string
	on   *endpoint
	open func(rdb *redis.Client) store // nil: WATCH by hand
}

// byHand is the unchanged legacy service.
func byHand(on *endpoint) path { return path{name: "WATCH by hand", on: on} }

// onCAS is the service on rmw.Store, with WATCH underneath.
func onCAS(on *endpoint) path {
	return path{"cas", on, func(rdb *redis.Client) store { return cas.New(rdb, cas.Config{}) }}
}

// onLock is the service on lockupdate. Only the store differs.
func onLock(on *endpoint, name string, cfg lockupdate.Config) path {
	cfg.LockName = lockName
	return path{name, on, func(rdb *redis.Client) store { return lockupdate.New(rdb, cfg) }}
}

// onLockOnly is the service on the lock alone.
func onLockOnly(on *endpoint, name string, cfg lockupdate.Config) path {
	cfg.LockName = lockName
	return path{name, on, func(rdb *redis.Client) store { return lockOnly{lockupdate.New(rdb, cfg), rdb} }}
}

// lockName keeps the prefix of a key.
func lockName(key string) string { return key + ":lock" }

// process starts one process of the service.
func (p path) process(t *traffic, prefix string) process {
	rdb := p.on.client(t)
	if p.open == nil {
		return process{legacyChat{rdb, prefix}.apply, t, closing(rdb)}
	}
	s := p.open(rdb)
	return process{newChat(s, prefix).apply, t, closing(s, rdb)} // s waits for releases in flight
}

// closing returns a function that closes all, in order.
func closing(all ...io.Closer) func() {
	return func() {
		for _, c := range all {
			_ = c.Close()
		}
	}
}

// prefixed puts a prefix before every key, also before those that the shadow makes. It has no
// Unwrap, since the inner store has other key names.
type prefixed struct {
	inner  rmw.Store
	prefix string
}

func (s prefixed) with(key rmw.Key) rmw.Key {
	key.Name = s.prefix + key.Name
	return key
}

func (s prefixed) Read(ctx context.Context, key rmw.Key) (rmw.Value, error) {
	return s.inner.Read(ctx, s.with(key))
}

func (s prefixed) Update(ctx context.Context, key rmw.Key, fn rmw.UpdateFunc) (rmw.Result, error) {
	return s.inner.Update(ctx, s.with(key), fn)
}

// Peek implements rmw.Peeker.
func (s prefixed) Peek(ctx context.Context, key rmw.Key) (rmw.Value, time.Duration, error) {
	peeker, _ := rmw.As[rmw.Peeker](s.inner) // each path is one
	return peeker.Peek(ctx, s.with(key))
}

// lockOnly uses the lock as most services do: read and SET while it is held. The SET is not
// guarded, so a process that stalls past its lease overwrites other updates.
type lockOnly struct {
	*lockupdate.Store
	rdb *redis.Client
}

func (s lockOnly) Update(ctx context.Context, key rmw.Key, fn rmw.UpdateFunc) (res rmw.Result, err error) {
	err = s.WithLock(ctx, key.Name, func(context.Context) error { // the inner ctx would end with the lease
		cur, left, err := s.Peek(ctx, key)
		if err != nil {
			return err
		}
		next, err := fn(ctx, cur)
		if err != nil {
			return err
		}
		write, ttl, err := driver.CheckWrite(key, cur, next)
		switch {
		case err != nil || !write:
		case next.Exists(): // a plain SET removes the expiry
			err = s.rdb.Set(ctx, key.Name, next.Text(), max(cmp.Or(ttl, left), 0)).Err()
		default:
			err = s.rdb.Del(ctx, key.Name).Err()
		}
		if err == nil {
			res = rmw.Result{Before: cur, After: next, Written: write, Attempts: 1}
		}
		return err
	})
	if res.Attempts > 0 { // most services ignore the loss of the lock
		err = nil
	}
	return res, err
}
