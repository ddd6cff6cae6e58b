package cas

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/driver"
)

// errConflict: a key changed between WATCH and EXEC. Nothing was written.
var errConflict = errors.New("the key changed between WATCH and EXEC")

// aborted is the error that fn returned.
type aborted struct{ error }

func (e aborted) Unwrap() error { return e.error }

// unread is a failure before anything could be written, or before EXEC was sent.
type unread struct {
	error

	key rmw.Key
}

func (e unread) Unwrap() error { return e.error }

// attempt is WATCH, read, fn, EXEC, once.
func (u *update) attempt(ctx context.Context) error {
	t := startTransaction(ctx, u.Store, u.key.Name)
	defer t.end()

	u.op = "read"
	cur, err := t.read(ctx, u.Store, u.key, false)
	if err != nil {
		return unread{err, u.key}
	}
	u.op = "exec"
	u.attempts++
	next, err := u.callFn(ctx, cur)
	if err != nil {
		return aborted{err}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	write, ttl, err := driver.CheckWrite(u.key, cur, next)
	if err != nil {
		return err
	}
	if write {
		if err := t.write(ctx, u.Store, change{key: u.key, cur: cur, next: next, ttl: ttl}); err != nil {
			return err
		}
	}
	u.res = rmw.Result{Before: cur, After: cur, Written: write}
	if write {
		u.res.After = next.WithTTL(0)
	}
	return nil
}

func (u *update) callFn(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
	u.gate.BeginFn()
	defer u.gate.EndFn()
	return u.fn(ctx, cur)
}

// change is the write of a key.
type change struct {
	key       rmw.Key
	cur, next rmw.Value
	ttl       time.Duration

	fieldsExpire bool // on this server
}

// write writes a key, and judges the answer.
func (t *transaction) write(ctx context.Context, s *Store, c change) error {
	var err error
	left := t.do(ctx, func(ctx context.Context, tx *redis.Tx) {
		c.fieldsExpire = s.fields.expire.Load()
		err = s.exec(ctx, tx, c)
		redisx.DropAfterExec(ctx, tx, c.key.Name, false, err)
	})
	if left != nil {
		return redisx.Because(rmw.ErrOutcomeUnknown, left)
	}
	return err
}
