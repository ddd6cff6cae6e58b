package lockupdate

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/rmw"
)

// Token returns the fencing token of the lock that ctx holds: within the function of
// an Update or WithLock, or with a [Lock.Context]. Whoever gets the lock later gets a
// greater token, so that a store that remembers the greatest token it has seen, and
// refuses smaller ones, is safe from a holder that stalled past its lease: for
// instance a SQL table with
//
//	UPDATE rooms SET state = $1, token = $2 WHERE id = $3 AND token <= $2
//
// What was computed from a row that was read under the lock needs the read to raise
// the token as well, or a late write could come between another's read and write:
//
//	UPDATE rooms SET token = $1 WHERE id = $2 AND token <= $1 RETURNING state
//
// Updates and sections of one Store that follow each other without giving the lock
// back have the same token; they are in order anyway. What Update itself writes is
// guarded and needs none.
//
// The first call under a lock costs one round trip and one command on a key of its
// own, "/fence" before the lock's name; who never asks pays nothing. The key goes
// when no token was drawn for a week. After that, and after a failover that forgot it,
// tokens go on from the clock in microseconds; they would fall back only if at the
// same time the clock of the next holder was behind the last token.
//
// The error is rmw.ErrInvalid if ctx holds no lock, rmw.ErrLockLost if the lock could
// have ended before the token was drawn, or that of a command that failed.
func Token(ctx context.Context) (uint64, error) {
	turn, _ := ctx.Value(anyHeld{}).(*turnContext)
	if turn == nil || turn.over() && turn.lost() == nil {
		return 0, fail("token", rmw.Key{}, 0, fmt.Errorf("%w: this ctx holds no lock; call Token with the ctx that Update or WithLock gave to your function", rmw.ErrInvalid))
	}
	token, err := turn.lease.token(ctx)
	if err != nil {
		return 0, fail("token", rmw.Key{Name: turn.name}, 0, redisx.Blame(ctx, err))
	}
	return token, nil
}

const (
	fencePrefix = "/fence"
	fenceTTL    = 7 * 24 * time.Hour
)

// token draws a token once for each tenure; who asks at the same time may make it
// skip a number.
func (l *lease) token(ctx context.Context) (uint64, error) {
	for try := 1; ; try++ {
		if err := l.ours(); err != nil {
			return 0, redisx.Because(rmw.ErrLockLost, err)
		}
		if token := l.drawn.Load(); token != 0 {
			return token, nil
		}
		token, err := l.tenure.draw(ctx, fencePrefix+l.tenure.lock, time.Now().UnixMicro())
		switch {
		case err == nil:
			// The lock may have become another's before it was drawn, and then it
			// is too great: look again before it is given out.
			if l.ours() == nil {
				l.drawn.CompareAndSwap(0, token)
			}
		case redisx.OutcomeOf(err) != redisx.Unknown || try == tries:
			return 0, err
		default: // drawing twice skips a number, no more
			if err := l.tenure.pause(ctx, try); err != nil {
				return 0, err
			}
		}
	}
}

// draw draws the next token, which is at least least.
func (s *Store) draw(ctx context.Context, counter string, least int64) (uint64, error) {
	c := s.dialect.token(counter, least, fenceTTL)
	if c == nil {
		return s.drawGuarded(ctx, rmw.Key{Name: counter, TTL: fenceTTL}, uint64(least))
	}
	if err := s.run(ctx, new(outage), c); err != nil {
		return 0, err
	}
	text, err := c.text()
	if err != nil {
		return 0, err
	}
	token, err := strconv.ParseUint(text, 10, 64)
	if err != nil || token == 0 {
		return 0, c.odd()
	}
	return token, nil
}

// drawGuarded draws without a script, as an update of the counter: only those who
// hold the lock, or have just lost it, are in each other's way.
func (s *Store) drawGuarded(ctx context.Context, counter rmw.Key, least uint64) (uint64, error) {
	last, err := s.read(ctx, counter)
	for try := 0; err == nil && try < s.cfg.MaxAttempts; try++ {
		n, _ := strconv.ParseUint(last.Text(), 10, 64)
		token := max(n+1, least)
		var stored bool
		w := write{key: counter, cur: last, next: rmw.String(strconv.FormatUint(token, 10)), ttl: counter.TTL}
		if stored, last, err = s.commit(ctx, w); stored {
			return token, nil
		}
	}
	var own *rmw.Error
	if errors.Is(err, rmw.ErrOutcomeUnknown) && errors.As(err, &own) {
		// That of the counter; of the value nothing is in doubt.
		if err = ctx.Err(); err == nil {
			err = redisx.Because(rmw.ErrUnavailable, own.Cause)
		}
	}
	if err == nil {
		err = rmw.ErrContended
	}
	return 0, err
}
