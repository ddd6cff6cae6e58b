package values

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/unwatch/unwatch/internal/seal"
	"github.com/unwatch/unwatch/rmw"
)

// ErrSealed is the error of a key that other processes update together with others so often that a guarded commit hardly
// ever finds it open: it must be sealed to be updated.
var ErrSealed = fmt.Errorf("%w: updates of several keys seal it all the time", rmw.ErrContended)

const (
	// oftenMet is how many seals of a key a Store meets, with less than metWithin between two, until ErrSealed.
	oftenMet  = 4
	metWithin = time.Second
	// maxMet bounds the memory for keys with seals.
	maxMet = 4096
)

// metSeals counts the seals that writers of keys have met.
type metSeals struct {
	tell func(ctx context.Context, key rmw.Key, took time.Duration)

	mu    sync.Mutex
	byKey map[string]meetings
}

type meetings struct {
	n    int
	last time.Time
}

// often counts a seal, and reports whether the key has often had one.
func (m *metSeals) often(key string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	k, now := m.byKey[key], time.Now()
	if now.Sub(k.last) > metWithin {
		k.n = 0
	}
	if m.byKey == nil || len(m.byKey) >= maxMet {
		m.byKey = map[string]meetings{}
	}
	k.n, k.last = k.n+1, now
	m.byKey[key] = k
	return k.n >= oftenMet
}

// ReadOpen reads a value to write the key. It waits for the end of an update of several keys that has sealed the key. If it
// has met seals often, the error is ErrSealed.
func (s *Values) ReadOpen(ctx context.Context, key rmw.Key) (v rmw.Value, err error) {
	for {
		if v, err = s.read(ctx, key); !s.mayBeSealed(err) {
			return v, err
		}
		switch sealed, err := s.Resolve(ctx, key); {
		case err != nil:
			return rmw.Value{}, err
		case sealed && s.met.often(key.Name):
			return rmw.Value{}, ErrSealed
		}
	}
}

// Resolve returns when the key is open, and reports whether it had a seal. If the key holds another type, that is the error.
func (s *Values) Resolve(ctx context.Context, key rmw.Key) (sealed bool, err error) {
	m, err := seal.LookAt(ctx, s, key.Name)
	switch {
	case err != nil:
		return false, err
	case m.State == "open":
		return false, m.Holds(key.Kind)
	}
	return true, s.End(ctx, key, m)
}

// End returns when the key no longer has the seal.
func (s *Values) End(ctx context.Context, key rmw.Key, m seal.Met) error {
	began := time.Now()
	_, err := seal.Resolve(ctx, s, key.Name, m)
	if err == nil || errors.Is(err, ctx.Err()) {
		s.met.tell(ctx, key, time.Since(began))
	}
	return err
}
