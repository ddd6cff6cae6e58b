package lockupdate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/lockupdate/internal/driver"
	"github.com/unwatch/unwatch/lockupdate/internal/transport"
	"github.com/unwatch/unwatch/rmw"
)

// Probe finds out by trying what Config.Commit to use with the store behind rdb: the
// first of [CommitGuarded], [CommitIFEQ], [CommitDELIFEQ], [CommitVX] and [CommitCAS]
// that does all that a [Store] needs, refuses changed values, and leaves the
// right expiries. It writes a key of its own, "/probe/" and a UUID, and its lock;
// it deletes them, or they expire within ten seconds where a Commit does not work. It
// takes some twenty round trips for each Commit it tries.
//
// All processes of a service must use the same Commit. So probe when you set up a
// service, or at its start to compare with the configured one, rather than to choose
// anew in each process.
//
// The error is rmw.ErrUnsupported, with the fault of each, if none works; or
// the reason why the store cannot be asked, for instance rmw.ErrUnavailable.
func Probe(ctx context.Context, rdb Commands) (Commit, error) {
	var reasons []error
	for _, c := range []Commit{CommitGuarded, CommitIFEQ, CommitDELIFEQ, CommitVX, CommitCAS} {
		key := rmw.Key{Name: "/probe/" + uuid.NewString()}
		err := probe(ctx, rdb, c, key)
		if err == nil {
			return c, nil
		}
		err = driver.Fail("probe", key, 0, redisx.Blame(ctx, err))
		if !errors.Is(err, rmw.ErrUnsupported) && !refusal(err) {
			return 0, fmt.Errorf("with Commit%v: %w", c, err)
		}
		reasons = append(reasons, fmt.Errorf("with Commit%v: %w", c, err))
	}
	return 0, fmt.Errorf("lockupdate: probe: %w: no way to write under a guard works here:\n%s",
		rmw.ErrUnsupported, errors.Join(reasons...).Error()) // as text: theirs are not the reason
}

// errDeviates is a store that answers, but not as it should.
var errDeviates = fmt.Errorf("%w: the store does not do as it should", rmw.ErrUnsupported)

// refusal reports whether a store answered with an error of which more tries would not
// change anything: some say in words of their own that they do not know a command.
func refusal(err error) bool {
	var reply redis.Error
	return errors.As(err, &reply) && !redisx.MeaningOf(err).Temporary()
}

func probe(ctx context.Context, rdb Commands, c Commit, key rmw.Key) error {
	s := New(rdb, Config{Commit: c, NoBreaker: true})
	if err := s.begin(ctx, key); err != nil {
		return err
	}
	err := s.tryCommits(ctx, key)
	if err != nil {
		s.tidy(ctx, key)
	}
	s.gate.Leave()
	if err == nil {
		err = s.tryLocks(ctx, key.Name)
	}
	return errors.Join(err, s.Close())
}

const probeTTL = 10 * time.Second

// about reports whether a server that was told of an expiry, a moment ago, counts it in
// the same unit as we.
func about(left, told time.Duration) bool { return told-2*time.Second < left && left <= told }

// tidy deletes the key, as far as it can: it may have no expiry just then.
func (s *Store) tidy(ctx context.Context, key rmw.Key) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	if v, err := s.values.Read(ctx, key); err == nil && v.Exists() {
		_, _ = s.values.Commit(ctx, driver.CommitRequest{Key: key, Base: v})
	}
}

// tryCommits has the key written as a Store would.
func (s *Store) tryCommits(ctx context.Context, key rmw.Key) error {
	a, b, empty, none := rmw.String("a"), rmw.String("b"), rmw.String(""), rmw.Value{}
	for _, step := range []struct {
		cur, next rmw.Value
		ttl       time.Duration
		stored    bool
		now       rmw.Value // the present value, if it was not
		expires   bool      // afterwards
	}{
		{cur: none, next: a, ttl: probeTTL, stored: true, expires: true},
		{cur: b, next: empty, now: a, expires: true},
		{cur: none, next: b, now: a, expires: true},
		{cur: b, next: none, now: a, expires: true},
		{cur: a, next: b, stored: true, expires: true},
		{cur: b, next: empty, ttl: rmw.NoTTL, stored: true},
		{cur: empty, next: b, ttl: probeTTL, stored: true, expires: true},
		{cur: b, next: none, stored: true},
		{cur: a, next: b, now: none},
	} {
		res, err := s.values.Commit(ctx, driver.CommitRequest{Key: key, Base: step.cur, Next: step.next, TTL: step.ttl})
		if err != nil {
			return err
		}
		if res.Stored != step.stored || !res.Stored && !res.Now.Equal(step.now) {
			return fmt.Errorf("%w: writing %v over %v, which the key held: %t; was done: %t",
				errDeviates, step.next, step.cur, step.stored, res.Stored)
		}
		if s.cfg.Commit == CommitGuarded {
			continue // its scripts are all ours
		}
		left, _, err := s.values.Expiry(ctx, key, 0)
		if err != nil {
			return err
		}
		if left > 0 != step.expires || step.expires && !about(left, probeTTL) {
			return fmt.Errorf("%w: written with a TTL of %v (0: the one it had), the key expires in %v", errDeviates, step.ttl, left)
		}
	}
	return nil
}

// tryLocks has a lock taken, refused, renewed and given back.
func (s *Store) tryLocks(ctx context.Context, name string) error {
	other := New(s.rdb, s.cfg)
	err := s.WithLock(ctx, name, func(ctx context.Context) error {
		err := other.TryLock(ctx, name, func(context.Context) error { return nil })
		if !errors.Is(err, rmw.ErrContended) {
			return errors.Join(fmt.Errorf("%w: a lock that is held was taken", errDeviates), err)
		}
		h, err := s.Inspect(ctx, name)
		if err == nil && (!h.Held || !about(h.Left, s.cfg.Lease)) {
			err = fmt.Errorf("%w: a lock that is held shows as %+v", errDeviates, h)
		}
		return err
	})
	if err = errors.Join(err, other.Close()); err != nil {
		return err
	}
	// Renewing a lock that is gone must not make it.
	if err := s.begin(ctx, rmw.Key{Name: name}); err != nil {
		return err
	}
	defer s.gate.Leave()
	lock := s.cfg.LockName(name)
	c := s.transport.Driver.Renew(lock, driver.NewOwnerIDs().Name(1), s.cfg.Lease)
	if err := s.transport.Do(ctx, new(transport.Outage), c); err != nil {
		return err
	}
	held, _, err := s.transport.Driver.Owned(c)
	if err == nil && held {
		err = fmt.Errorf("%w: a lock that is gone was renewed", errDeviates)
	}
	return err
}
