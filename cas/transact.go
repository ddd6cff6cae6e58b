package cas

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/internal/keyhash"
	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/internal/seal"
	"github.com/unwatch/unwatch/rmw"
)

var _ rmw.Transactor = (*Store)(nil)

//go:embed lua
var scripts embed.FS

// decidedFor is how long a decision is kept. It is asked for only after the reply to an EXEC was lost.
const decidedFor = 10 * time.Minute

// Transact implements [rmw.Transactor]: WATCH of all keys, reads, fn, and an EXEC of one script. After a lost reply it asks for
// the decision, a key that the script writes, too, so that the outcome is known as long as the server can be asked.
//
// On a *redis.ClusterClient all keys need a common slot, else it is an [rmw.ErrUnsupported].
func (s *Store) Transact(ctx context.Context, keys []rmw.Key, fn rmw.TxFunc) (rmw.TxResult, error) {
	var first rmw.Key
	if len(keys) > 0 {
		first = keys[0]
	}
	u := &several{Store: s, fn: fn}
	err := u.admit(ctx, keys)
	if err != nil {
		return rmw.TxResult{}, fail("transact", first, 0, err)
	}
	defer s.gate.Leave()
	var o redisx.Outage
	for broken := 0; ; {
		changes, err := u.attempt(ctx)
		switch {
		case err == nil:
			for i := range changes {
				changes[i].After = changes[i].After.WithTTL(0)
			}
			return rmw.TxResult{Changes: changes, Attempts: u.attempts, Waited: u.waited}, nil
		case errors.As(err, new(aborted)):
			return rmw.TxResult{Attempts: u.attempts, Waited: u.waited}, errors.Unwrap(err)
		case errors.Is(err, errConflict):
			if u.attempts >= s.cfg.MaxAttempts {
				return u.failed(fmt.Errorf("%w: a key had changed after each of %d runs of fn; does fn write one of these keys itself, instead of by Put?",
					rmw.ErrContended, u.attempts))
			}
			if err := u.backOff(ctx); err != nil {
				return u.failed(redisx.Because(rmw.ErrContended, err))
			}
		case errors.As(err, new(otherKind)):
			if err := u.openAll(ctx, err); err != nil {
				return u.failed(err)
			}
		case errors.As(err, new(unread)) && redisx.OutcomeOf(err) == redisx.Unknown && ctx.Err() == nil && broken+1 < tries:
			broken++ // nothing was written, so simply begin anew
		case u.attempts < s.cfg.MaxAttempts && !s.gate.Closed() && o.Another(ctx, err):
		default:
			return u.failed(o.EndOf(ctx, err))
		}
	}
}

// several is one call of Transact.
type several struct {
	*Store
	keys     []rmw.Key // that are named
	late     []rmw.Key // that fn has got in the last attempt
	fn       rmw.TxFunc
	attempts int
	waited   time.Duration
}

func (u *several) admit(ctx context.Context, keys []rmw.Key) (err error) {
	if u.fn == nil {
		return fmt.Errorf("%w: the TxFunc is nil", rmw.ErrInvalid)
	}
	if u.keys, err = rmw.TxKeys(keys); err == nil {
		err = rmw.CheckTx(ctx, u.Store, "")
	}
	if err == nil {
		err = u.oneSlot(u.keys)
	}
	if err != nil {
		return err
	}
	return u.begin(ctx, keys[0])
}

// oneSlot returns an error if a client of a cluster could not watch the keys together.
func (u *several) oneSlot(keys []rmw.Key) error {
	if _, cluster := u.rdb.(*redis.ClusterClient); !cluster {
		return nil
	}
	for _, key := range keys {
		if keyhash.Slot(key.Name) != keyhash.Slot(u.keys[0].Name) {
			return fmt.Errorf("%w: the keys %.128q and %.128q are in two slots of the cluster, which no transaction spans; "+
				"give them a common hash tag, or use package lockupdate", rmw.ErrUnsupported, u.keys[0].Name, key.Name)
		}
	}
	return nil
}

func (u *several) failed(err error) (rmw.TxResult, error) {
	return rmw.TxResult{Attempts: u.attempts, Waited: u.waited}, fail("transact", u.keys[0], u.attempts, err)
}

func (u *several) backOff(ctx context.Context) error {
	began := time.Now()
	defer func() { u.waited += time.Since(began) }()
	return redisx.Sleep(ctx, u.cfg.Backoff.Delay(u.attempts, rand.Float64()))
}

// openAll ends the updates that have sealed a key.
func (u *several) openAll(ctx context.Context, why error) error {
	for _, key := range slices.Concat(u.keys, u.late) {
		if err := u.open(ctx, key, why); err != nil {
			return err
		}
	}
	return nil
}

// attempt is WATCH, reads, fn, EXEC, once.
func (u *several) attempt(ctx context.Context) ([]rmw.Change, error) {
	decision := u.decisions.take(seal.DecisionKey(u.keys[0].Name))
	defer u.decisions.giveBack(decision)
	names := []string{decision.key()}
	for _, key := range u.keys {
		names = append(names, key.Name)
	}
	c := u.watch(ctx, names...)
	defer c.end()
	u.late = nil
	values, err := u.read(ctx, c, u.keys)
	if err != nil {
		return nil, unread{err}
	}
	u.attempts++
	run := rmw.NewTxRun(u.Store, u.keys, values, func(ctx context.Context, key rmw.Key) (rmw.Value, error) {
		u.late = append(u.late, key)
		if err := u.oneSlot([]rmw.Key{key}); err != nil {
			return rmw.Value{}, err
		}
		if _, err := c.do(ctx, func(tx *redis.Tx) error { return tx.Watch(c.ctx, key.Name).Err() }); err != nil {
			return rmw.Value{}, unread{err}
		}
		values, err := u.read(ctx, c, []rmw.Key{key})
		if err != nil {
			return rmw.Value{}, unread{err}
		}
		return values[0], nil
	})
	id := uuid.NewString()
	check := func() error { return u.exec(ctx, c, run.Changes(), decision, id) }
	failed, err := u.call(ctx, run, func() error {
		err := check()
		if errors.Is(err, rmw.ErrOutcomeUnknown) {
			err = unread{err} // fn has failed, and the script writes nothing but the decision
		}
		return err
	})
	switch {
	case failed != nil:
		return nil, aborted{failed}
	case err != nil:
		return nil, err
	case ctx.Err() != nil:
		return nil, ctx.Err()
	}
	return run.Changes(), check()
}

func (u *several) call(ctx context.Context, run *rmw.TxRun, check func() error) (failed, err error) {
	u.gate.BeginFn()
	defer u.gate.EndFn()
	dropped := func() error {
		run.Drop()
		return check()
	}
	return run.Do(ctx, u.fn, dropped)
}

// read reads keys that the session watches, in one flush.
func (u *several) read(ctx context.Context, c *session, keys []rmw.Key) (values []rmw.Value, err error) {
	_, err = c.do(ctx, func(tx *redis.Tx) error {
		pipe := tx.Pipeline()
		readings := make([]reading, len(keys))
		cmds := make([]redis.Cmder, len(keys))
		for i, key := range keys {
			readings[i] = newReading(c.ctx, key, true)
			cmds[i] = readings[i].sent
		}
		if err := pipe.BatchProcess(c.ctx, cmds...); err != nil {
			return err
		}
		_, failed := pipe.Exec(c.ctx)
		values = make([]rmw.Value, len(keys))
		for i, r := range readings {
			if r.cmd.Err() == nil && r.cmd.Val() == nil {
				r.cmd.SetErr(failed)
			}
			v, err := r.value()
			redisx.DropIfElsewhere(c.ctx, tx, keys[i].Name, false, err)
			if err != nil {
				return err
			}
			values[i] = v
		}
		return nil
	})
	return values, err
}

// exec executes the script, if no key has changed. A lost reply is asked for.
func (u *several) exec(ctx context.Context, c *session, changes []rmw.Change, decision slot, id string) error {
	script := &redisx.Command{Cmd: redis.NewCmd(c.ctx, u.args(changes, decision, id)...)}
	left, err := c.do(ctx, func(tx *redis.Tx) error {
		err := u.execute(c.ctx, tx, []redis.Cmder{script}, true)
		redisx.DropIfElsewhere(c.ctx, tx, decision.key(), false, err)
		return err
	})
	if left {
		err = redisx.Because(rmw.ErrOutcomeUnknown, err)
	}
	if !errors.Is(err, rmw.ErrOutcomeUnknown) || redis.HasErrorPrefix(script.Err(), "ERR after a write") {
		return err
	}
	executed, asked := u.ask(ctx, decision, id)
	switch {
	case asked != nil:
		return err
	case executed:
		return nil
	}
	var own *rmw.Error
	if errors.As(err, &own) {
		err = own.Cause
	}
	return unread{redisx.Because(rmw.ErrUnavailable, fmt.Errorf("the transaction was not executed: %w", err))}
}

// ask tells whether the transaction was executed. If not, it never will be.
func (u *several) ask(ctx context.Context, decision slot, id string) (executed bool, err error) {
	source := source("asked")
	for try := 1; ; try++ {
		cmd := &redisx.Command{Cmd: redis.NewCmd(ctx, "eval", source, 1, decision.key(), id, decidedFor.Milliseconds())}
		if err = u.gate.Await(ctx, func() { _ = u.rdb.Process(ctx, cmd) }); err == nil {
			if n, err := cmd.Int64(); err == nil {
				return n == 1, nil
			}
		}
		if ctx.Err() != nil || u.gate.GivenUp() || try == askTries {
			return false, redisx.Because(rmw.ErrOutcomeUnknown, err)
		}
		if err = redisx.Sleep(ctx, min(time.Millisecond<<try, 500*time.Millisecond)); err != nil {
			return false, err
		}
	}
}

// askTries bounds how often a decision is asked for, for a ctx that does not end: about half a minute.
const askTries = 64

func source(name string) string {
	text, err := scripts.ReadFile("lua/" + name + ".lua")
	if err != nil {
		panic(err) // no such file
	}
	return string(text)
}

// args returns the script with its arguments.
func (u *several) args(changes []rmw.Change, decision slot, id string) []any {
	args := []any{"eval", source("transact"), len(changes) + 1}
	for _, c := range changes {
		args = append(args, c.Key.Name)
	}
	args = append(args, decision.key(), id, decidedFor.Milliseconds())
	for _, c := range changes {
		count := c.Before.Len()
		if c.Key.Kind == rmw.KindString && c.Before.Exists() {
			count = 1
		}
		args = append(args, c.Key.Kind.String(), count)
		switch {
		case !c.Written:
			args = append(args, "keep")
			continue
		case !c.After.Exists():
			args = append(args, "del")
			continue
		}
		expiry := any("keep")
		ttl := c.After.TTL()
		if ttl == 0 {
			ttl = c.Key.TTL
		}
		switch {
		case ttl > 0:
			expiry = ttl.Milliseconds()
		case ttl < 0:
			expiry = "none"
		}
		set, del := []any{c.After.Text()}, []any(nil)
		if c.Key.Kind == rmw.KindHash {
			set, del = change{cur: c.Before, next: c.After}.delta()
		}
		args = append(append(args, "set", expiry, len(set)), set...)
		args = append(append(args, len(del)), del...)
	}
	return args
}

// decisions are the keys of decisions of one Store, as many as it has concurrent calls.
type decisions struct {
	store string
	mu    sync.Mutex
	used  []bool
}

// slot is one key of a decision.
type slot struct {
	prefix, store string
	number        int
}

func (s slot) key() string { return s.prefix + ":cas:" + s.store + ":" + strconv.Itoa(s.number) }

func (d *decisions) take(prefix string) slot {
	d.mu.Lock()
	defer d.mu.Unlock()
	i := slices.Index(d.used, false)
	if i < 0 {
		i, d.used = len(d.used), append(d.used, false)
	}
	d.used[i] = true
	return slot{prefix, d.store, i}
}

func (d *decisions) giveBack(s slot) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.used[s.number] = false
}
