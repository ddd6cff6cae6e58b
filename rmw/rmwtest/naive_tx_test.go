package rmwtest

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/unwatch/unwatch/rmw"
)

// The mistakes of stores that update several keys.
var (
	txNoGuard         = mustFail("writes several keys without a guard", "tx-bank", "tx-write-skew", "tx-read-keys-are-guarded")
	txGuardsWritten   = mustFail("guards only the keys that it writes", "tx-write-skew", "tx-read-keys-are-guarded")
	txGuardsNamed     = mustFail("does not guard keys that fn got later", "tx-result-is-of-one-moment")
	txTrustsErrors    = mustFail("returns an error of fn without a look at the values", "tx-result-is-of-one-moment")
	txTrustsPanics    = mustFail("lets a panic of fn through without a look at the values", "tx-result-is-of-one-moment")
	txTrustsReads     = mustFail("returns values that fn has read at several moments", "tx-result-is-of-one-moment")
	txHalf            = mustFail("writes several keys by a command each", "tx-faults", "tx-ctx-ends")
	txGivesUp         = mustFail("does not ask after a lost reply to a Transact", "tx-faults")
	txRepeats         = mustFail("runs a Transact again after a lost reply", "tx-faults")
	txLateWins        = mustFail("lets a late commit pass after it was given up", "tx-late")
	txFirstTTL        = mustFail("gives all keys the expiry of the first", "tx-ttl")
	txIgnoresOwnTTL   = mustFail("ignores the expiry of a Value in a Transact", "tx-ttl")
	txWritesAll       = mustFail("writes values that a Transact has not changed", "tx-stores-all")
	txKeepsDeleted    = mustFail("does not delete in a Transact", "tx-stores-all")
	txKeepsPuts       = mustFail("stores values that an earlier call of fn has put", "tx-read-keys-are-guarded")
	txLocksAsNamed    = mustFail("locks several keys in the order of their names in the call", "tx-crossing")
	txAnyNumber       = mustFail("takes any number of keys", "tx-many-keys")
	txAnyKind         = mustFail("takes a key of another kind for an absent one in a Transact", "tx-kinds")
	txNests           = mustFail("runs a Transact within a Transact", "tx-misuse")
	txLosesLarge      = mustFail("loses a value of more than 1 MiB in a Transact", "tx-large")
	txCaches          = mustFail("gives fn of a Transact a value that it has read before", "tx-is-fresh")
	txWritesOnFailure = mustFail("stores the values of an fn that failed", "tx-abort")
)

var txFlaws = []flaw{
	txNoGuard, txGuardsWritten, txGuardsNamed, txTrustsErrors, txTrustsPanics, txTrustsReads, txHalf, txGivesUp, txRepeats, txLateWins,
	txFirstTTL, txIgnoresOwnTTL, txWritesAll, txKeepsDeleted, txKeepsPuts, txLocksAsNamed, txAnyNumber, txAnyKind, txNests, txLosesLarge,
	txCaches, txWritesOnFailure,
}

// Transact is that of Memory, with the flaw.
func (n *naive) Transact(ctx context.Context, keys []rmw.Key, fn rmw.TxFunc) (rmw.TxResult, error) {
	if !slices.Contains(txFlaws, n.flaw) || fn == nil || len(keys) == 0 {
		return n.Memory.Transact(ctx, keys, fn)
	}
	distinct, err := rmw.TxKeys(keys)
	if err == nil && n.flaw != txNests {
		err = rmw.CheckTx(ctx, n.Memory, "")
	}
	if n.flaw == txAnyNumber && len(keys) > rmw.MaxTxKeys {
		distinct, err = keys[:rmw.MaxTxKeys], nil
		fn = func(context.Context, *rmw.Tx) error { return nil }
	}
	if err != nil {
		return rmw.TxResult{}, &rmw.Error{Reason: err}
	}
	if n.flaw == txLocksAsNamed {
		for _, key := range keys {
			select {
			case n.lock(key) <- struct{}{}:
				defer func() { <-n.lock(key) }()
				<-time.After(time.Millisecond) // for the other one to take its first lock
			case <-ctx.Done():
				return rmw.TxResult{}, &rmw.Error{Cause: ctx.Err()}
			}
		}
	}
	var puts []rmw.Change
	calls, counted := 0, fn
	fn = func(ctx context.Context, tx *rmw.Tx) error {
		calls++
		return counted(ctx, tx)
	}
	for range 1000 {
		changes, aborted, err := n.attempt(ctx, distinct, fn, puts)
		if puts = nil; n.flaw == txKeepsPuts {
			puts = slices.DeleteFunc(slices.Clone(changes), func(c rmw.Change) bool { return !c.Written })
		}
		switch {
		case aborted != nil:
			return rmw.TxResult{Attempts: calls}, aborted
		case err == nil:
			return rmw.TxResult{Changes: changes, Attempts: calls}, nil
		case !errors.Is(err, errChanged):
			return rmw.TxResult{Attempts: calls}, n.fail("transact", keys[0], calls, err)
		}
	}
	return rmw.TxResult{Attempts: calls}, &rmw.Error{Reason: rmw.ErrContended}
}

// attempt is one call of fn. puts are those of an earlier one.
func (n *naive) attempt(ctx context.Context, keys []rmw.Key, fn rmw.TxFunc, puts []rmw.Change) (changes []rmw.Change, aborted, err error) {
	t := &memoryTx{Memory: n.Memory}
	loadOne := func(ctx context.Context, key rmw.Key) (rmw.Value, error) {
		v, err := t.loadOne(ctx, key)
		if n.flaw == txAnyKind && errors.Is(err, rmw.ErrWrongKind) {
			return rmw.Value{}, nil
		}
		if n.flaw == txGuardsNamed {
			t.names, t.read = t.names[:len(keys)], t.read[:len(keys)]
		}
		return v, err
	}
	values, err := t.load(ctx, keys)
	if n.flaw == txAnyKind && errors.Is(err, rmw.ErrWrongKind) {
		values, err = make([]rmw.Value, len(keys)), nil
	}
	if err != nil {
		return nil, nil, err
	}
	n.remember(keys, values)
	returned := false
	run := rmw.NewTxRun(n.Memory, keys, values, loadOne)
	aborted, err = run.Do(ctx, func(ctx context.Context, tx *rmw.Tx) error {
		err := fn(ctx, tx)
		returned = true
		return err
	}, func() error {
		if returned && n.flaw == txTrustsErrors || !returned && n.flaw == txTrustsPanics {
			return nil
		}
		return t.check(ctx)
	})
	changes = run.Changes()
	if aborted != nil && n.flaw == txWritesOnFailure {
		_ = t.commit(ctx, changes)
	}
	if aborted != nil || err != nil {
		return changes, aborted, err
	}
	for i := range changes {
		n.distort(&changes[i], keys[0])
	}
	for _, c := range puts {
		if !slices.ContainsFunc(changes, func(d rmw.Change) bool { return d.Key.Name == c.Key.Name }) {
			changes = append(changes, c)
		}
	}
	return changes, nil, n.commit(ctx, t, changes)
}

// remember replaces values by earlier ones.
func (n *naive) remember(keys []rmw.Key, values []rmw.Value) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for i, key := range keys {
		if old, ok := n.cache[key.Name]; ok && n.flaw == txCaches {
			values[i] = old
		}
		n.cache[key.Name] = values[i]
	}
}

func (n *naive) distort(c *rmw.Change, first rmw.Key) {
	switch {
	case n.flaw == txFirstTTL:
		c.Key.TTL = first.TTL
	case n.flaw == txIgnoresOwnTTL:
		c.After = c.After.WithTTL(0)
	case n.flaw == txWritesAll:
		c.Written = true
	case n.flaw == txKeepsDeleted && !c.After.Exists(), n.flaw == txLosesLarge && c.After.Size() > 1<<20:
		c.Written = false
	}
}

func (n *naive) commit(ctx context.Context, t *memoryTx, changes []rmw.Change) error {
	writes := slices.DeleteFunc(slices.Clone(changes), func(c rmw.Change) bool { return !c.Written })
	switch n.flaw {
	case txNoGuard:
		t.names = nil
	case txGuardsWritten:
		t.mu.Lock()
		for i, name := range t.names {
			if !slices.ContainsFunc(writes, func(c rmw.Change) bool { return c.Key.Name == name }) {
				t.read[i] = t.present(name)
			}
		}
		t.mu.Unlock()
	case txTrustsReads:
		if len(writes) == 0 {
			return nil
		}
	case txHalf:
		for i := range writes {
			if err := t.commit(ctx, writes[i:i+1]); err != nil {
				return err
			}
			t.names = nil
		}
		return nil
	case txGivesUp, txRepeats, txLateWins:
		return n.commitOnce(ctx, t, changes)
	}
	return t.commit(ctx, changes)
}

// commitOnce does not ask whether a commit without a reply was executed.
func (n *naive) commitOnce(ctx context.Context, t *memoryTx, changes []rmw.Change) error {
	write := func() error {
		t.mu.Lock()
		defer t.mu.Unlock()
		if !t.currentLocked() {
			return errChanged
		}
		t.writeLocked(changes)
		return nil
	}
	kind, delay := t.arrive()
	switch kind {
	case NoFault:
		return write()
	case Late:
		time.AfterFunc(delay, func() { _ = write() })
	case RequestLost:
	default:
		_ = write()
	}
	switch n.flaw {
	case txRepeats:
		return errChanged
	case txLateWins:
		return lost(ctx, kind, rmw.ErrUnavailable)
	}
	return lost(ctx, kind, rmw.ErrOutcomeUnknown)
}
