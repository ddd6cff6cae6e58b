package lockupdate

import (
	"context"
	"time"

	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/rmw"
)

// Holder is who has a lock, for operators. The zero Holder is nobody.
type Holder struct {
	// Owner is "unwatch:id:time" for a Store, whose id is the same for all that it
	// holds. Other programs of the same layout use other names.
	Owner string
	// Count is how often the owner has taken the lock. A Store counts in memory,
	// so it is always 1 there.
	Count int
	// TTL is what is left of the lease; negative: it does not end.
	TTL time.Duration
	// Age is for how long the owner has had the lock, by our clock and its own,
	// if it is a Store; 0: not known.
	Age time.Duration
	// Waited reports whether another process waits for it.
	Waited bool
}

// Inspect tells who holds the lock of name, with one round trip. What it says may be
// over by the time it is read, and older without Lua, if a proxy reads from replicas.
func (s *Store) Inspect(ctx context.Context, name string) (Holder, error) {
	key := rmw.Key{Name: name}
	if err := s.begin(ctx, key); err != nil {
		return Holder{}, fail("inspect", key, 0, err)
	}
	defer s.gate.Leave()
	lock, err := s.lockName(name)
	if err != nil {
		return Holder{}, fail("inspect", key, 0, err)
	}
	calls := s.dialect.inspect(lock)
	if err = s.run(ctx, new(outage), calls...); err == nil {
		var h Holder
		if h, err = s.dialect.holder(lock, calls, time.Now()); err == nil {
			return h, nil
		}
	}
	return Holder{}, fail("inspect", key, 0, redisx.Blame(ctx, err))
}
