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

// space keeps all keys of a path below the prefix of the rehearsal, including scratch keys like
// "~free:{room:lobby}". It separates both paths, which may share servers. It remembers the keys to
// delete.
type space struct {
	keys

	mu     sync.Mutex
	stored map[string]*updates
}

// updates counts the running updates of a key.
type updates struct {
	n      int
	shared bool // several ran at once, so a delete may not be the last
}

func newSpace(k keys) *space { return &space{keys: k, stored: map[string]*updates{}} }

// within returns store with its keys in the space.
func (s *space) within(store rmw.Store) rmw.Store { return spaced{s, store} }

// left returns the keys that may still exist, with their locks.
func (s *space) left() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var names []string
	for _, name := range slices.Sorted(maps.Keys(s.stored)) {
		names = append(names, name, s.lock(name))
	}
	return names
}

// begin records a key before a command is sent.
func (s *space) begin(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.stored[name]
	if u == nil {
		u = &updates{}
		s.stored[name] = u
	}
	u.n++
	u.shared = u.shared || u.n > 1
}

// end forgets a key that is certainly deleted.
func (s *space) end(name string, deleted bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.stored[name]
	u.n--
	switch {
	case deleted && !u.shared:
		delete(s.stored, name)
	case u.n == 0:
		u.shared = false
	}
}

// spaced is a store in a space. It has no Unwrap, since the inner store has other key names.
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
	s.space.begin(key.Name)
	deleted := false
	defer func() { s.space.end(key.Name, deleted) }()
	res, err := s.inner.Update(ctx, key, fn)
	deleted = err == nil && res.Written && !res.After.Exists()
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
