// Package values reads and writes the values of keys through a transport: reads, guarded commits, expiries
// and the counters of fencing tokens.
package values

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/internal/seal"
	"github.com/unwatch/unwatch/lockupdate/internal/driver"
	"github.com/unwatch/unwatch/lockupdate/internal/transport"
	"github.com/unwatch/unwatch/rmw"
)

// Values are the values of one Store. They are safe for concurrent use.
type Values struct {
	transport   *transport.Transport
	maxAttempts int
	met         metSeals
}

// New returns the Values that a transport reaches. A Peek or a token without Lua starts again up to
// maxAttempts times. sealed is told for how long a writer has waited for the end of an update that has sealed its key.
func New(t *transport.Transport, maxAttempts int, sealed func(ctx context.Context, key rmw.Key, took time.Duration)) *Values {
	return &Values{transport: t, maxAttempts: maxAttempts, met: metSeals{tell: sealed}}
}

// Read reads a value. Of a key with a seal it reads the value that the seal, or the decision of its update, has.
func (s *Values) Read(ctx context.Context, key rmw.Key) (v rmw.Value, err error) {
	for {
		if v, err = s.read(ctx, key); !s.mayBeSealed(err) {
			return v, err
		}
		if shown, open, err := seal.Shown(ctx, s, key); err != nil || !open {
			return shown, err
		}
	}
}

func (s *Values) mayBeSealed(err error) bool {
	return err != nil && driver.MayBeSealed(err) && s.transport.Driver.Seals() == nil
}

// Send implements [seal.Sender].
func (s *Values) Send(ctx context.Context, calls ...*seal.Call) error {
	cmds := make([]*driver.Command, len(calls))
	for i, c := range calls {
		cmds[i] = driver.CommandOf(c)
	}
	_, err := s.transport.Query(ctx, func() (lost error) {
		for i, c := range calls {
			if c.Reply, c.Err = cmds[i].Answer(); redisx.OutcomeOf(c.Err) == redisx.Unknown {
				lost = c.Err
			}
		}
		return lost
	}, cmds...)
	return err
}

func (s *Values) read(ctx context.Context, key rmw.Key) (v rmw.Value, err error) {
	c := s.transport.Driver.Read(key)
	_, err = s.transport.Query(ctx, func() (err error) {
		v, err = s.transport.Driver.Value(key.Kind, c)
		return err
	}, c)
	return v, err
}

// ReadAndLook reads a value, and reports whether the lock is held, in one flush. A proxy may
// ask a replica whether the lock is held, or run the commands in any order.
func (s *Values) ReadAndLook(ctx context.Context, key rmw.Key, lock string) (v rmw.Value, held bool, err error) {
	read, exists := s.transport.Driver.Read(key), s.transport.Driver.Exists(lock)
	_, err = s.transport.Query(ctx, func() (err error) {
		n, errLook := exists.Integer()
		if v, err = s.transport.Driver.Value(key.Kind, read); err == nil {
			held, err = n > 0, errLook
		}
		return err
	}, read, exists)
	if s.mayBeSealed(err) {
		v, err = s.ReadOpen(ctx, key)
		n, errLook := exists.Integer()
		return v, n > 0, cmp.Or(err, errLook)
	}
	return v, held, err
}

// Peek reads a value and how long it has left. Without Lua it asks for the expiry between
// two reads: it is that of the value which both show. Each command waits for the reply to
// the one before it, since a proxy may run a pipeline in any order.
func (s *Values) Peek(ctx context.Context, key rmw.Key) (v rmw.Value, left time.Duration, err error) {
	if c := s.transport.Driver.Peek(key); c != nil {
		_, err = s.transport.Query(ctx, func() (err error) {
			v, left, err = s.transport.Driver.Peeked(key.Kind, c)
			return err
		}, c)
		if s.mayBeSealed(err) {
			if _, err = s.Resolve(ctx, key); err == nil {
				return s.Peek(ctx, key)
			}
		}
		return v, left, err
	}
	before, err := s.Read(ctx, key)
	for attempt := 1; err == nil && before.Exists(); attempt++ {
		ms, _, errTTL := s.pttl(ctx, key)
		if errTTL != nil {
			return rmw.Value{}, 0, errTTL
		}
		var now rmw.Value
		switch now, err = s.Read(ctx, key); {
		case err != nil:
		case ms != -2 && now.Equal(before):
			left, _ = redisx.Left(ms)
			return now, left, nil
		case attempt >= s.maxAttempts:
			err = fmt.Errorf("%w: it changed %d times while its expiry was asked for", rmw.ErrContended, attempt)
		}
		before = now
	}
	return rmw.Value{}, 0, err
}

// pttl asks for the expiry of a key, in milliseconds, and returns when it asked.
func (s *Values) pttl(ctx context.Context, key rmw.Key) (ms int64, sent time.Time, err error) {
	c := driver.PTTL(key.Name)
	sent, err = s.transport.Query(ctx, func() (err error) {
		ms, err = c.Integer()
		return err
	}, c)
	return ms, sent, err
}

// Commit writes a value if the key still holds the base of the request, as soon as the store
// can be reached. If the key holds something else, Now of the result is that. An error
// means that nothing was written, unless it is an rmw.ErrOutcomeUnknown.
func (s *Values) Commit(ctx context.Context, r driver.CommitRequest) (res driver.CommitResult, err error) {
	err = s.transport.UntilReached(ctx, func() error {
		res, err = s.CommitOnce(ctx, r)
		return err
	})
	return res, err
}

// CommitOnce is Commit that does not wait for the end of an outage. It sends other
// commands in the same flush.
//
// A commit is sent once. Without a reply, a command may run later, when a proxy gets
// to it; a second commit could be acknowledged now, and the first would still pass the
// guard once the value is back at Base.
func (s *Values) CommitOnce(ctx context.Context, r driver.CommitRequest, also ...*driver.Command) (res driver.CommitResult, err error) {
	if !r.Base.Exists() && !r.Next.Exists() {
		res.Now, err = s.Read(ctx, r.Key)
		res.Stored = err == nil && !res.Now.Exists()
		return res, err
	}
	if kept, unit := s.transport.Driver.Expiries(); r.TTL == 0 && r.Base.Exists() && r.Next.Exists() && !kept {
		// The commit must set the expiry. That costs a round trip, and undoes a change of the expiry
		// by another program meanwhile.
		var gone bool
		if r.Remaining, gone, err = s.Expiry(ctx, r.Key, unit); err == nil && gone {
			res.Now, err = s.Read(ctx, r.Key)
		}
		if err != nil || gone {
			return res, err
		}
	}
	c, err := s.transport.Driver.Commit(r)
	if err != nil {
		return driver.CommitResult{}, err
	}
	if err = s.transport.Once(ctx, c, also...); err != nil {
		return driver.CommitResult{}, err
	}
	res, err = s.transport.Driver.Committed(r.Key.Kind, c)
	switch {
	case redisx.OutcomeOf(err) == redisx.Unknown:
		return driver.CommitResult{}, redisx.Because(rmw.ErrOutcomeUnknown, errors.Join(ctx.Err(), err))
	case err == nil && !res.Stored && !res.Known:
		res.Now, err = s.ReadOpen(ctx, r.Key)
	}
	return res, err
}

// Expiry returns the expiry that a commit must set so that the key expires at the same time as before: 0 for
// never. If the key is gone, nothing may be written: it could come back meanwhile, with
// another expiry.
func (s *Values) Expiry(ctx context.Context, key rmw.Key, unit time.Duration) (left time.Duration, gone bool, err error) {
	ms, sent, err := s.pttl(ctx, key)
	left = time.Duration(ms) * time.Millisecond
	switch {
	case err != nil:
		return 0, false, err
	case ms == -2:
		return 0, true, nil
	case ms < 0:
		return 0, false, nil
	case ms == 0:
		// Its last moment, of up to a second. Written again it would have another one.
		return 0, true, redisx.Sleep(ctx, unit)
	case left%time.Second != 0: // else the server counts in seconds, and none has passed
		// The expiry has run since it was read. The commit is in flight for about as long.
		left -= time.Since(sent)
	}
	return max(left, time.Millisecond), false, nil
}

// Token draws the next fencing token from a counter. The token is at least least.
func (s *Values) Token(ctx context.Context, counter string, least int64, ttl time.Duration) (uint64, error) {
	c := s.transport.Driver.Token(counter, least, ttl)
	if c == nil {
		return s.tokenByCommit(ctx, rmw.Key{Name: counter, TTL: ttl}, uint64(least))
	}
	if err := s.transport.Do(ctx, new(transport.Outage), c); err != nil {
		return 0, err
	}
	text, err := c.Text()
	if err != nil {
		return 0, err
	}
	token, err := strconv.ParseUint(text, 10, 64)
	if err != nil || token == 0 {
		return 0, c.Unexpected()
	}
	return token, nil
}

// tokenByCommit draws a token without Lua. It contends only with other holders of the lock.
func (s *Values) tokenByCommit(ctx context.Context, counter rmw.Key, least uint64) (uint64, error) {
	last, err := s.Read(ctx, counter)
	for try := 0; err == nil && try < s.maxAttempts; try++ {
		n, _ := strconv.ParseUint(last.Text(), 10, 64)
		token := max(n+1, least)
		var res driver.CommitResult
		res, err = s.Commit(ctx, driver.CommitRequest{
			Key: counter, Base: last, Next: rmw.String(strconv.FormatUint(token, 10)), TTL: counter.TTL,
		})
		if res.Stored {
			return token, nil
		}
		last = res.Now
	}
	var own *rmw.Error
	if errors.Is(err, rmw.ErrOutcomeUnknown) && errors.As(err, &own) {
		// Only the counter is in doubt, not the value.
		if err = ctx.Err(); err == nil {
			err = redisx.Because(rmw.ErrUnavailable, own.Cause)
		}
	}
	if err == nil {
		err = rmw.ErrContended
	}
	return 0, err
}
