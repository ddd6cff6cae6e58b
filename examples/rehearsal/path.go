package main

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/cas"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/rmw"
)

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

// service is the chat service on any path. It returns the number of attempts.
type service interface {
	apply(ctx context.Context, e event) (tries int, err error)
}

// service opens the service with a client.
func (p path) service(rdb *redis.Client, prefix string) (s service, done func()) {
	if p.open == nil {
		return legacyChat{rdb, prefix}, func() {}
	}
	opened := p.open(rdb)
	return newChat(prefixed{opened, prefix}), func() { _ = opened.Close() } // waits for releases in flight
}

// process starts one process of the service.
func (p path) process(t *traffic, prefix string) process {
	rdb := p.on.client(t)
	s, done := p.service(rdb, prefix)
	return process{s, t, func() {
		done()
		_ = rdb.Close()
	}}
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
	peeker, ok := rmw.As[rmw.Peeker](s.inner)
	if !ok {
		return rmw.Value{}, 0, fmt.Errorf("%w: %T cannot tell expiries", rmw.ErrUnsupported, s.inner)
	}
	return peeker.Peek(ctx, s.with(key))
}
