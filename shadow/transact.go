package shadow

import (
	"context"
	"errors"
	"time"

	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/driver"
)

// several has the further data of a call that updates several keys.
type several struct {
	named   int          // keys that the caller named; fn mentioned the others
	changes []rmw.Change // of the last run of fn
	fn      rmw.TxFunc   // of a pure operation
}

// Transact implements [rmw.Transactor] on the serving path. Unless the operation is listed in [Config.Pure], fn runs there
// only. The call is in the shadow if any key that it names is, so that the shadow of a key misses none of them; keys that fn
// mentions besides do not count. The Label of the first key names the domain.
func (s *Store) Transact(ctx context.Context, keys []rmw.Key, fn rmw.TxFunc) (rmw.TxResult, error) {
	if fn == nil || len(keys) == 0 {
		return rmw.Transact(ctx, s.serving, fn, keys...)
	}
	first := keys[0]
	hash, sampled := s.sampleAny(keys)
	if !sampled {
		return rmw.Transact(ctx, s.serving, fn, keys...)
	}
	c := call{
		key: first, hash: hash, op: s.counters.operation(first.Label, operationName(ctx, "transact")), id: s.ids.Add(1),
		several: &several{},
	}
	c.clocked = clocked(c.id)
	if c.op.pure {
		drawn := newSeed()
		c.seed, c.several.fn = &drawn, fn
	}
	var inFns time.Duration
	began := time.Since(s.epoch)
	res, err := rmw.Transact(ctx, s.serving, func(ctx context.Context, tx *rmw.Tx) error {
		c.several.changes, c.err = nil, nil // of an earlier run
		if c.seed != nil {
			ctx = c.seed.withEnv(ctx)
		}
		began := time.Since(s.epoch)
		defer func() { // a Get may leave fn
			c.inFn = time.Since(s.epoch) - began
			inFns += c.inFn
		}()
		err := fn(ctx, tx)
		c.several.changes, c.err = tx.Changes(), err
		return err
	}, keys...)
	c.at, c.written = time.Since(s.epoch), res.Written()
	c.took = c.at - began - inFns
	why := servingFailure(err, c.err)
	if err == nil {
		c.err = nil
	}
	c.several.recorded(keys, res)
	s.engine.record(&c, why, err)
	return res, err
}

// sampleAny is sample for the first of the keys that is in the shadow.
func (s *Store) sampleAny(keys []rmw.Key) (hash uint64, sampled bool) {
	for _, key := range keys {
		if hash, sampled = s.sample(key.Name); sampled {
			break
		}
	}
	return hash, sampled
}

// recorded completes the changes, which fn's last run left.
func (s *several) recorded(keys []rmw.Key, res rmw.TxResult) {
	if distinct, err := rmw.TxKeys(keys); err == nil {
		s.named = min(len(distinct), len(s.changes))
	}
	for i := range s.changes {
		change := &s.changes[i]
		change.Written = changeOf(res, change.Key.Name).Written // false if the call was refused
	}
}

// changeOf returns the Change of a key, or the zero Change.
func changeOf(res rmw.TxResult, name string) rmw.Change {
	for _, c := range res.Changes {
		if c.Key.Name == name {
			return c
		}
	}
	return rmw.Change{}
}

// parts returns an update of several keys as one call for each key. They are never settled.
func (e *engine) parts(it *item) []*item {
	all := make([]*item, len(it.several.changes))
	for i, change := range it.several.changes {
		part := *it.call
		part.several, part.key, part.old, part.next, part.written = nil, change.Key, change.Before, change.After, change.Written
		part.op = &operation{id: it.op.id, compare: e.counters.comparison(change.Key.Label)}
		part.bytes = part.size()
		all[i] = &item{call: &part}
	}
	return all
}

// errOtherKey ends a run of a pure operation that mentions a key which it did not mention on the serving path.
var errOtherKey = errors.New("shadow: the operation mentions another key than before")

// again runs the fn of a pure operation on given values and returns its changes.
func (c *call) again(ctx context.Context, given []rmw.Value) ([]rmw.Change, error) {
	keys := make([]rmw.Key, len(given))
	for i := range keys {
		keys[i] = c.several.changes[i].Key
	}
	run := rmw.NewTxRun(c, keys, given, func(context.Context, rmw.Key) (rmw.Value, error) { return rmw.Value{}, errOtherKey })
	aborted, err := run.Do(c.seed.withEnv(ctx), c.several.fn, func() error { return nil })
	if err == nil {
		err = aborted
	}
	return run.Changes(), err
}

// nondeterministicSeveral is nondeterministic for an update of several keys.
func (c *call) nondeterministicSeveral(ctx context.Context, parts []*item) bool {
	if c.several.fn == nil {
		return false
	}
	given := make([]rmw.Value, len(parts))
	for i, part := range parts {
		given[i] = driver.Untraced(part.old)
	}
	for range 2 {
		changes, err := c.again(ctx, given)
		if (err != nil) != c.refused() || err != nil && codeOf(err) != codeOf(c.err) {
			return true
		}
		for i, part := range parts {
			if err == nil && !part.op.compare.same(part.next, changes[i].After) {
				return true
			}
		}
	}
	return false
}
