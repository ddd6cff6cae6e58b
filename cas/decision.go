package cas

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/internal/keyhash"
	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/internal/seal"
	"github.com/unwatch/unwatch/rmw"
)

// A Transact whose EXEC has no answer asks whether it was executed. So the EXEC also sets a key of the Store, the decision,
// to the id of the attempt. The decision is watched with the other keys. To ask is to append to it: then an EXEC that
// comes later fails, and one that came before has left the id, which the append keeps.

const (
	// decisionLife is how long a decision lives.
	decisionLife = 2 * time.Minute
	// askWithin is how long after the EXEC a Transact may ask.
	askWithin = decisionLife / 2
	// asked is what asking appends.
	asked = "?"
)

// decisions are the keys of the decisions of a Store. Each Transact that runs has one, and a key is used again.
type decisions struct {
	store string

	mu   sync.Mutex
	used []bool // by number
	ids  uint64
}

func (d *decisions) init() { d.store = fmt.Sprintf("%016x", rand.Uint64()) } //nolint:gosec // unique, not secret

// take returns the least number that is free.
func (d *decisions) take() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := slices.Index(d.used, false)
	if n < 0 {
		n = len(d.used)
		d.used = append(d.used, false)
	}
	d.used[n] = true
	return n
}

func (d *decisions) free(n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.used[n] = false
}

// id returns an id that no other attempt has. None is the beginning of another one.
func (d *decisions) id() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ids++
	return strconv.FormatUint(d.ids, 10) + "."
}

// decisionKey returns the key of a decision about keys that begin with this one. Where the slot matters, it has that of the key.
func (s *Store) decisionKey(key string, n int) string {
	name := fmt.Sprintf("cas:%s:%d", s.decisions.store, n)
	if !s.cluster.Load() && !strings.Contains(key, "{") {
		return seal.DecisionPrefix + name // so that there are as many as calls that run
	}
	full := seal.DecisionKey(key) + ":" + name
	for i := 0; keyhash.Slot(full) != keyhash.Slot(key); i++ { // a key with odd braces
		full = fmt.Sprintf("%s{%d}:%s", seal.DecisionPrefix, i, name)
	}
	return full
}

// lost is an EXEC without an answer. It may have been executed, or may be yet.
type lost struct{ error }

func (e lost) Unwrap() error { return e.error }

// committed reports whether an EXEC without an answer was executed. If not, it never will be. An error means that it is not known.
func (s *Store) committed(ctx context.Context, decision, id string, sent time.Time) (bool, error) {
	within, cancel := context.WithDeadline(ctx, sent.Add(askWithin))
	defer cancel()
	for try := 1; ; try++ {
		is, err := s.ask(within, decision, id)
		switch {
		case err == nil && time.Since(sent) < askWithin:
			return is, nil
		case ctx.Err() != nil:
			return false, ctx.Err()
		case err == nil || within.Err() != nil: // the decision may have expired
			return false, fmt.Errorf("the store could not be asked for the outcome within %v", askWithin)
		case s.gate.Closed():
			return false, rmw.ErrClosed
		case !redisx.IsAway(err) && redisx.OutcomeOf(err) == redisx.NotDone:
			return false, err
		}
		_ = redisx.Sleep(within, askDelay.Delay(try, rand.Float64()))
	}
}

var askDelay = rmw.Backoff{Base: 2 * time.Millisecond, Max: 100 * time.Millisecond}

// ask asks once. To ask again does no harm.
func (s *Store) ask(ctx context.Context, decision, id string) (bool, error) {
	var err error
	mark := redis.NewIntCmd(ctx, "append", decision, asked)
	get := redis.NewStringCmd(ctx, "get", decision)
	expire := redis.NewBoolCmd(ctx, "pexpire", decision, decisionLife.Milliseconds())
	if left := s.gate.Await(ctx, func() {
		pipe := s.rdb.TxPipeline()
		if err = pipe.BatchProcess(ctx, mark, get, expire); err != nil {
			return
		}
		if _, err = pipe.Exec(ctx); redis.HasErrorPrefix(err, "EXECABORT") {
			err = refusal([]redis.Cmder{mark, get, expire}, err)
		}
		redisx.DropAfterExec(ctx, s.rdb, decision, true, err)
	}); left != nil {
		return false, left
	}
	return strings.HasPrefix(get.Val(), id), err
}
