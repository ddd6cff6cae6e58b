package lockupdate

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/rmw"
)

// write commits what a group comes to if the key still holds its base. If it holds
// something else, it returns that and stored=false. An error means that nothing was
// written, unless it is an rmw.ErrOutcomeUnknown. With ask it also prolongs the lease
// and learns whether others wait.
//
// A commit is sent once. A command whose answer is lost may be executed later, when a
// proxy gets round to it; a second one could be acknowledged now, and the first
// would still pass the guard once the value is back at the base.
func (t *tenure) write(ctx context.Context, g *group, ask bool) (stored bool, now rmw.Value, err error) {
	if t.cfg.Commit == CommitPlain {
		if err := t.lease.ours(); err != nil {
			return false, rmw.Value{}, redisx.Because(rmw.ErrLockLost, err)
		}
	}
	c, err := t.commitCall(t.key, g.base, g.value, g.ttl)
	if err != nil {
		return false, rmw.Value{}, err
	}
	calls := []*call{c}
	if ask {
		calls = append(calls, t.question())
	}
	sent := t.watchdog.now()
	t.flights.send(ctx, calls...)
	if ask {
		t.heard(sent, calls[1])
	}
	stored, now, err = outcomeOf(t.key.Kind, c)
	if errors.Is(err, rmw.ErrOutcomeUnknown) && !g.value.Equal(g.base) && t.foundStored(ctx, g.value) {
		return true, rmw.Value{}, nil
	}
	return stored, now, err
}

// question is a renewal, whose answer tells whether others wait.
func (t *tenure) question() *call {
	return renewScript.on(t.lock, t.lease.owner, t.cfg.Lease.Milliseconds())
}

// ask asks whether others wait.
func (t *tenure) ask() {
	c, sent := t.question(), t.watchdog.now()
	t.flights.send(t.ctx, c)
	t.heard(sent, c)
}

// heard takes in the answer to the question whether others wait.
func (t *tenure) heard(sent time.Duration, renew *call) {
	n, err := renew.number()
	lost := t.watchdog.renewed(t.lease, sent, n, err)
	if n > 0 {
		t.note(Event{Kind: EventRenewed, N: 1, Took: t.watchdog.now() - sent})
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.checked = time.Now()
	t.lost = t.lost || lost
	t.yield = t.yield || n > 1
}

// foundStored tells, after a lost answer, whether the commit has been executed
// after all. Only where every writer holds the lock can nobody else have stored
// the same, and only while it is still ours.
func (t *tenure) foundStored(ctx context.Context, next rmw.Value) bool {
	if !t.cfg.SoleWriter {
		return false
	}
	for try := 1; try <= tries && t.lease.ours() == nil; try++ {
		if try > 1 && t.pause(ctx, try) != nil {
			return false
		}
		if now, err := t.Store.read(ctx, t.key); err == nil && now.Equal(next) {
			return t.lease.ours() == nil
		}
	}
	return false
}

// outcomeOf reads the answer of a commit script; what it does not tell is unknown.
func outcomeOf(kind rmw.Kind, c *call) (stored bool, now rmw.Value, err error) {
	stored, now, err = verdictOf(kind, c)
	if redisx.OutcomeOf(err) == redisx.Unknown {
		err = redisx.Because(rmw.ErrOutcomeUnknown, err)
	}
	return stored, now, err
}

// maxArgs is below the 1,048,576 elements that Redis before 7, and Codis, take in
// one command.
const maxArgs = 1_000_000

var errTooLarge = fmt.Errorf("%w: the hash has too many fields to compare and write in one command; split the key", rmw.ErrInvalid)

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

// commitCall is the command that writes next if the key still holds cur.
func (s *Store) commitCall(key rmw.Key, cur, next rmw.Value, ttl time.Duration) (*call, error) {
	plain := s.cfg.Commit == CommitPlain
	if key.Kind == rmw.KindHash {
		c := commitHash(key.Name, cur, next, ttl, plain)
		if len(c.args) > header+maxArgs {
			return nil, errTooLarge
		}
		return c, nil
	}
	return commitString(key.Name, cur, next, ttl, plain), nil
}

// digestFrom is the size of a value, in bytes, from which on the guard compares its
// SHA-1: that saves sending it back, and costs the server a tenth to a quarter more
// time for the script. Two values of the same digest have to be made on purpose, by
// somebody who may write both; then one could be taken for the other.
const digestFrom = 1 << 10

func commitString(name string, cur, next rmw.Value, ttl time.Duration, plain bool) *call {
	given, was := "value", cur.Text()
	switch {
	case len(was) >= digestFrom && !plain:
		sum := sha1.Sum([]byte(was))
		given, was = "sha1", hex.EncodeToString(sum[:])
	case plain:
		given, was = "any", ""
	case !cur.Exists():
		given = "absent"
	}
	op := "set"
	if !next.Exists() {
		op = "del"
	}
	return commitStringScript.on(name, expiry(ttl), given, was, op, next.Text())
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
