package cas

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/internal/keyhash"
	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/internal/resp"
	"github.com/unwatch/unwatch/internal/seal"
	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/driver"
)

var _ rmw.Transactor = (*Store)(nil)

// Transact implements [rmw.Transactor] by one transaction: WATCH of all keys; a flush of their reads; MULTI, the writes, EXEC.
// fn runs on the caller's goroutine, without any lock. A key that fn gets late costs two round trips more. A Transact that
// writes nothing ends with an EXEC as well, so that its values are those of one moment.
//
// The transaction also sets a key that begins with "~tx:", so that the Store can ask for the outcome if the reply to EXEC is
// lost. It asks until ctx ends, for up to a minute. There are as many of these keys as calls that run at a time; they expire
// after two minutes. In a Redis Cluster, and for keys with a hash tag, there are as many for each tag.
//
// In a Redis Cluster all keys must have one slot: else Transact is an [rmw.ErrUnsupported].
func (s *Store) Transact(ctx context.Context, keys []rmw.Key, fn rmw.TxFunc) (rmw.TxResult, error) {
	var first rmw.Key
	if len(keys) > 0 {
		first = keys[0]
	}
	keys, err := s.beginSeveral(ctx, keys, fn)
	if err != nil {
		return rmw.TxResult{}, fail("transact", first, 0, err)
	}
	defer s.gate.Leave()
	n := s.decisions.take()
	defer s.decisions.free(n)
	x := &transact{
		call: call{Store: s, key: first, op: "transact", again: "does fn write a key itself, instead of putting the value?"},
		keys: keys, fn: fn, number: n,
	}
	err = x.run(ctx, x.attempt)
	x.res.Attempts, x.res.Waited = x.attempts, x.waited
	return x.res, err
}

// beginSeveral admits a Transact, and returns its keys without repetitions.
func (s *Store) beginSeveral(ctx context.Context, keys []rmw.Key, fn rmw.TxFunc) ([]rmw.Key, error) {
	if s.invalid != nil {
		return nil, s.invalid
	}
	if fn == nil {
		return nil, fmt.Errorf("%w: the TxFunc is nil", rmw.ErrInvalid)
	}
	keys, err := rmw.TxKeys(keys)
	if err != nil {
		return nil, err
	}
	for _, key := range keys {
		if err := s.checkTogether(keys[0], key); err != nil {
			return nil, err
		}
	}
	if err := rmw.CheckTx(ctx, s, ""); err != nil {
		return nil, err
	}
	return keys, s.begin(ctx, keys[0])
}

// checkTogether returns an error if a key cannot be used together with the first key.
func (s *Store) checkTogether(first, key rmw.Key) error {
	switch {
	case strings.HasPrefix(key.Name, seal.DecisionPrefix):
		return fmt.Errorf("%w: the key %.128q has the name of a decision; use other names for keys", rmw.ErrInvalid, key.Name)
	case s.cluster.Load() && keyhash.Slot(key.Name) != keyhash.Slot(first.Name):
		return errSlots
	}
	return nil
}

var errSlots = fmt.Errorf("%w: the keys are in several slots of a Redis Cluster, and MULTI needs one; "+
	"give the keys a common hash tag, such as {room:7}:seats, or use package lockupdate", rmw.ErrUnsupported)

// errSharded: a server of a Redis Cluster, or a proxy in front of one, was recognized. Nothing was written.
var errSharded = errors.New("the decision must have the slot of the keys")

// acrossSlots judges an error of WATCH. A server or a proxy may have refused keys in several slots: if they are those of the
// call, the error is errSlots, and if it is only the decision, errSharded.
func (x *transact) acrossSlots(err error, late ...rmw.Key) error {
	if err == nil || !resp.AcrossSlots(err.Error()) {
		return err
	}
	x.cluster.Store(true)
	for _, key := range slices.Concat(x.keys, late) {
		if err := x.checkTogether(x.keys[0], key); err != nil {
			return err
		}
	}
	if keyhash.Slot(x.decision) != keyhash.Slot(x.keys[0].Name) {
		return errSharded
	}
	return err
}

// transact is one call of Transact.
type transact struct {
	call

	keys     []rmw.Key
	fn       rmw.TxFunc
	number   int    // of the decision
	decision string // its key
	res      rmw.TxResult
}

// attempt is WATCH, reads, fn, EXEC, once.
func (x *transact) attempt(ctx context.Context) error {
	x.decision = x.decisionKey(x.keys[0].Name, x.number)
	names := make([]string, 0, len(x.keys)+1)
	for _, key := range x.keys {
		names = append(names, key.Name)
	}
	t := startTransaction(ctx, x.Store, append(names, x.decision)...)
	defer t.end()

	values, err := x.readAll(ctx, t)
	if err != nil {
		return err
	}
	x.attempts++
	run := rmw.NewTxRun(x.Store, x.keys, values, func(ctx context.Context, key rmw.Key) (rmw.Value, error) {
		return x.readLate(ctx, t, key)
	})
	err = x.callFn(ctx, run, func() error { return x.exec(ctx, t, "", run.Changes()) })
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	changes := run.Changes()
	id := ""
	for i, c := range changes {
		if changes[i].Written, _, err = driver.CheckWrite(c.Key, c.Before, c.After); err != nil {
			return err
		}
		if changes[i].Written && id == "" {
			id = x.decisions.id()
		}
	}
	if err := x.exec(ctx, t, id, changes); err != nil {
		return err
	}
	for i := range changes {
		changes[i].After = changes[i].After.WithTTL(0)
	}
	x.res.Changes = changes
	return nil
}

// callFn calls fn. check returns an error if the values that fn has read are not present any more.
func (x *transact) callFn(ctx context.Context, run *rmw.TxRun, check func() error) error {
	x.gate.BeginFn()
	defer x.gate.EndFn()
	failed, err := run.Do(ctx, x.fn, func() error {
		defer x.outsideFn()()
		return check()
	})
	if failed != nil {
		return aborted{failed}
	}
	for _, refusal := range []error{rmw.ErrInvalid, rmw.ErrWrongKind, rmw.ErrUnsupported} {
		if errors.Is(err, refusal) { // it may come of values of two moments
			return cmp.Or(check(), err)
		}
	}
	return err
}

// outsideFn is for commands that a call of fn waits for. Its result must be called when they have ended.
func (x *transact) outsideFn() (back func()) {
	x.gate.EndFn()
	return x.gate.BeginFn
}

// readLate watches and reads a key that was not named.
func (x *transact) readLate(ctx context.Context, t *transaction, key rmw.Key) (rmw.Value, error) {
	defer x.outsideFn()()
	if err := x.checkTogether(x.keys[0], key); err != nil {
		return rmw.Value{}, err
	}
	v, err := t.read(ctx, x.Store, key, true)
	if err != nil {
		err = unread{x.acrossSlots(err, key), key}
	}
	return v, err
}

// exec writes the changes, or, without an id, returns an error unless all values are present still.
func (x *transact) exec(ctx context.Context, t *transaction, id string, all []rmw.Change) error {
	w := writing{changes: make([]change, len(all)), decision: x.decision, id: id}
	for i, c := range all {
		w.changes[i] = change{key: c.Key, cur: c.Before, next: c.Before}
		if id != "" && c.Written {
			_, ttl, _ := driver.CheckWrite(c.Key, c.Before, c.After)
			w.changes[i].next, w.changes[i].ttl = c.After, ttl
		}
	}
	sent := time.Now()
	var err error
	left := t.do(ctx, func(ctx context.Context, tx *redis.Tx) {
		err = x.execAll(ctx, tx, w)
		redisx.DropAfterExec(ctx, tx, x.keys[0].Name, false, err)
	})
	switch {
	case left != nil && id == "":
		return left
	case left != nil:
		return redisx.Because(rmw.ErrOutcomeUnknown, left)
	case !errors.As(err, new(lost)):
		return err
	}
	is, errAsk := x.committed(ctx, x.decision, id, sent)
	switch {
	case errAsk != nil:
		return redisx.Because(rmw.ErrOutcomeUnknown, errors.Join(ctx.Err(), err, errAsk))
	case !is:
		return unread{errors.Unwrap(err), rmw.Key{}}
	}
	return nil
}

// readAll reads the watched keys in one flush.
func (x *transact) readAll(ctx context.Context, t *transaction) ([]rmw.Value, error) {
	if len(x.keys) == 1 {
		v, err := t.read(ctx, x.Store, x.keys[0], false)
		if err != nil {
			return nil, unread{x.acrossSlots(err), x.keys[0]}
		}
		return []rmw.Value{v}, nil
	}
	values := make([]rmw.Value, len(x.keys))
	var err error
	left := t.do(ctx, func(ctx context.Context, tx *redis.Tx) {
		err = x.Store.readAll(ctx, tx, x.keys, values)
		redisx.DropIfElsewhere(ctx, tx, x.keys[0].Name, true, err)
	})
	if left != nil {
		return nil, unread{x.acrossSlots(left), x.keys[0]}
	}
	return values, err
}

func (s *Store) readAll(ctx context.Context, tx *redis.Tx, keys []rmw.Key, values []rmw.Value) error {
	reads := make([]reading, len(keys))
	pipe := tx.Pipeline()
	for i, key := range keys {
		reads[i] = newReading(ctx, key, true)
		if err := pipe.Process(ctx, reads[i].sent); err != nil {
			return unread{err, key}
		}
	}
	_, failed := pipe.Exec(ctx)
	var hash string
	for i, r := range reads {
		if failed != nil && r.cmd.Err() == nil && r.cmd.Val() == nil { // a hook has refused it
			r.cmd.SetErr(failed)
		}
		var err error
		if values[i], err = r.value(); err != nil {
			return unread{err, r.key}
		}
		if r.key.Kind == rmw.KindHash {
			hash = r.key.Name
		}
	}
	if hash != "" && !s.fields.known.Load() {
		if err := s.fields.ask(ctx, tx, hash); err != nil {
			return unread{err, keys[0]}
		}
	}
	return nil
}
