package lockupdate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/unwatch/unwatch/internal/redisx"
)

// releaseLater releases the lock on a goroutine of its own, once ready returns. If
// there is a ghost, it looks again, until a lease after that was sent: an acquire
// that a proxy executes late takes the lock for an owner that is gone.
func (s *Store) releaseLater(ctx context.Context, lock, owner string, ghost time.Time, ready func()) {
	landed := make(chan struct{})
	s.mu.Lock()
	s.releasing[lock] = landed
	s.mu.Unlock()
	s.gate.Go(func() {
		ready()
		ctx := context.WithoutCancel(ctx)
		err := s.release(ctx, lock, owner)
		s.mu.Lock()
		if err != nil && s.gate.Closed() {
			s.unreleased = errors.Join(s.unreleased, fmt.Errorf("lockupdate: the lock %.128q is not released and ends with its lease, within %v: %w",
				lock, s.cfg.Lease, err))
		}
		if s.releasing[lock] == landed {
			delete(s.releasing, lock)
		}
		s.mu.Unlock()
		close(landed)
		for d := s.cfg.Lease / 16; time.Since(ghost) < s.cfg.Lease && s.open(d); d *= 2 {
			_ = s.release(ctx, lock, owner)
		}
	})
}

// open waits for d and reports whether the Store is still open.
func (s *Store) open(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-s.gate.Closing:
		return false
	}
}

// release asks until it is answered, a few times at most; after that the lock
// ends with its lease. The script touches only its own owner's lock, so asking
// twice is harmless.
func (s *Store) release(ctx context.Context, lock, owner string) error {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Lease)
	defer cancel()
	for try := 1; ; try++ {
		c := releaseScript.on(lock, owner)
		s.sendUnattended(ctx, c)
		_, err := c.number()
		if redisx.OutcomeOf(err) == redisx.Done || try == tries || s.pause(ctx, try) != nil {
			return err
		}
	}
}
