package torture

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"github.com/unwatch/unwatch/internal/seal"
	"github.com/unwatch/unwatch/rmw"
)

// unseal touches each sealed key once by a Store, or sweeps the stores of a cut-over, and counts the keys that are sealed after
// that, and the decisions to store values that are left.
func (s *Environment) unseal(ctx context.Context) (sealed, decisions int, err error) {
	if s.sides != nil {
		if err := s.sweep(ctx); err != nil {
			return 0, 0, err
		}
		names, decisions, err := s.sealed(ctx)
		return len(names), decisions, errors.Join(err, s.audit(ctx))
	}
	names, _, err := s.sealed(ctx)
	if err != nil {
		return 0, 0, err
	}
	err = s.connected(func(store rmw.Store) error {
		touching, ctx := errgroup.WithContext(ctx)
		touching.SetLimit(32)
		for _, name := range names {
			touching.Go(func() error { return touch(ctx, store, name) })
		}
		return touching.Wait()
	})
	if err != nil {
		return 0, 0, err
	}
	names, decisions, err = s.sealed(ctx)
	return len(names), decisions, err
}

// touch updates a key to the value that it has.
func touch(ctx context.Context, store rmw.Store, name string) (err error) {
	for range 5 { // the machine is busy
		_, err = store.Update(ctx, rmw.Key{Name: name, Kind: bankKindOf(name)}, func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
			return cur, nil
		})
		if !rmw.Retryable(err) {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("%q: %w", name, err)
	}
	return nil
}

// bankKindOf returns the kind of a key of the bank.
func bankKindOf(name string) rmw.Kind {
	generation := generationIn(name)
	for n := range bankAccounts {
		if key := accountKey(n, generation); key.Name == name {
			return key.Kind
		}
	}
	switch {
	case isOf(recordKind, name):
		return rmw.KindHash
	case isOf(indexKind, name):
		return indexKey(generation).Kind
	}
	return 0
}

// countDecisions counts the decisions of a hash to store values. One that an update is aborted stays, if a reply was late. Other
// keys of the same prefix say what a sweep has to visit.
const countDecisions = `
local n = 0
if redis.call('TYPE', KEYS[1]).ok == 'hash' then
  for _, v in ipairs(redis.call('HVALS', KEYS[1])) do
    if string.find(v, 'committed ', 1, true) == 1 then
      n = n + 1
    end
  end
end
return n`

// sealed returns the keys with a seal, and the number of decisions.
func (s *Environment) sealed(ctx context.Context) (names []string, decisions int, err error) {
	var mu sync.Mutex
	err = s.direct(ctx, func(ctx context.Context, rdb *redis.Client) error {
		all, err := rdb.Keys(ctx, keyPrefix+"*").Result()
		if err != nil {
			return err
		}
		made, err := rdb.Keys(ctx, seal.DecisionPrefix+"*").Result()
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		for _, name := range made {
			n, err := rdb.Eval(ctx, countDecisions, []string{name}).Int()
			if err != nil {
				return err
			}
			decisions += n
		}
		for _, name := range all {
			kind, err := rdb.Type(ctx, name).Result()
			if err != nil {
				return err
			}
			if kind != "list" {
				continue
			}
			sealed, err := isSealed(ctx, rdb, name)
			if err != nil {
				return err
			}
			if sealed {
				names = append(names, name)
			}
		}
		return nil
	})
	return names, decisions, err
}

// isSealed reports whether a list is the seal of an update of several keys, and not the marker of a move.
func isSealed(ctx context.Context, rdb *redis.Client, name string) (bool, error) {
	state, err := rdb.LRange(ctx, name, 1, 1).Result()
	return len(state) > 0 && state[0] == "tx", err
}

// writeJoints writes the operations of the bank.
func (r *Result) writeJoints(out func(format string, args ...any)) {
	if len(r.History.joints) > 0 {
		out("\nbank")
	}
	for _, j := range r.History.joints {
		out("%12.3f %12.3f  process %2d  %-8s %s %v on %v after %v  %s %s",
			float64(j.Call)/1e6, float64(j.Return)/1e6, j.Process, j.ID, j.Cancels, j.Outcome, j.Keys, j.Seen, j.Wrong, j.Err)
	}
	if r.Bank && r.stored != nil {
		for name, text := range r.stored.text {
			out("  in the end: %s %s", name, text)
		}
		for name, fields := range r.stored.hash {
			out("  in the end: %s %v", name, fields)
		}
	}
}
