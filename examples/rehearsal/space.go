package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/unwatch/unwatch/rmw"
)

// space keeps all keys of a path below the rehearsal's prefix, whoever names them: the
// shadow's scratch keys have the name of a key inside of theirs: "~free:{room:lobby}".
// It also keeps the two paths apart, whose keys have the same names, where both stores
// are the same servers. And it remembers what there is to delete.
type space struct {
	keys

	mu     sync.Mutex
	stored map[string]bool
}

func newSpace(k keys) *space { return &space{keys: k, stored: map[string]bool{}} }

// within returns store with its keys in the space.
func (s *space) within(store rmw.Store) rmw.Store { return spaced{s, store} }

// left returns the keys that may still be there, with their locks.
func (s *space) left() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var names []string
	for _, name := range slices.Sorted(maps.Keys(s.stored)) {
		names = append(names, name, s.lock(name))
	}
	return names
}

// touched notes a key before anything is sent, and forgets it when it is known to be
// deleted.
func (s *space) touched(name string, there bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if there {
		s.stored[name] = true
	} else {
		delete(s.stored, name)
	}
}

// spaced is a store in a space. It has no Unwrap: whoever looked through it would take
// one key for another.
type spaced struct {
	space *space
	inner rmw.Store
}

func (s spaced) inside(key rmw.Key) rmw.Key {
	key.Name = s.space.prefix + key.Name
	return key
}

func (s spaced) Read(ctx context.Context, key rmw.Key) (rmw.Value, error) {
	return s.inner.Read(ctx, s.inside(key))
}

func (s spaced) Update(ctx context.Context, key rmw.Key, fn rmw.UpdateFunc) (rmw.Result, error) {
	key = s.inside(key)
	s.space.touched(key.Name, true)
	res, err := s.inner.Update(ctx, key, fn)
	if err == nil && res.Written && !res.After.Exists() {
		s.space.touched(key.Name, false)
	}
	return res, err
}

// Peek implements rmw.Peeker.
func (s spaced) Peek(ctx context.Context, key rmw.Key) (rmw.Value, time.Duration, error) {
	peeker, ok := rmw.As[rmw.Peeker](s.inner)
	if !ok {
		return rmw.Value{}, 0, fmt.Errorf("%w: %T cannot tell expiries", rmw.ErrUnsupported, s.inner)
	}
	return peeker.Peek(ctx, s.inside(key))
}
