package rmwtest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/unwatch/unwatch/rmw"
)

var _ rmw.Transactor = (*Memory)(nil)

// errChanged ends an attempt with values of two moments, or with one that is no longer present.
var errChanged = errors.New("a value has changed")

// Transact implements [rmw.Transactor]. One command reads the named keys, one reads each further key, one checks values
// that fn only read, and one writes. If the answer to that is lost, one more asks whether it was executed.
func (m *Memory) Transact(ctx context.Context, keys []rmw.Key, fn rmw.TxFunc) (rmw.TxResult, error) {
	attempts := 0
	fail := func(err error) (rmw.TxResult, error) {
		key := rmw.Key{}
		if len(keys) > 0 {
			key = keys[0]
		}
		return rmw.TxResult{Attempts: attempts}, m.fail("transact", key, attempts, err)
	}
	if fn == nil {
		return fail(fmt.Errorf("%w: the TxFunc is nil", rmw.ErrInvalid))
	}
	distinct, err := rmw.TxKeys(keys)
	if err == nil {
		err = rmw.CheckTx(ctx, m, "")
	}
	if err != nil {
		return fail(err)
	}
	for attempts < memoryAttempts {
		t := &memoryTx{Memory: m}
		values, err := t.load(ctx, distinct)
		if err != nil {
			return fail(err)
		}
		attempts++
		run := rmw.NewTxRun(m, distinct, values, t.loadOne)
		aborted, err := run.Do(ctx, fn, func() error { return t.check(ctx) })
		if aborted != nil {
			return rmw.TxResult{Attempts: attempts}, aborted
		}
		changes := run.Changes()
		if err == nil {
			err = t.commit(ctx, changes)
		}
		switch {
		case err == nil:
			for i := range changes {
				changes[i].After = changes[i].After.WithTTL(0)
			}
			return rmw.TxResult{Changes: changes, Attempts: attempts}, nil
		case !errors.Is(err, errChanged):
			return fail(err)
		}
	}
	return fail(rmw.ErrContended)
}

// memoryTx is one attempt.
type memoryTx struct {
	*Memory
	names []string
	read  []entry // by these names
}

// load reads keys, by one command.
func (t *memoryTx) load(ctx context.Context, keys []rmw.Key) ([]rmw.Value, error) {
	if err := t.ask(ctx); err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	values := make([]rmw.Value, len(keys))
	for i, key := range keys {
		e := t.present(key.Name)
		if e.value.Exists() && e.value.Kind() != key.Kind {
			return nil, fmt.Errorf("%w: key %q holds a %v, the Key is of Kind %v", rmw.ErrWrongKind, key.Name, e.value.Kind(), key.Kind)
		}
		t.names, t.read = append(t.names, key.Name), append(t.read, e)
		values[i] = e.value
	}
	return values, nil
}

func (t *memoryTx) loadOne(ctx context.Context, key rmw.Key) (rmw.Value, error) {
	values, err := t.load(ctx, []rmw.Key{key})
	if err != nil {
		return rmw.Value{}, err
	}
	return values[0], nil
}

// currentLocked reports whether all values that were read are present still. Those of one load are of one moment.
func (t *memoryTx) currentLocked() bool {
	for i, name := range t.names {
		if t.present(name).version != t.read[i].version {
			return false
		}
	}
	return true
}

// check returns errChanged unless all values that were read are present now.
func (t *memoryTx) check(ctx context.Context) error {
	if err := t.ask(ctx); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.currentLocked() {
		return errChanged
	}
	return nil
}

// commit stores the changes if no value that was read has changed. Its command has a decision, which is made once: a late
// one finds it made.
func (t *memoryTx) commit(ctx context.Context, changes []rmw.Change) error {
	if !slices.ContainsFunc(changes, func(c rmw.Change) bool { return c.Written }) {
		return t.check(ctx)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	var decision error
	decided := false
	decide := func(write bool) error {
		t.mu.Lock()
		defer t.mu.Unlock()
		if !decided {
			decided, decision = true, errChanged
			if write && t.currentLocked() {
				decision = nil
				t.writeLocked(changes)
			}
		}
		return decision
	}
	kind, delay := t.arrive()
	switch kind {
	case NoFault:
		return decide(true)
	case Late:
		time.AfterFunc(delay, func() { _ = decide(true) })
	case RequestLost:
	default:
		_ = decide(true)
	}
	if kind == Hang {
		return lost(ctx, kind, rmw.ErrOutcomeUnknown)
	}
	if again, _ := t.arrive(); again != NoFault || ctx.Err() != nil {
		return lost(ctx, again, rmw.ErrOutcomeUnknown)
	}
	return decide(false) // if it was not executed, it never will be
}

func (t *memoryTx) writeLocked(changes []rmw.Change) {
	for _, c := range changes {
		if !c.Written {
			continue
		}
		ttl := cmp.Or(c.After.TTL(), c.Key.TTL)
		t.put(c.Key.Name, c.After, t.present(c.Key.Name).expiry(ttl))
	}
}
