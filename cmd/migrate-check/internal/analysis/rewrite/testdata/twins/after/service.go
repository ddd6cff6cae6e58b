// Package after is the rewritten package before. A test writes it.
package after

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/rmw"
)

// Input holds the arguments of a function.
type Input struct {
	Text  string
	N     int
	TTL   time.Duration
	Field string
}

// ErrRefused is an error of the functions themselves.
var ErrRefused = errors.New("refused")

// ErrConflict is returned by a function that gives up after conflicts.
var ErrConflict = errors.New("conflict")

// Service has a client, as services do, and a store since its migration has begun.
type Service struct {
	rdb   *redis.Client
	store rmw.Store
	last  []string
}

// New returns one.
func New(rdb *redis.Client, store rmw.Store) *Service { return &Service{rdb, store, nil} }

// Func is a function of a service.
type Func func(ctx context.Context, key string, in Input) error

// Funcs are all, by their name.
func (s *Service) Funcs() map[string]Func {
	return map[string]Func{
		"increment":   s.increment,
		"addFloat":    s.addFloat,
		"appendText":  s.appendText,
		"bytesKept":   s.bytesKept,
		"claim":       s.claim,
		"take":        s.take,
		"expiring":    s.expiring,
		"dynamic":     s.dynamic,
		"unsigned":    s.unsigned,
		"retried":     s.retried,
		"field":       s.field,
		"fields":      s.fields,
		"dropField":   s.dropField,
		"lookAll":     s.lookAll,
		"singlePiped": s.singlePiped,
		"outside":     s.outside,
		"limited":     s.limited,
		"unlimited":   s.unlimited,
		"once":        s.once,
		"scanned":     s.scanned,
		"dated":       s.dated,
		"counts":      s.counts,
	}
}
