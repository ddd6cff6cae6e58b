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

// commit writes next if the key still holds cur. If it holds something else, it
// returns that and stored=false. An error means that nothing was written, unless
// it is an rmw.ErrOutcomeUnknown.
//
// It is sent once. A command whose answer is lost may be executed later, when a
// proxy gets round to it; a second one could be acknowledged now, and the first
// would still pass the guard once the value is back at cur.
func (l *lease) commit(ctx context.Context, key rmw.Key, cur, next rmw.Value, ttl time.Duration) (stored bool, now rmw.Value, err error) {
	plain := l.cfg.Commit == CommitPlain
	if plain && !l.ours() {
		return false, rmw.Value{}, redisx.Because(rmw.ErrLockLost, context.Cause(l.ctx))
	}
	c := commitCall(key, cur, next, ttl, plain)
	if len(c.args) > maxArgs {
		return false, rmw.Value{}, fmt.Errorf("%w: the hash has too many fields to compare and write in one command; split the key", rmw.ErrInvalid)
	}
	if err := l.runDetached(ctx, c); err != nil {
		if abandoned, ok := errors.AsType[*redisx.Abandoned](err); ok {
			l.holdFor(abandoned.Finished)
		}
		return false, rmw.Value{}, redisx.Because(rmw.ErrOutcomeUnknown, ctx.Err())
	}
	stored, now, err = verdictOf(key.Kind, c)
	switch redisx.OutcomeOf(err) {
	case redisx.Done:
		return stored, now, nil
	case redisx.NotDone:
		return false, rmw.Value{}, err
	}
	if !next.Equal(cur) && l.foundStored(ctx, key, next) {
		return true, rmw.Value{}, nil
	}
	return false, rmw.Value{}, redisx.Because(rmw.ErrOutcomeUnknown, err)
}

// maxArgs is below the 1,048,576 elements that Redis before 7, and Codis, take in
// one command.
const maxArgs = 1_000_000

// foundStored tells, after a lost answer, whether the commit has been executed
// after all. Only where every writer holds the lock can nobody else have stored
// the same, and only while it is still ours.
func (l *lease) foundStored(ctx context.Context, key rmw.Key, next rmw.Value) bool {
	if !l.cfg.SoleWriter {
		return false
	}
	for try := 1; try <= tries && l.ours(); try++ {
		if try > 1 && l.pause(ctx, try) != nil {
			return false
		}
		if now, err := l.read(ctx, key); err == nil && now.Equal(next) {
			return l.ours()
		}
	}
	return false
}

// verdictOf reads the answer of a commit script.
func verdictOf(kind rmw.Kind, c *call) (stored bool, now rmw.Value, err error) {
	list, err := c.reply()
	if err != nil {
		return false, rmw.Value{}, err
	}
	switch list[0] {
	case int64(1):
		return true, rmw.Value{}, nil
	case int64(0):
		now, err := content(kind, list[1:])
		return false, now, err
	case int64(2):
		if len(list) == 2 {
			return false, rmw.Value{}, wrongKind(fmt.Sprint(list[1]), kind)
		}
	}
	return false, rmw.Value{}, errOddReply
}

func commitCall(key rmw.Key, cur, next rmw.Value, ttl time.Duration, plain bool) *call {
	if key.Kind == rmw.KindHash {
		return commitHash(key.Name, cur, next, ttl, plain)
	}
	given, was := "value", cur.Text()
	switch {
	case plain:
		given, was = "any", ""
	case !cur.Exists():
		given = "absent"
	}
	op := "set"
	if !next.Exists() {
		op = "del"
	}
	return commitStringScript.on(key.Name, expiry(ttl), given, was, op, next.Text())
}

func commitHash(name string, cur, next rmw.Value, ttl time.Duration, plain bool) *call {
	given, sets, dels := cur.Len(), 0, 0
	args := make([]any, 4, 4+2*(cur.Len()+1))
	if plain {
		given = -1
	} else {
		for field, value := range cur.All() {
			args = append(args, field, value)
		}
	}
	if next.Exists() {
		for field, value := range next.All() {
			if was, ok := cur.Field(field); !ok || was != value {
				args = append(args, field, value)
				sets++
			}
		}
		for field := range cur.All() {
			if _, ok := next.Field(field); !ok {
				args = append(args, field)
				dels++
			}
		}
	} else {
		sets = -1
	}
	args[0], args[1], args[2], args[3] = expiry(ttl), given, sets, dels
	return commitHashScript.on(name, args...)
}

// expiry is a Key.TTL as the scripts take it.
func expiry(ttl time.Duration) string {
	switch {
	case ttl == 0:
		return "keep"
	case ttl < 0:
		return "none"
	}
	return strconv.FormatInt(ttl.Milliseconds(), 10)
}
