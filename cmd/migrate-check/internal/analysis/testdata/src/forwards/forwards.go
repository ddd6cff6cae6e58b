// Package forwards sends what it is given.
package forwards

import "github.com/gomodule/redigo/redis"

// Store hides a pool.
type Store struct{ pool *redis.Pool }

// Do sends a command.
func (s *Store) Do(name string, args ...any) (any, error) {
	return s.pool.Get().Do(name, args...)
}

// Key sends a command of a key.
func (s *Store) Key(key, name string) (any, error) { return s.Do(name, key) }
